"""`/gpu admin`: the brake, the meter, verdicts that people called wrong, and leases that are never stopped."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from slack_sdk.models.blocks import Block

from bot import words
from bot.acting import Acting
from bot.ask import Ask
from bot.blocks.message import Message, sections
from bot.blocks.text import cut, quoted
from bot.desk import Desk
from lessor.contracts import Verb
from lessor.domain.errors import Refused
from lessor.domain.figures import peaks_of
from lessor.domain.identity import parse_lease_id
from lessor.domain.people import Person
from lessor.ports import StoredEvent
from lessor.when import end_and_rest, speaks_of_an_end

USAGE = (
    "admin brake on|off|status reason, admin meter, admin verdicts, admin spare ID [WHEN] reason, "
    "admin confirm-closed ID reason"
)
VIA = "slack"
VERDICTS_SINCE = timedelta(days=30)
VERDICTS_MOST = 20
WORDS_MOST = 400
NO_LONGER = frozenset({"off", "no longer"})


class Governing:
    """What administrators do in Slack about the whole fleet; the use cases check again who they are."""

    def __init__(self, desk: Desk, acting: Acting) -> None:
        self._desk = desk
        self._acting = acting

    async def command(self, ask: Ask, text: str) -> None:
        """By its first word; anything else is answered with what there is."""
        word, rest = words.first(text.strip())
        ways = {
            "brake": self._brake,
            "meter": self._meter,
            "verdicts": self._verdicts,
            "spare": self._spare,
            "confirm-closed": self._confirm_closed,
        }
        try:
            person = await self._desk.person(ask)
            if not person.admin:
                raise Refused("not-admin", "/gpu admin is for administrators; nothing was changed")
            if word not in ways:
                raise Refused("usage", f"write /gpu {USAGE}")
            message = await ways[word](ask, person, rest.strip())
        except Refused as refused:
            message = self._desk.refusal(refused)
        await self._desk.reply(ask, message)

    async def _brake(self, ask: Ask, person: Person, text: str) -> Message:
        word, reason = words.first(text)
        if word in ("on", "off"):
            brake = await self._desk.gateway.meter.set_brake(person.id, reason.strip("\"'“”‘’ "), on=word == "on")
            return self._say("brake.j2", person, brake=brake, changed=True)
        if word not in ("", "status"):
            raise Refused("usage", "write /gpu admin brake on REASON, off REASON, or status; nothing was changed")
        return self._say("brake.j2", person, brake=await self._desk.gateway.meter.brake(), changed=False)

    async def _meter(self, ask: Ask, person: Person, text: str) -> Message:
        status = await self._desk.gateway.meter.status()
        return self._say("meter.j2", person, status=status, report=status.report, brake=status.brake)

    async def _verdicts(self, ask: Ask, person: Person, text: str) -> Message:
        found = await self._desk.gateway.meter.disputes(self._desk.now() - VERDICTS_SINCE)
        title = self._desk.say("verdicts.j2", count=len(found), days=VERDICTS_SINCE.days, zone=person.tz)
        blocks: list[Block] = [*sections(title)]
        for stored in found[:VERDICTS_MOST]:
            parts = self._desk.wording.parts("verdict_line.j2", zone=person.tz, **_dispute(stored))
            blocks += sections(parts["title"])
        return Message(title.replace("*", ""), tuple(blocks))

    async def _spare(self, ask: Ask, person: Person, text: str) -> Message:
        """Until then, or until its end where no time is named; `off` takes it back."""
        lease_id, rest = _lease_and_rest(text, "spare ID [WHEN] reason, or spare ID off")
        until, reason = self._until(rest.strip(), person)
        told = await self._acting.act(ask, Verb.SPARE, lease_id, until=until, reason=reason)
        return told.message

    async def _confirm_closed(self, ask: Ask, person: Person, text: str) -> Message:
        """People were locked out of machines by hand, where no hook is left to see that."""
        lease_id, reason = _lease_and_rest(text, "confirm-closed ID reason")
        closed = await self._desk.gateway.entering.confirm_closed(lease_id, person.id, reason.strip(), VIA)
        return self._say("closed_by_hand.j2", person, lease_id=lease_id, closed=closed)

    def _until(self, text: str, person: Person) -> tuple[datetime | None, str]:
        now = self._desk.now()
        if text.casefold() in NO_LONGER:
            return now, ""
        first = text.removeprefix("until ")
        begins = [" ".join(first.split(" ")[:count]) for count in (1, 2, 3)]
        if first != text or any(speaks_of_an_end(one, now, person.tz) for one in begins):
            return end_and_rest(first, now, person.tz)
        return None, text

    def _say(self, template: str, person: Person, **values: Any) -> Message:
        return self._desk.message(template, zone=person.tz, now=self._desk.now(), **values)


def _lease_and_rest(text: str, usage: str) -> tuple[str, str]:
    """The lease that is named first, and what follows it. Raises `Refused` ("no-lease")."""
    word, _, rest = text.partition(" ")
    lease_id = parse_lease_id(word)
    if lease_id is None:
        what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
        raise Refused("no-lease", f"{what}; write /gpu admin {usage}")
    return lease_id, rest


def _dispute(stored: StoredEvent) -> dict[str, object]:
    """One verdict that was called wrong, with what it rested on."""
    event = stored.event
    return {
        "lease_id": stored.lease_id,
        "event": event,
        "since": datetime.fromisoformat(event.data["since"]) if event.data.get("since") else None,
        "figures": cut(peaks_of(event.data), WORDS_MOST),
        "reason": quoted(event.data.get("reason", ""), WORDS_MOST),
    }
