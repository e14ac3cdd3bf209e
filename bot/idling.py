"""What people answer to a lease that does nothing: it is used, the verdict is wrong, stop it, start it again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.acting import Acting, Told
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.blocks.fields import Words
from bot.deciding import send_typed
from bot.desk import Desk
from bot.forms import Forms, Sheet, confirmation, reason
from bot.idle_cards import ended_by, past
from bot.ids import Form
from lessor.contracts import Verb
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.excuses import called_wrong
from lessor.domain.identity import parse_lease_id
from lessor.domain.ladder import Why
from lessor.domain.lease import IN_USE, Lease, describe
from lessor.domain.people import Person
from lessor.domain.worktime import DAY, next_open
from lessor.when import local, parse_end

TOMORROW = "tomorrow"
LENGTHS = {"1h": timedelta(hours=1), "4h": timedelta(hours=4)}
MORNING = "tomorrow 9:00"

_USAGE = {
    Verb.START: "start ID",
    Verb.DISPUTE: "dispute ID what it was doing",
    Verb.CONSENT: "consent ID",
}

log = structlog.get_logger(__name__)


class Idling:
    """The buttons under warnings and on what was stopped, their forms, and the same as commands."""

    def __init__(self, desk: Desk, acting: Acting, forms: Forms) -> None:
        self._desk = desk
        self._acting = acting
        self._forms = forms
        self._snoozing = Sheet(Form.SNOOZE, "snooze_form.j2", self._answerable, self._lengths)
        self._disputing = Sheet(Form.DISPUTE, "dispute_form.j2", self._disputable, reason)
        self._stopping = Sheet(Form.STOP, "stop_form.j2", self._stoppable, _typing)

    async def press(self, ask: Ask, verb: Verb) -> None:
        """Stop, start or consent by one click. Where the card that was clicked is out of date, it is redrawn."""
        told = await self._acting.act(ask, verb, ask.value)
        if not told.ok:
            await self._redraw(ask)
        await self._desk.reply(ask, told.message)

    async def ask_snooze(self, ask: Ask) -> None:
        """Open the form that asks why and for how long; it says what is true now where there is nothing to answer."""
        await self._open(ask, self._snoozing)

    async def ask_dispute(self, ask: Ask) -> None:
        await self._open(ask, self._disputing)

    async def ask_stop(self, ask: Ask) -> None:
        """Open the form in which a stop that loses data is typed out."""
        await self._open(ask, self._stopping)

    async def snooze(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says; what policy does not allow speaks at its field."""
        lease_id, why = metadata(ask.view).get("lease", ""), fields.typed(ask.view, "reason")
        if not why:
            return self._forms.wrong("reason", self._desk.say("snooze_empty.j2"))
        try:
            until = await self._until(ask, lease_id, fields.typed(ask.view, "length"))
        except Refused as refused:
            return self._forms.finished(Told(False, self._desk.refusal(refused), refused.code), "length")
        told = await self._acting.act(ask, Verb.SNOOZE, lease_id, reason=why, until=until)
        return self._forms.finished(told, "length")

    async def dispute(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says."""
        why = fields.typed(ask.view, "reason")
        if not why:
            return self._forms.wrong("reason", self._desk.say("dispute_empty.j2"))
        told = await self._acting.act(ask, Verb.DISPUTE, metadata(ask.view).get("lease", ""), reason=why)
        return self._forms.finished(told, "reason")

    async def stop(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the typed stop says."""
        return await send_typed(ask, Verb.STOP, self._acting, self._forms)

    async def command(self, ask: Ask, text: str, verb: Verb) -> None:
        """`/gpu start ID`, `/gpu dispute ID why`, `/gpu consent ID`."""
        word, _, rest = text.partition(" ")
        lease_id = parse_lease_id(word)
        if lease_id is None:
            what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
            refused = Refused("no-lease", f"{what}; write /gpu {_USAGE[verb]}")
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        told = await self._acting.act(ask, verb, lease_id, reason=rest.strip())
        await self._desk.reply(ask, told.message)

    async def _open(self, ask: Ask, sheet: Sheet) -> None:
        await self._forms.open(ask, sheet)
        await self._redraw(ask)

    async def _answerable(self, ask: Ask, lease: Lease, person: Person) -> None:
        """Raise `Refused` where nothing is left to answer."""
        require_steward(lease, person)
        if lease.state not in IN_USE:
            raise Refused("wrong-state", f"{lease.id} is {describe(lease)}; there is nothing to answer any more")
        if lease.pause:
            raise Refused("wrong-state", f"{lease.id} is stopped: {lease.pause.words}. Start it again to use it")
        if lease.idle is None:
            already = called_wrong(lease, self._desk.now())
            raise Refused("wrong-state", already or f"{lease.id} is not seen idle any more, so nothing is stopped")

    async def _disputable(self, ask: Ask, lease: Lease, person: Person) -> None:
        """The same, where what was stopped for the verdict can be answered as well."""
        if lease.pause is None or lease.pause.why is not Why.IDLE or lease.idle is None:
            await self._answerable(ask, lease, person)
        require_steward(lease, person)

    async def _stoppable(self, ask: Ask, lease: Lease, person: Person) -> None:
        require_steward(lease, person)
        if lease.state not in IN_USE or lease.pause:
            is_so = f"stopped already: {lease.pause.words}" if lease.pause else describe(lease)
            raise Refused("wrong-state", f"{lease.id} is {is_so}")

    async def _lengths(self, said: Words, lease: Lease, person: Person) -> list[Any]:
        """How long, as far as the policy allows, and why."""
        now = self._desk.now()
        most = None if person.admin or lease.idle is None else now + lease.idle.terms.snooze_most
        offered = [(key, said[f"length_{key}"]) for key, length in LENGTHS.items() if not most or now + length <= most]
        morning = self._morning(lease, person, now)
        called, until = ("length_most", most) if most and most < morning else ("length_tomorrow", morning)
        offered.append((TOMORROW, f"{said[called]}, {local(until, person.tz)}"))
        return [
            *fields.choice(said, "length", offered, required=True),
            fields.text(said, "reason", long=True),
        ]

    async def _until(self, ask: Ask, lease_id: str, chosen: str) -> datetime:
        """The instant that was chosen, at most as far away as the policy allows."""
        person = await self._desk.person(ask)
        lease, now = await self._desk.gateway.lease(lease_id), self._desk.now()
        if chosen in LENGTHS:
            return now + LENGTHS[chosen]
        if chosen != TOMORROW:
            raise Refused("no-end", "say for how long")
        morning = self._morning(lease, person, now)
        return morning if person.admin or lease.idle is None else min(morning, now + lease.idle.terms.snooze_most)

    def _morning(self, lease: Lease, person: Person, now: datetime) -> datetime:
        """Tomorrow when its owner begins to work, or at nine on the clock of whoever asks."""
        nine = parse_end(MORNING, now, person.tz).instant(now)
        hours = (lease.idle.hours if lease.idle else None) or lease.owner_hours
        begins = next_open(hours, nine - timedelta(hours=9)) if hours else nine
        return begins if begins - now <= 2 * DAY else nine

    async def _redraw(self, ask: Ask) -> None:
        """Take the buttons from the clicked card when it does not hold any more; no notice may speak of it."""
        if not ask.ts or ask.ephemeral or not ask.channel.startswith("D"):
            return
        try:
            lease, person = await self._desk.gateway.lease(ask.value), await self._desk.person(ask)
            if lease.idle is not None and lease.state in IN_USE and not lease.pause:
                return
            events = [one.event for one in await self._desk.gateway.events(lease.id)]
            message = past(self._desk.wording, lease, ended_by(events), self._desk.now(), person.tz)
            await self._desk.slack.chat_update(channel=ask.channel, ts=ask.ts, **message.payload)
        except Refused as refused:
            log.info("a stale card was left", lease=ask.value, why=str(refused))
        except SlackApiError as error:
            log.info("a stale card could not be redrawn", lease=ask.value, error=slack_errors.code(error))


async def _typing(said: Words, lease: Lease, person: Person) -> list[Any]:
    return (await confirmation(said, lease, person))[:1]
