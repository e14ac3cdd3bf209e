"""Acts that change whose a lease is. They speak of a second person or another team, who are looked up first."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, people_calls

with workflow.unsafe.imports_passed_through():
    from datetime import datetime

    from activities.record import HOLDS_NOTHING
    from lessor.contracts import Act, Verb
    from lessor.domain import offboarding, ownership
    from lessor.domain.authority import require_steward
    from lessor.domain.errors import Refused
    from lessor.domain.lease import Change, Lease, minute
    from lessor.domain.ownership import WHOLE_TEAM
    from lessor.domain.pending import Payer
    from lessor.domain.people import Person
    from workflows.acts import told_from
    from workflows.book import Book

VERBS = frozenset({Verb.TRANSFER, Verb.TAKE, Verb.SHARE, Verb.UNSHARE})


def concerns(lease: Lease, act: Act) -> bool:
    """Whether the act is one of these; somebody who declines may also mean changes to a request."""
    declined = act.verb is Verb.DECLINE and lease.transfer is not None and lease.counter is None
    return act.verb in VERBS or declined


async def change(book: Book, act: Act, person: Person) -> Change:
    """What the act does, with where it came from on record. Raises `Refused` when it is not allowed."""
    if act.verb is Verb.TAKE:
        return told_from(act, await _take(book, act, person))
    if act.verb is not Verb.DECLINE:
        require_steward(book.lease, person)
    to = await calls.identify(act.to) if act.to and act.to != WHOLE_TEAM else None
    return told_from(act, effect(book.lease, act, person, to, None, book.now))


def effect(lease: Lease, act: Act, person: Person, to: Person | None, payer: Payer | None, now: datetime) -> Change:
    """What the act does, once it is known who `act.to` is and what another team pays with. Raises `Refused`."""
    if act.verb is Verb.TAKE:
        return ownership.take(lease, person, payer, now, act.team)
    if act.verb is Verb.DECLINE:
        return (offboarding.pass_on if offboarding.is_offered(lease) else ownership.decline)(lease, person, now)
    require_steward(lease, person)
    if act.verb is Verb.TRANSFER:
        return ownership.offer(lease, to or Person(act.to, active=False), act.team, person.id, now)
    return (ownership.share if act.verb is Verb.SHARE else ownership.unshare)(lease, to, person.id, now)


def words(lease: Lease, act: Act) -> str:
    """What the person is told whose act had its effect."""
    found = lease.transfer
    if act.verb is Verb.TRANSFER and found and found.expires:
        until = minute(found.expires)
        return f"offered to {found.to[0].partition(':')[2]}, who can accept it until {until}; nothing moves before"
    if act.verb is Verb.DECLINE:
        return "not taken; others are asked" if found else f"not moved; it stays with {lease.owner}"
    if act.verb is Verb.TAKE:
        paid = f"team {lease.request.team} pays for it"
        return f"yours now, {paid}; you are warned before its end, whoever was warned before"
    who = f"everybody of team {lease.request.team}" if act.to == WHOLE_TEAM else act.to
    return f"shared with {who}" if act.verb is Verb.SHARE else f"not shared with {who} any more"


async def _take(book: Book, act: Act, person: Person) -> Change:
    """The quota moves first, in one transaction with the check that it fits; judged again after the wait."""
    lease = book.lease
    effect(lease, act, person, None, None, book.now)
    payer = await people_calls.payer(lease, ownership.pays(lease, person, act.team), person)
    try:
        await _reserve(effect(lease, act, person, None, payer, book.now).lease)
    except FailureError as error:
        raise Refused("quota", f"{calls.reason(error)} Nothing was moved") from error
    if book.lease.state in HOLDS_NOTHING:
        await calls.give_back(book.lease)
    try:
        return effect(book.lease, act, person, None, payer, book.now)
    except Refused:
        await _move_back(book.lease)
        raise


async def _reserve(lease: Lease) -> None:
    """What is stopped or over holds nothing; a stopped lease takes quota again when it is restored."""
    if lease.state not in HOLDS_NOTHING:
        await calls.reserve(lease)


async def _move_back(lease: Lease) -> None:
    try:
        await _reserve(lease)
    except FailureError as error:
        workflow.logger.error("the quota of %s could not be moved back: %s", lease.id, calls.reason(error))
