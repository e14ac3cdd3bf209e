"""Asking for GPUs: a text that says everything needs no form; everything else opens one, filled in as far as said."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog
from slack_sdk.models.views import View

from bot import wish
from bot.ask import Ask, metadata
from bot.blocks import request_form
from bot.blocks.message import Message, without_buttons
from bot.desk import Desk
from bot.ids import Form
from bot.modals import Modals, Opened
from bot.quoting import CAPACITY_AT_LAST, CAPACITY_WITHIN, Quoting
from bot.submitting import Outcome, Submitting
from bot.wish import Wish
from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.identity import lease_id
from lessor.domain.request import Request
from lessor.intake import parse_request_text

if TYPE_CHECKING:
    from lessor.gateway import Choices

QUICK_SECONDS = 0.8
"""How long a typed request may take to be understood before the loading view opens."""

SAME_COMMAND = timedelta(seconds=60)

_TITLE = "request"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Typed:
    """What a text says: a request, or what is missing and wrong for one; a form asks for what is missing by itself."""

    choices: Choices
    wish: Wish
    request: Request | None = None
    errors: tuple[FieldError, ...] = ()
    wrong: tuple[FieldError, ...] = ()


@dataclass(frozen=True)
class Answered:
    """The acknowledgement of a form that was sent, and what it is made from."""

    acknowledgement: dict[str, Any]
    outcome: Outcome


class Requesting:
    """The command, the form and the shortcut that make requests."""

    def __init__(self, desk: Desk, modals: Modals, quoting: Quoting, submitting: Submitting) -> None:
        self._desk = desk
        self._modals = modals
        self._quoting = quoting
        self._submitting = submitting
        self._open: dict[tuple[str, str], tuple[Any, str]] = {}

    async def command(self, ask: Ask) -> None:
        """`/gpu request [text]`."""
        if not ask.text:
            await self.form(ask)
            return
        same = (ask.user, " ".join(ask.text.split()))
        first = self._open.get(same)
        if first and self._desk.now() - first[0] < SAME_COMMAND:
            log.info("the same command while the first is open", user=ask.user, first=first[1])
            await self._desk.reply(ask, self._desk.message("working.j2", lease_id=lease_id(first[1])))
            return
        self._open[same] = (self._desk.now(), ask.key)
        try:
            await self._text(ask)
        finally:
            self._open.pop(same, None)

    async def form(self, ask: Ask, prefilled: Wish | None = None) -> None:
        """Open the form: loading view first, content when it is there."""
        self._desk.gateway.fleet.warm()
        opened = await self._opened(ask)
        if opened:
            await self._fill(ask, opened, prefilled or Wish())

    async def again(self, ask: Ask) -> None:
        """Open the form with an open look-alike's wish, to be made anyway."""
        opened = await self._opened(ask)
        if opened is None:
            return
        try:
            person = await self._desk.person(ask)
            lease = await self._desk.gateway.lease(ask.value)
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, _TITLE, self._desk.refusal(refused))
            return
        same = wish.of_request(lease.request, person.tz)
        await self._fill(ask, opened, replace(same, anyway=True, anyway_offered=True))

    async def answer(self, ask: Ask) -> Answered:
        """What came of a form that was sent, as an acknowledgement takes it."""
        outcome = await self._outcome(ask)
        if outcome.errors:
            errors = request_form.field_errors(self._desk.wording, ask.view, outcome.errors)
            return Answered({"response_action": "errors", "errors": errors}, outcome)
        return Answered({"response_action": "update", "view": await self._view_of(ask, outcome)}, outcome)

    async def late(self, ask: Ask, answered: Answered | None) -> None:
        """Show in the view what came too late for the acknowledgement, if the view is still open."""
        if answered is None:
            values = {"problem": "an error on our side", "kept": "Your request may not have been kept."}
            view = self._modals.sentence(Form.DETAILS, _TITLE, "trouble.j2", **values)
        elif answered.outcome.errors:
            view = await self._view_of(ask, answered.outcome)
        else:
            view = answered.acknowledgement["view"]
        await self._modals.show(Opened(ask.view["id"], "", {}), view)

    async def _outcome(self, ask: Ask) -> Outcome:
        try:
            await self._desk.person(ask)
            choices = await self._desk.gateway.choices(ask.user)
            wanted = wish.of_view(ask.view)
            request = wish.to_request(wanted, choices, self._desk.now(), ask.key)
        except Invalid as invalid:
            return Outcome(errors=invalid.errors)
        except Refused as refused:
            return Outcome(message=self._desk.refusal(refused))
        return await self._submitting.send(request, choices.person.tz, anyway=wanted.anyway)

    async def _view_of(self, ask: Ask, outcome: Outcome) -> View:
        if outcome.message:
            return self._modals.words(Form.DETAILS, _TITLE, without_buttons(outcome.message).blocks)
        choices = await self._desk.gateway.choices(ask.user)
        wanted = wish.completed(wish.of_view(ask.view), choices)
        if outcome.similar:
            wanted = replace(wanted, anyway_offered=True)
        text = await self._quoting.text(wanted, choices)
        return request_form.form(self._desk.wording, wanted, choices, text, metadata(ask.view), self._problems(outcome))

    async def _text(self, ask: Ask) -> None:
        reading = self._desk.background.start(self._read(ask), "read a request", urgent=True)
        await asyncio.wait({reading}, timeout=QUICK_SECONDS)
        opened = None if reading.done() or not ask.trigger_id else await self._opened(ask)
        if opened is None and not reading.done() and ask.trigger_id:
            return
        typed = await reading
        if isinstance(typed, Refused) or typed is None:
            refused = typed or Refused("trouble", "the request could not be read; nothing was kept, please try again")
            await self._say(ask, opened, self._desk.refusal(refused))
        elif typed.request:
            await self._send(ask, opened, typed)
        else:
            await self._mend(ask, opened, typed)

    async def _mend(self, ask: Ask, opened: Opened | None, typed: _Typed) -> None:
        """Show what was typed in the form with what is wrong on top; in words where no form can be opened."""
        if opened is None and not ask.trigger_id:
            await self._desk.reply(ask, self._desk.message("problems.j2", intro="", errors=typed.errors))
            return
        form = opened or await self._opened(ask)
        if form:
            await self._fill(ask, form, typed.wish, typed)

    async def _read(self, ask: Ask) -> _Typed | Refused:
        try:
            await self._desk.person(ask)
            choices = await self._desk.gateway.choices(ask.user)
        except Refused as refused:
            return refused
        return self._understood(ask, choices)

    def _understood(self, ask: Ask, choices: Choices) -> _Typed:
        draft = parse_request_text(ask.text, choices.person.tz, self._desk.now(), choices)
        said = wish.of_draft(draft)
        try:
            return _Typed(choices, said, draft.request(choices.person.id, ask.key))
        except Invalid as invalid:
            return _Typed(choices, said, errors=invalid.errors, wrong=draft.problems)

    async def _send(self, ask: Ask, opened: Opened | None, typed: _Typed) -> None:
        assert typed.request is not None
        sending = self._desk.background.start(
            self._submitting.send(typed.request, typed.choices.person.tz, anyway=typed.wish.anyway),
            "send a request",
            urgent=True,
        )
        if not await self._desk.in_time(sending) and opened is None:
            await self._desk.reply(ask, self._desk.message("working.j2", lease_id=""))
        outcome: Outcome | None = await sending
        if outcome is None or outcome.repeated:
            return
        if outcome.similar:
            await self._say(ask, opened, self._submitting.similar(outcome.similar))
        elif outcome.errors:
            await self._mend(ask, opened, replace(typed, errors=outcome.errors, wrong=outcome.errors))
        elif outcome.message:
            await self._say(ask, opened, outcome.message)

    async def _fill(self, ask: Ask, opened: Opened, wanted: Wish, typed: _Typed | None = None) -> None:
        try:
            await self._desk.person(ask)
            choices = typed.choices if typed else await self._desk.gateway.choices(ask.user)
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, _TITLE, self._desk.refusal(refused))
            return
        missing = next((n for n in ("places", "models", "teams") if not getattr(choices, n)), "")
        if missing:
            values = {"teams": choices.teams, "missing": missing.removesuffix("s")}
            values["admins_channel"] = self._desk.settings.admins_channel
            view = self._modals.sentence(Form.DETAILS, _TITLE, "nothing_offered.j2", **values)
            await self._modals.show(opened, view)
            return
        wanted = wish.completed(wanted, choices)
        problems = self._problems(Outcome(errors=typed.wrong)) if typed else ""
        waiting = self._desk.wording.parts("loading.j2")["title"]
        shown = await self._modals.show(
            opened, request_form.form(self._desk.wording, wanted, choices, waiting, opened.metadata, problems)
        )
        for patience in (CAPACITY_WITHIN, CAPACITY_AT_LAST):
            if shown is None:
                return
            text = await self._quoting.text(wanted, choices, patience)
            shown = await self._modals.show(
                shown, request_form.form(self._desk.wording, wanted, choices, text, opened.metadata, problems)
            )
            if not self._quoting.unsettled(wanted, choices):
                return

    async def _opened(self, ask: Ask) -> Opened | None:
        return await self._modals.open(ask, Form.REQUEST)

    async def _say(self, ask: Ask, opened: Opened | None, message: Message) -> None:
        if opened:
            await self._modals.tell(opened, Form.DETAILS, _TITLE, message)
        else:
            await self._desk.reply(ask, message)

    def _problems(self, outcome: Outcome) -> str:
        if outcome.similar:
            parts = self._desk.wording.parts("similar.j2", similar=outcome.similar, form=True)
            return f"{parts['title']}\n{parts['body']}"
        if outcome.errors:
            return self._desk.wording.parts("problems.j2", intro="", errors=outcome.errors)["title"]
        return ""
