"""Looks up who can decide: the people behind the references of steps, those who stand in for them, the next levels.

The domain judges people that it is given; this gets them from the directory, as they are now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lessor.domain import staffing
from lessor.domain.approval import Members, Step, waiting
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person
from lessor.domain.policy import StepSpec
from lessor.ports import Directory, DirectoryUnavailableError


async def staff(
    directory: Directory, specs: tuple[StepSpec, ...], team: str, requester: Person, now: datetime
) -> tuple[Step, ...]:
    """Steps that enough people can decide now. Raises `Refused` ("nobody-can-decide")."""
    members = await _members(directory, (ref for spec in specs for ref in spec.approvers), team)
    levels = staffing.ladder(directory.team(team), members, requester)
    return staffing.staff(specs, members, requester, levels, now)


async def restaff(
    directory: Directory,
    steps: tuple[Step, ...],
    team: str,
    requester: Person,
    now: datetime,
    overdue: frozenset[int] = frozenset(),
) -> tuple[Step, ...]:
    """`steps` with those that wait staffed anew, the `overdue` ones opened to the next level. Raises as `staff`."""
    members = await _members(directory, (ref for step in steps for ref in step.approvers), team)
    levels = staffing.ladder(directory.team(team), members, requester)
    return staffing.restaff(steps, members, requester, levels, now, overdue)


async def deciding(directory: Directory, lease: Lease, now: datetime) -> tuple[Person, ...]:
    """Who can decide the request now, see `able`; nobody once it is decided."""
    if lease.state is not State.AWAITING_APPROVAL:
        return ()
    known = await directory.person(lease.owner) or Person(lease.owner)
    requester = replace(known, ids=(*known.ids, *lease.requester_ids))
    return await able(directory, lease.steps, requester, now)


async def able(directory: Directory, steps: tuple[Step, ...], requester: Person, now: datetime) -> tuple[Person, ...]:
    """The distinct people whose vote one of the waiting steps would take now: never the requester, nobody twice.

    Where everybody is away and nobody stands in, it is those who are away: they are asked all the same.
    """
    asked = waiting(steps)
    members = await _members(directory, (ref for step in asked for ref in step.approvers), "")
    found: list[Person] = []
    for step in asked:
        people = staffing.able(step, members, requester, now) or staffing.able(step, members, requester)
        found += (p for p in people if not any(p.is_same(other.all_ids) for other in found))
    return tuple(found)


async def told(directory: Directory, lease: Lease, now: datetime) -> str:
    """Who can decide what waits on a lease, step by step and by name; empty where nobody can, or nobody knows now."""
    wish = lease.wish
    steps = wish.steps if wish and lease.state is not State.AWAITING_APPROVAL else lease.steps
    known = await directory.person(lease.owner) or Person(lease.owner)
    requester = replace(known, ids=(*known.ids, *lease.requester_ids, *(wish.ids if wish else ())))
    said = []
    try:
        for step in waiting(steps):
            people = await able(directory, (step,), requester, now)
            if people:
                said.append(f"step '{step.name}' is decided by {' or '.join(one.name or one.id for one in people)}")
    except DirectoryUnavailableError:
        return ""
    return " and ".join(said)


async def _members(directory: Directory, approvers: Iterable[str], team: str) -> Members:
    """The people behind `approvers`, the levels above them, and everybody's delegates; read once, then looked up.

    A lead who has named nobody is stood in for by the delegate of the team.
    """
    found: dict[str, tuple[Person, ...]] = {}
    known = directory.team(team) if team else None
    near = (f"budget-owner:{team}", f"person:{known.delegate}") if known else ()
    await _read(directory, found, (*approvers, *near, *staffing.LAST))
    people = [person for those in tuple(found.values()) for person in those]
    await _read(directory, found, (f"person:{person.delegate}" for person in people if person.delegate))
    return lambda ref: found.get(ref, ())


async def _read(directory: Directory, found: dict[str, tuple[Person, ...]], refs: Iterable[str]) -> None:
    for ref in dict.fromkeys(refs):
        if ref in found or ref == "person:":
            continue
        team = directory.team(ref.partition(":")[2]) if ref.startswith("lead:") else None
        named = team.delegate if team else ""
        found[ref] = tuple(replace(p, delegate=p.delegate or named) for p in await directory.members(ref))
