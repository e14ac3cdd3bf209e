"""Moving the end of a lease: extend while it runs, restore while it is stopped; by form or by command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from slack_sdk.models.blocks import Block, DateTimePickerElement, InputBlock, PlainTextInputElement

from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks.message import plain_text, sections
from bot.desk import Desk
from bot.facts import facts
from bot.ids import Form
from bot.modals import Modals
from lessor.contracts import Verb
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person
from lessor.typed import DOUBLE, SINGLE
from lessor.when import end_and_rest, parse_end

_DAY = timedelta(days=1)
_FORMS = {Verb.EXTEND: Form.EXTEND, Verb.RESTORE: Form.RESTORE}
_STATES = {Verb.EXTEND: State.ACTIVE, Verb.RESTORE: State.STOPPED}


class Moving:
    """Extend and restore: both ask for a new end within what is left of the longest time allowed."""

    def __init__(self, desk: Desk, modals: Modals, acting: Acting) -> None:
        self._desk = desk
        self._modals = modals
        self._acting = acting

    async def ask(self, ask: Ask, verb: Verb) -> None:
        """Open the form; it says how much is left, or that nothing can be moved."""
        form = _FORMS[verb]
        opened = await self._modals.open(ask, form, lease=ask.value)
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
        if lease.state is not _STATES[verb] or lease.last_end is None or not _possible(lease, verb, now):
            view = self._modals.words(form, words["heading"], sections(words["impossible"]))
        else:
            proposal = int(_proposal(lease, verb, now).timestamp())
            view = self._modals.views.form(
                form, opened.metadata, words["heading"], _fields(words, proposal), words["submit"]
            )
        await self._modals.show(opened, view)

    async def sent(self, ask: Ask, verb: Verb) -> dict[str, Any]:
        """What the acknowledgement of the sent form says; a refused end speaks at its field."""
        values = ask.view["state"]["values"]
        lease_id = metadata(ask.view).get("lease", "")
        typed = (values["end"]["end"]["value"] or "").strip()
        picked = values["until"]["until"]["selected_date_time"]
        try:
            if typed:
                until = await self._typed(ask, typed, lease_id, verb)
            elif picked:
                until = datetime.fromtimestamp(int(picked), UTC)
            else:
                raise Refused("no-end", "say until when, in words or by date and time")
        except Refused as refused:
            return {"response_action": "errors", "errors": {"end": str(refused)[:1_000]}}
        told = await self._acting.act(ask, verb, lease_id, values["reason"]["reason"]["value"] or "", until)
        if told.ok:
            view = self._modals.words(_FORMS[verb], "done", told.message.blocks)
            return {"response_action": "update", "view": view}
        return {"response_action": "errors", "errors": {"end" if typed else "until": told.message.text[:1_000]}}

    async def command(self, ask: Ask, text: str) -> None:
        """`/gpu extend ID WHEN [reason]`."""
        word, _, rest = text.partition(" ")
        lease_id = parse_lease_id(word)
        try:
            if lease_id is None:
                raise Refused("no-lease", f"'{word[:40]}' is no lease id; write /gpu extend ID WHEN [reason]")
            person = await self._desk.person(ask)
            lease = await self._desk.gateway.lease(lease_id)
            until, reason = self._end(lease, person, rest)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        told = await self._acting.act(ask, Verb.EXTEND, lease_id, reason.strip(f" {DOUBLE}{SINGLE}"), until)
        await self._desk.reply(ask, told.message)

    def _end(self, lease: Lease, person: Person, text: str) -> tuple[datetime, str]:
        """The new end and the reason. Whose lease it is comes before what is wrong with the end."""
        try:
            return end_and_rest(text, self._desk.now(), person.tz, lease.ends_at)
        except Refused:
            require_steward(lease, person)
            raise

    async def _typed(self, ask: Ask, text: str, lease_id: str, verb: Verb) -> datetime:
        """The instant that is meant: `3 days` are added to the end that holds, or to now for what is stopped."""
        person = await self._desk.person(ask)
        lease = await self._desk.gateway.lease(lease_id)
        now = self._desk.now()
        base = lease.ends_at if verb is Verb.EXTEND else None
        return parse_end(text, now, person.tz, base=base).instant(base or now)


def _fields(words: dict[str, str], proposal: int) -> list[Block]:
    end = PlainTextInputElement(action_id="end", max_length=200)
    picker = DateTimePickerElement(action_id="until", initial_date_time=proposal)
    why = PlainTextInputElement(action_id="reason", max_length=2_000)
    typed = InputBlock(
        block_id="end", label=plain_text(words["label"]), element=end, optional=True, hint=plain_text(words["hint"])
    )
    return [
        *sections(words["title"]),
        typed,
        InputBlock(block_id="until", label=plain_text(words["picker"]), element=picker, optional=True),
        InputBlock(block_id="reason", label=plain_text(words["reason"]), element=why, optional=True),
    ]


def _possible(lease: Lease, verb: Verb, now: datetime) -> bool:
    if lease.last_end is None:
        return False
    earliest = now + lease.terms.min_duration
    if verb is Verb.EXTEND and lease.ends_at:
        earliest = max(earliest, lease.ends_at)
    return lease.last_end > earliest


def _proposal(lease: Lease, verb: Verb, now: datetime) -> datetime:
    start = lease.ends_at if verb is Verb.EXTEND and lease.ends_at else now
    last = lease.last_end or start
    return min(max(start, now) + _DAY, last)
