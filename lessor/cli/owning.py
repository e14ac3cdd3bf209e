"""Handing leases on, and going away: what the commands about people do."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from lessor.cli.acting import VIA, send
from lessor.cli.browsing import lease_id
from lessor.cli.output import tell
from lessor.cli.session import DONE, Session
from lessor.contracts import Act, Verb
from lessor.domain.errors import Refused
from lessor.domain.ownership import WHOLE_TEAM
from lessor.domain.people import Person
from lessor.when import end_and_rest, local

if TYPE_CHECKING:
    from lessor.gateway import Gateway


async def hand_on(
    session: Session, gateway: Gateway, person: Person, text: str, verb: str, whom: str, team: str = ""
) -> int:
    """Offer the lease to somebody, or share it with them, or not any more; `team` alone means everybody of its team."""
    lease = lease_id(text)
    to = WHOLE_TEAM if verb != Verb.TRANSFER and whom == WHOLE_TEAM else (await gateway.named(whom)).id
    key = f"{lease}/{verb}/cli:{uuid.uuid4().hex}"
    return await send(session, gateway, person, lease, Act(key, Verb(verb), person.id, via=VIA, to=to, team=team))


async def take_over(session: Session, gateway: Gateway, person: Person, text: str, team: str) -> int:
    """Accept what is offered to the acting person."""
    lease = lease_id(text)
    key = f"{lease}/{Verb.TAKE}/cli:{uuid.uuid4().hex}"
    return await send(session, gateway, person, lease, Act(key, Verb.TAKE, person.id, via=VIA, team=team))


async def go_away(session: Session, gateway: Gateway, person: Person, when: str, delegate: str) -> int:
    """Away until then; a length counts from now."""
    until, rest = end_and_rest(when.removeprefix("until "), session.now(), person.tz)
    if rest:
        raise Refused("unclear-end", f"'{rest[:60]}' is not part of a time; name who stands in with --delegate")
    deputy = (await gateway.named(delegate)).id if delegate else ""
    absence = await gateway.away(person.id, until, deputy)
    who = f"{absence.delegate} decides for you meanwhile" if absence.delegate else "nobody stands in for you"
    facts = {"person": absence.person, "until": absence.until.isoformat(), "delegate": absence.delegate or None}
    tell(session.as_json, facts, f"you are away until {local(absence.until, person.tz)}; {who}")
    return DONE


async def come_back(session: Session, gateway: Gateway, person: Person) -> int:
    """Back, unless the status in Slack still says away."""
    now = await gateway.back(person.id)
    still = f"; your status in Slack says away until {local(now.away_until, person.tz)}" if now.away_until else ""
    facts = {"person": now.id, "away_until": now.away_until.isoformat() if now.away_until else None}
    tell(session.as_json, facts, f"you are back{still}")
    return DONE
