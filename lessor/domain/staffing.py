"""Who is asked for a step: enough people who are there, or the next level as well, so that nothing waits for nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from lessor.domain.absence import is_away
from lessor.domain.approval import Members, Step, eligible, waiting
from lessor.domain.errors import Refused
from lessor.domain.people import Person, Team
from lessor.domain.policy import StepSpec
from lessor.domain.worktime import Hours

Level = tuple[str, ...]
Ladder = Callable[[Step], tuple[Level, ...]]
"""The levels that a step can be opened to, nearest first."""

LAST: Level = ("admins",)


def last_level(_: Step) -> tuple[Level, ...]:
    """The ladder of an organisation without delegates and budget owners."""
    return (LAST,)


def ladder(team: Team | None, members: Members, requester: Person) -> Ladder:
    """Delegates and, for what the lead decides, the budget owner of the team; then administrators.

    Who was named by the requester is left out: nobody decides their own request by a delegate (law 6).
    """

    def levels(step: Step) -> tuple[Level, ...]:
        near = [f"person:{p.delegate}" for p in eligible(step.approvers, members, requester) if p.delegate]
        if team is not None and f"lead:{team.key}" in step.approvers:
            near += (
                [f"person:{team.delegate}"] if team.delegate and not requester.is_same(frozenset({team.lead})) else []
            )
            near += [f"budget-owner:{team.key}"] if team.budget_owner else []
        return (tuple(dict.fromkeys(near)), LAST)

    return levels


def staff(
    specs: Iterable[StepSpec],
    members: Members,
    requester: Person,
    levels: Ladder = last_level,
    now: datetime | None = None,
) -> tuple[Step, ...]:
    """Steps that enough people can decide; the requester, deactivated people and those away are not counted.

    A step with too few people is opened to the next levels as well; if all of them are too few its quorum is lowered to
    those who exist. Without any step, administrators decide. Raises `Refused` ("nobody-can-decide") if nobody is left.
    """
    wanted = tuple(specs) or (StepSpec("approval", LAST),)
    steps = (Step(spec.name, spec.approvers, max(spec.quorum, 1), stage=spec.stage) for spec in wanted)
    return tuple(_filled(step, members, requester, levels(step), now) for step in steps)


def restaff(
    steps: tuple[Step, ...],
    members: Members,
    requester: Person,
    levels: Ladder,
    now: datetime,
    overdue: frozenset[int] = frozenset(),
) -> tuple[Step, ...]:
    """`steps` with those that wait staffed anew; the `overdue` ones, by index, are opened to their next level.

    Raises `Refused` ("nobody-can-decide") when one of them has nobody left who could.
    """
    turn = {id(step) for step in waiting(steps)}

    def anew(index: int, step: Step) -> Step:
        if id(step) not in turn:
            return step
        rungs = levels(step)
        if index in overdue:
            step = _opened(step, members, requester, rungs, now)
        return _filled(step, members, requester, rungs, now)

    return tuple(anew(index, step) for index, step in enumerate(steps))


def able(step: Step, members: Members, requester: Person, now: datetime | None = None) -> tuple[Person, ...]:
    """The distinct people who can decide `step` now and have not: who is there, and who stands in for who is not."""
    voted = frozenset(i for vote in step.votes for i in (vote.by, *vote.ids, vote.stood_in))
    found: list[Person] = []
    for person in eligible(step.approvers, members, requester):
        if person.is_same(voted):
            continue
        found += _deputies(person, members, requester, now) if now and is_away(person, now) else (person,)
    distinct: list[Person] = []
    for person in found:
        if not any(person.is_same(other.all_ids) for other in distinct) and not person.is_same(voted):
            distinct.append(person)
    return tuple(distinct)


def hours_of(people: Iterable[Person]) -> tuple[Hours, ...]:
    """The distinct hours in which these people work, as far as they are known."""
    return tuple(dict.fromkeys(person.hours for person in people if person.hours is not None))


def _deputies(away: Person, members: Members, requester: Person, now: datetime) -> tuple[Person, ...]:
    named = eligible((f"person:{away.delegate}",), members, requester) if away.delegate else ()
    return tuple(person for person in named if not is_away(person, now))


def _filled(step: Step, members: Members, requester: Person, levels: Iterable[Level], now: datetime | None) -> Step:
    """`step` opened to level after level until enough people who are there can decide it."""
    rungs = tuple(levels)
    for level in rungs:
        if len(able(step, members, requester, now)) >= step.quorum - len(step.counted):
            break
        step = _opened(step, members, requester, (level,), now)
    if not able(step, members, requester):
        step = _opened(step, members, requester, rungs, None)
    people, all_told = able(step, members, requester, now), able(step, members, requester)
    if not all_told:
        raise Refused(
            "nobody-can-decide",
            f"nobody but the requester could decide step '{step.name}'; nothing was created, "
            "ask an administrator to add an approver in lessor.yaml",
        )
    quorum = min(step.quorum, len(step.counted) + len(all_told))
    return replace(step, quorum=quorum, hours=hours_of(people or all_told))


def _opened(step: Step, members: Members, requester: Person, levels: Iterable[Level], now: datetime | None) -> Step:
    """`step` opened to the first level that adds somebody who is there; as it is when none does."""
    known = [person.all_ids for person in able(step, members, requester)]

    def adds(ref: str) -> bool:
        behind = able(Step(step.name, (ref,)), members, requester, now)
        return ref not in step.approvers and any(not any(p.is_same(ids) for ids in known) for p in behind)

    for level in levels:
        more = tuple(ref for ref in level if adds(ref))
        if more:
            escalated = ", ".join(part for part in (step.escalated, *more) if part)
            return replace(step, approvers=(*step.approvers, *more), escalated=escalated)
    return step
