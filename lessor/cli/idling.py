"""What the commands on a lease that does nothing do."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from lessor.cli.acting import VIA, send
from lessor.cli.browsing import lease_id
from lessor.cli.session import Session
from lessor.contracts import Act, Verb
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.when import end_and_rest

if TYPE_CHECKING:
    from lessor.gateway import Gateway

STOPS = "Stop {id} now? What runs on it ends; its disks are kept and charged, and it can be started again"
LOSES = "Let {id} be stopped when it does nothing? What is on its local disks is lost then, for good"


async def stop_lease(session: Session, gateway: Gateway, person: Person, text: str, confirm: str, *, yes: bool) -> int:
    """Stop it; typing its id out with `confirm` is confirmation enough."""
    lease = lease_id(text)
    session.confirm(STOPS.format(id=lease), yes=yes or bool(confirm))
    return await send(session, gateway, person, lease, _act(lease, Verb.STOP, person, confirmation=confirm))


async def answer(session: Session, gateway: Gateway, person: Person, text: str, verb: str, reason: str = "") -> int:
    """An act that takes nothing away."""
    lease = lease_id(text)
    return await send(session, gateway, person, lease, _act(lease, Verb(verb), person, reason=reason))


async def agree(session: Session, gateway: Gateway, person: Person, text: str, *, yes: bool) -> int:
    """Accept that a stop loses what is on local disks."""
    lease = lease_id(text)
    session.confirm(LOSES.format(id=lease), yes=yes)
    return await send(session, gateway, person, lease, _act(lease, Verb.CONSENT, person))


async def spare_lease(
    session: Session, gateway: Gateway, person: Person, text: str, when: str, reason: str, *, no_longer: bool
) -> int:
    """Until then, or until its end; what follows the time is the reason."""
    lease, until, rest = lease_id(text), None, ""
    if when and no_longer:
        raise Refused("unclear-end", "give a time, or --no-longer; nothing was changed")
    if when:
        until, rest = end_and_rest(when, session.now(), person.tz)
    if no_longer:
        until = session.now()
    act = _act(lease, Verb.SPARE, person, reason=reason or rest)
    return await send(session, gateway, person, lease, replace(act, until=until))


def _act(lease: str, verb: Verb, person: Person, reason: str = "", confirmation: str = "") -> Act:
    key = f"{lease}/{verb.value}/cli:{uuid.uuid4().hex}"
    return Act(key, verb, person.id, reason, via=VIA, confirmation=confirmation)
