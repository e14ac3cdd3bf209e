"""Requests that change before they are decided, and questions about them: what the commands do."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessor.cli.acting import VIA, meant, send
from lessor.cli.browsing import lease_id
from lessor.cli.session import Session
from lessor.contracts import Act, Verb
from lessor.domain.errors import Refused
from lessor.domain.pending import Changes
from lessor.domain.people import Person
from lessor.domain.request import Market
from lessor.when import parse_end

if TYPE_CHECKING:
    from lessor.gateway import Gateway


@dataclass(frozen=True)
class Wanted:
    """What somebody typed of how the request is to be different; empty stays as it is."""

    until: str = ""
    count: int = 0
    instance_type: str = ""
    market: str = ""


async def change_request(
    session: Session, gateway: Gateway, person: Person, text: str, verb: str, wanted: Wanted, reason: str = ""
) -> int:
    """Propose changes of somebody's request (`counter`), or ask for something else oneself (`revise`)."""
    changes = _changes(wanted, session, person)
    if changes == Changes():
        raise Refused("no-change", "say what is to be different: --until, --count, --type or --market")
    lease = lease_id(text)
    act = Act(_key(lease, verb), Verb(verb), person.id, reason, via=VIA, changes=changes)
    return await send(session, gateway, person, lease, act)


async def say(session: Session, gateway: Gateway, person: Person, text: str, verb: str, words: str) -> int:
    """Ask something before deciding, or answer it."""
    lease = lease_id(text)
    return await send(session, gateway, person, lease, Act(_key(lease, verb), Verb(verb), person.id, words, via=VIA))


async def approve(session: Session, gateway: Gateway, person: Person, text: str, reason: str, confirm: str) -> int:
    """Approve a request, or the later end of a lease in use; what costs much is typed out, here too."""
    lease = lease_id(text)
    verb = await meant(gateway, lease, Verb.APPROVE)
    act = Act(_key(lease, verb.value), verb, person.id, reason, via=VIA, confirmation=confirm)
    return await send(session, gateway, person, lease, act)


def _changes(wanted: Wanted, session: Session, person: Person) -> Changes:
    """Raises `Refused` for an end that is not understood or a market that is none."""
    end = parse_end(wanted.until, session.now(), person.tz) if wanted.until else None
    if wanted.market and wanted.market not in tuple(Market):
        raise Refused("no-market", f"'{wanted.market[:40]}' is no market; allowed: {', '.join(Market)}")
    return Changes(
        duration=end.lasts if end else None,
        until=end.fixed if end else None,
        count=wanted.count or None,
        instance_type=wanted.instance_type,
        market=Market(wanted.market) if wanted.market else None,
    )


def _key(lease: str, verb: str) -> str:
    return f"{lease}/{verb}/cli:{uuid.uuid4().hex}"
