"""Which handler answers which button, form and command: the parts of the Slack surface, put together once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from bot.acting import Acting
from bot.ask import Ask
from bot.attending import Attending
from bot.browsing import Browsing
from bot.commands import Commands
from bot.countering import Countering
from bot.deciding import Deciding
from bot.desk import Desk
from bot.entering import Entering
from bot.fleet import FleetView
from bot.forms import Forms
from bot.governing import Governing
from bot.granting import Granting
from bot.handing import Handing
from bot.home import Home
from bot.idling import Idling
from bot.ids import Do, Form
from bot.modals import Modals
from bot.moving import Moving
from bot.people import People, Whom
from bot.questioning import Questioning
from bot.quoting import Quoting
from bot.reckoning import Reckoning
from bot.requesting import Requesting
from bot.submitting import Submitting
from lessor.contracts import Verb

Handle = Callable[[Ask], Coroutine[Any, Any, Any]]


class Parts:
    """Handlers by action id and by callback id; the handler of a form gives the acknowledgement of the sent one."""

    def __init__(self, desk: Desk) -> None:
        people = People(desk.slack)
        whom = Whom(desk, people)
        self.modals = Modals(desk)
        self.quoting = Quoting(desk)
        self.requesting = Requesting(desk, self.modals, self.quoting, Submitting(desk))
        self.home = Home(desk)
        self._acting = Acting(desk)
        forms = Forms(desk, self.modals)
        self._deciding = Deciding(desk, self.modals, self._acting, forms)
        self._countering = Countering(desk, self._acting, forms, self._deciding)
        self._questioning = Questioning(desk, self._acting, forms, self._deciding)
        self._granting = Granting(desk, self._acting, forms)
        self._idling = Idling(desk, self._acting, forms)
        self._moving = Moving(desk, self.modals, self._acting)
        self._browsing = Browsing(desk, people)
        handing, attending = Handing(desk, self._acting, whom), Attending(desk, whom)
        reckoning = Reckoning(desk)
        self._fleet = FleetView(desk)
        self.commands = Commands(
            desk,
            self.requesting,
            self._browsing,
            self._moving,
            handing,
            attending,
            reckoning,
            self._idling,
            Governing(desk, self._acting),
            self._fleet,
            Entering(desk),
        )
        self.buttons: dict[str, Handle] = {**self._deciding_buttons(), **self._owning_buttons()}
        self.forms = self._forms()

    def _deciding_buttons(self) -> dict[str, Handle]:
        return {
            Do.APPROVE: self._deciding.approve,
            Do.APPROVE_TYPED: self._deciding.ask_typing,
            Do.COUNTER: self._countering.ask,
            Do.DENY: self._deciding.ask_reason,
            Do.ASK: self._questioning.ask,
            Do.GRANT: self._granting.grant,
            Do.GRANT_TYPED: self._granting.ask_typing,
            Do.REJECT: self._granting.ask_reason,
        }

    def _owning_buttons(self) -> dict[str, Handle]:
        return {
            Do.ACCEPT: self._act(Verb.ACCEPT),
            Do.DECLINE: self._act(Verb.DECLINE),
            Do.TAKE: self._act(Verb.TAKE),
            Do.REPLY: self._questioning.reply,
            Do.REVISE: self._countering.revise,
            Do.DETAILS: self._deciding.show,
            Do.WITHDRAW: self._act(Verb.WITHDRAW),
            Do.RELEASE: self._act(Verb.RELEASE),
            Do.KEEP: self._act(Verb.KEEP),
            Do.EXTEND: lambda ask: self._moving.ask(ask, Verb.EXTEND),
            Do.RESTORE: lambda ask: self._moving.ask(ask, Verb.RESTORE),
            Do.EXEMPT: lambda ask: self._moving.ask(ask, Verb.EXEMPT),
            Do.SNOOZE: self._idling.ask_snooze,
            Do.DISPUTE: self._idling.ask_dispute,
            Do.STOP: lambda ask: self._idling.press(ask, Verb.STOP),
            Do.STOP_TYPED: self._idling.ask_stop,
            Do.START: lambda ask: self._idling.press(ask, Verb.START),
            Do.CONSENT: lambda ask: self._idling.press(ask, Verb.CONSENT),
            Do.AGAIN: self.requesting.again,
            Do.REQUEST: self.requesting.form,
            Do.NEXT_PAGE: self._browsing.next_page,
            Do.HOME_PAGE: self.home.turn,
            Do.FLEET_PAGE: self._fleet.next_page,
        }

    def _forms(self) -> dict[str, Handle]:
        return {
            Form.DENY: self._deciding.deny,
            Form.APPROVE: self._deciding.typed,
            Form.COUNTER: self._countering.sent,
            Form.ASK: lambda ask: self._questioning.sent(ask, Verb.ASK),
            Form.REPLY: lambda ask: self._questioning.sent(ask, Verb.REPLY),
            Form.GRANT: self._granting.typed,
            Form.REJECT: self._granting.reject,
            Form.EXTEND: lambda ask: self._moving.sent(ask, Verb.EXTEND),
            Form.RESTORE: lambda ask: self._moving.sent(ask, Verb.RESTORE),
            Form.SNOOZE: self._idling.snooze,
            Form.DISPUTE: self._idling.dispute,
            Form.STOP: self._idling.stop,
            Form.EXEMPT: lambda ask: self._moving.sent(ask, Verb.EXEMPT),
        }

    def _act(self, verb: Verb) -> Handle:
        return lambda ask: self._acting.button(ask, verb)
