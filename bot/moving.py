"""Moving the end of a lease or of an exemption from its working hours; by form or by command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block

from bot import slack_errors
from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.blocks.message import sections
from bot.desk import Desk
from bot.facts import facts
from bot.ids import Form
from bot.modals import Modals
from lessor.contracts import Verb
from lessor.domain import worktime
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person
from lessor.typed import DOUBLE, SINGLE, single_spaced
from lessor.when import end_and_rest, local, parse_end
from lessor.when.end import written
from lessor.when.spans import parse_span

log = structlog.get_logger(__name__)

_DAY = timedelta(days=1)
_FORMS = {Verb.EXTEND: Form.EXTEND, Verb.RESTORE: Form.RESTORE, Verb.EXEMPT: Form.EXEMPT}
_STATES = {
    Verb.EXTEND: (State.ACTIVE, State.SUSPENDED),
    Verb.RESTORE: (State.STOPPED,),
    Verb.EXEMPT: (State.ACTIVE, State.SUSPENDED),
}
_USAGE = {
    Verb.EXTEND: "extend ID WHEN [reason]",
    Verb.SHORTEN: "shorten ID WHEN",
    Verb.RESTORE: "restore ID WHEN [reason]",
    Verb.EXEMPT: "exempt ID WHEN reason",
    Verb.SNOOZE: "snooze ID WHEN reason",
}


class Moving:
    """Extend, restore and exempt ask until when by a form; all of them and shorten are commands as well."""

    def __init__(self, desk: Desk, modals: Modals, acting: Acting) -> None:
        self._desk = desk
        self._modals = modals
        self._acting = acting

    async def ask(self, ask: Ask, verb: Verb) -> None:
        """Open the form; it says how much is left, or that nothing can be moved."""
        form = _FORMS[verb]
        opened = await self._modals.open(ask, form, lease=ask.value, ts=ask.ts)
        if opened is None:
            return
        try:
            person = await self._desk.person(ask)
            lease = await self._desk.gateway.lease(ask.value)
            require_steward(lease, person)
        except Refused as refused:
            await self._modals.tell(opened, form, "not_done", self._desk.refusal(refused))
            return
        now = self._desk.now()
        words = self._desk.wording.parts("move_form.j2", verb=verb.value, zone=person.tz, **facts(lease, now))
        if lease.state not in _STATES[verb] or not _possible(lease, verb, now):
            view = self._modals.words(form, words["heading"], sections(words["impossible"]))
        else:
            proposal = int(_proposal(lease, verb, now).timestamp())
            view = self._modals.views.form(
                form, opened.metadata, words["heading"], _fields(words, proposal, verb), words["submit"]
            )
        await self._modals.show(opened, view)

    async def sent(self, ask: Ask, verb: Verb) -> dict[str, Any]:
        """What the acknowledgement of the sent form says; a refused end speaks at its field."""
        lease_id = metadata(ask.view).get("lease", "")
        typed, picked = fields.typed(ask.view, "end"), fields.picked(ask.view, "until")
        try:
            if typed:
                until = await self._typed(ask, typed, lease_id, verb)
            elif picked:
                until = datetime.fromtimestamp(picked, UTC)
            else:
                raise Refused("no-end", "say until when, in words or by date and time")
        except Refused as refused:
            return {"response_action": "errors", "errors": {"end": str(refused)[:1_000]}}
        told = await self._acting.act(ask, verb, lease_id, reason=fields.typed(ask.view, "reason"), until=until)
        if told.ok:
            if verb is Verb.EXEMPT:
                await self._call_off(metadata(ask.view), lease_id)
            view = self._modals.words(_FORMS[verb], "done", told.message.blocks)
            return {"response_action": "update", "view": view}
        field = "reason" if told.code == "no-reason" else "end" if typed else "until"
        return {"response_action": "errors", "errors": {field: told.message.text[:1_000]}}

    async def _call_off(self, form: dict[str, str], lease_id: str) -> None:
        """The announcement under which the button stood is settled at once; no notice speaks of it."""
        lease = await self._desk.gateway.lease(lease_id)
        if not form.get("ts") or lease.state is not State.ACTIVE:
            return
        past = self._desk.message("past.j2", notice="suspending", zone="", **facts(lease, self._desk.now()))
        try:
            await self._desk.slack.chat_update(channel=form["channel"], ts=form["ts"], **past.payload)
        except SlackApiError as error:
            log.info("an announcement could not be settled", lease=lease_id, error=slack_errors.code(error))

    async def command(self, ask: Ask, text: str, verb: Verb = Verb.EXTEND) -> None:
        """`/gpu extend ID WHEN [reason]`, and the same for the other verbs of `_USAGE`."""
        word, _, rest = text.partition(" ")
        lease_id = parse_lease_id(word)
        try:
            if lease_id is None:
                what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
                raise Refused("no-lease", f"{what}; write /gpu {_USAGE[verb]}")
            person = await self._desk.person(ask)
            lease = await self._desk.gateway.lease(lease_id)
            until, reason = self._end(lease, person, rest, verb)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        told = await self._acting.act(ask, verb, lease_id, reason=reason.strip(f" {DOUBLE}{SINGLE}"), until=until)
        await self._desk.reply(ask, told.message)

    def _end(self, lease: Lease, person: Person, text: str, verb: Verb) -> tuple[datetime, str]:
        """The new end and the reason. Whose lease it is comes before what is wrong with the end."""
        base = lease.ends_at if verb is Verb.EXTEND else None
        try:
            until, rest = end_and_rest(text, self._desk.now(), person.tz, base)
            if verb is Verb.SHORTEN:
                self._refuse_bare_length(lease, person, single_spaced(text).removesuffix(rest).strip())
            return until, rest
        except Refused:
            require_steward(lease, person)
            raise

    def _refuse_bare_length(self, lease: Lease, person: Person, when: str) -> None:
        """`2 h` may mean in two hours, or two hours earlier than now planned: nobody guesses."""
        if lease.ends_at is None or parse_span(when.casefold()) is None:
            return
        now, length = self._desk.now(), parse_end(when, self._desk.now(), person.tz)
        soon = length.instant(now)
        earlier = lease.ends_at - (soon - now)
        raise Refused(
            "end-unclear",
            f"'{when}' may mean in {when} ({local(soon, person.tz)}) or {when} before its end "
            f"({local(earlier, person.tz)}); nothing was changed. Write /gpu shorten {lease.id} in {when}, or "
            f"/gpu shorten {lease.id} {written(earlier.replace(second=0, microsecond=0), person.tz)}",
        )

    async def _typed(self, ask: Ask, text: str, lease_id: str, verb: Verb) -> datetime:
        """The instant that is meant: `3 days` are added to the end that holds, or to now for what is stopped."""
        person = await self._desk.person(ask)
        lease = await self._desk.gateway.lease(lease_id)
        now = self._desk.now()
        base = lease.ends_at if verb is Verb.EXTEND else None
        return parse_end(text, now, person.tz, base=base).instant(base or now)


def _fields(words: dict[str, str], proposal: int, verb: Verb) -> list[Block]:
    return [
        *sections(words["title"]),
        fields.text(words, "end", optional=True, most=200),
        fields.moment(words, "until", proposal),
        fields.text(words, "reason", optional=verb is not Verb.EXEMPT),
    ]


def _possible(lease: Lease, verb: Verb, now: datetime) -> bool:
    if verb is Verb.EXEMPT:
        return lease.schedule is not None and lease.stoppable and lease.ends_at is not None and lease.ends_at > now
    if lease.last_end is None:
        return False
    earliest = now + lease.terms.min_duration
    if verb is Verb.EXTEND and lease.ends_at:
        earliest = max(earliest, lease.ends_at)
    return lease.last_end > earliest


def _proposal(lease: Lease, verb: Verb, now: datetime) -> datetime:
    """A day more; for an exemption, until it would run again anyway."""
    if verb is Verb.EXEMPT:
        closes = worktime.next_close(lease.schedule, now) or now
        return min(worktime.next_open(lease.schedule, closes), lease.ends_at or now)
    start = lease.ends_at if verb is Verb.EXTEND and lease.ends_at else now
    last = lease.last_end or start
    return min(max(start, now) + _DAY, last)
