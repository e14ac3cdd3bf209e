"""Acts that change whose a lease is. They speak of a second person or another team, who are looked up first."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, people_calls

with workflow.unsafe.imports_passed_through():
    from lessor.contracts import Act, Verb
    from lessor.domain import offboarding, ownership
    from lessor.domain.authority import require_steward
    from lessor.domain.errors import Refused
    from lessor.domain.lease import Change, Lease, State, minute
    from lessor.domain.ownership import LESSOR, WHOLE_TEAM
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
        return told_from(act, await _take(book, person))
    if act.verb is Verb.DECLINE:
        return told_from(act, _decline(book.lease, person))
    require_steward(book.lease, person)
    to = None if act.verb is not Verb.TRANSFER and act.to == WHOLE_TEAM else await calls.identify(act.to)
    require_steward(book.lease, person)
    return told_from(act, _steward(book.lease, act, person, to))


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


def _steward(lease: Lease, act: Act, person: Person, to: Person | None) -> Change:
    now = workflow.now()
    if act.verb is Verb.SHARE:
        return ownership.share(lease, to, person.id, now)
    if act.verb is Verb.UNSHARE:
        return ownership.unshare(lease, to, person.id, now)
    return ownership.offer(lease, to or Person(act.to, active=False), act.team, person.id, now)


def _decline(lease: Lease, person: Person) -> Change:
    now = workflow.now()
    if lease.transfer is not None and lease.transfer.by == LESSOR:
        return offboarding.pass_on(lease, person, now)
    return ownership.decline(lease, person, now)


async def _take(book: Book, person: Person) -> Change:
    """The quota moves first, in one transaction with the check that it fits; judged again after the wait."""
    lease = book.lease
    ownership.take(lease, person, None, workflow.now())
    team = lease.transfer.team if lease.transfer else lease.request.team
    try:
        payer = await people_calls.payer(team) if team != lease.request.team else None
        moved = ownership.take(lease, person, payer, workflow.now()).lease
        await _reserve(moved)
    except FailureError as error:
        raise Refused("quota", f"{calls.reason(error)} Nothing was moved") from error
    try:
        return ownership.take(book.lease, person, payer, workflow.now())
    except Refused:
        await _reserve(book.lease)
        raise


async def _reserve(lease: Lease) -> None:
    """A stopped lease holds nothing, and takes quota again when it is restored."""
    if lease.state not in (State.STOPPED, State.ENDING, State.DELETING, State.BLOCKED) and not lease.final:
        await calls.reserve(lease)
