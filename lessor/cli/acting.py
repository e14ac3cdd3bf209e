"""Acts on a lease: approve, deny, extend, shorten, exempt, restore, release, withdraw."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from lessor.cli.browsing import lease_id
from lessor.cli.output import tell
from lessor.cli.session import DONE, Session
from lessor.contracts import Act, Answer, Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import IN_USE
from lessor.domain.people import Person
from lessor.when import end_and_rest, in_zone, local

if TYPE_CHECKING:
    from lessor.gateway import Gateway

VIA = "cli"
WISHES = {Verb.APPROVE: Verb.GRANT, Verb.DENY: Verb.REJECT}
QUESTIONS = {
    Verb.RELEASE: "Give {id} back now? What runs is stopped, and deleted after the grace period; what is stopped is "
    "deleted at once",
    Verb.WITHDRAW: "Withdraw the request {id} (of a lease in use, the wish for a later end)? What exists of a request "
    "is taken down",
}


async def act_on_lease(
    session: Session, gateway: Gateway, person: Person, text: str, verb: str, reason: str, *, yes: bool
) -> int:
    """One act of the acting person; what takes something away is confirmed first, unless `yes`."""
    lease = lease_id(text)
    what = await meant(gateway, lease, Verb(verb))
    if what in QUESTIONS:
        session.confirm(QUESTIONS[what].format(id=lease), yes=yes)
    return await _send(session, gateway, person, lease, what, reason, None)


async def meant(gateway: Gateway, lease: str, verb: Verb) -> Verb:
    """Of a lease in use whose owner wishes for a later end, approving and denying mean that wish."""
    if verb not in WISHES:
        return verb
    try:
        found = await gateway.lease(lease)
    except Refused:
        return verb
    return WISHES[verb] if found.wish and found.state in IN_USE else verb


async def move_lease(
    session: Session, gateway: Gateway, person: Person, text: str, verb: str, when: str, reason: str
) -> int:
    """Extend, shorten, restore or exempt a lease until then; an exemption without a time is for the coming pause.

    A length counts from now, that of an extension from the present end. What follows the time is the reason.
    """
    what, lease, until, rest = Verb(verb), lease_id(text), None, ""
    if when or what is not Verb.EXEMPT:
        base = (await gateway.lease(lease)).ends_at if what is Verb.EXTEND else None
        until, rest = end_and_rest(when, session.now(), person.tz, base)
    return await _send(session, gateway, person, lease, what, reason or rest, until)


async def send(session: Session, gateway: Gateway, person: Person, lease: str, act: Act) -> int:
    """Bring the act to the lease and tell the answer. Raises `Refused` where it had no effect."""
    answer = await gateway.act(lease, act)
    if not answer.ok:
        raise Refused(answer.code, _words(answer, person))
    tell(session.as_json, _facts(answer), in_zone(_words(answer, person), person.tz))
    return DONE


async def _send(
    session: Session, gateway: Gateway, person: Person, lease: str, verb: Verb, reason: str, until: datetime | None
) -> int:
    act = Act(f"{lease}/{verb.value}/cli:{uuid.uuid4().hex}", verb, person.id, reason, until, VIA)
    return await send(session, gateway, person, lease, act)


def _words(answer: Answer, person: Person) -> str:
    ahead = answer.ends_at if answer.ok and answer.state in IN_USE else None
    ends = f"; it ends {local(ahead, person.tz)}" if ahead else ""
    recorded = "; it is recorded and takes effect as soon as the worker is back" if answer.recorded_only else ""
    return f"{answer.message or f'{answer.lease_id} is {answer.state}'}{ends}{recorded}"


def _facts(answer: Answer) -> dict[str, object]:
    return {
        "ok": answer.ok,
        "code": answer.code,
        "message": answer.message,
        "lease_id": answer.lease_id,
        "state": answer.state,
        "by": answer.by or None,
        "at": answer.at.isoformat() if answer.at else None,
        "ends_at": answer.ends_at.isoformat() if answer.ends_at else None,
        "recorded_only": answer.recorded_only,
    }
