"""Approval steps: who may decide, how many must, and the rule that nobody decides their own request (law 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lessor.domain.errors import Refused
from lessor.domain.people import Person, StandIn
from lessor.domain.worktime import Hours


@dataclass(frozen=True)
class Vote:
    """One person's approval; `ids` are all ids they had then, so that one person never counts twice.

    `stood_in` is the id of the person who was away and for whom they decided.
    """

    by: str
    at: datetime
    ids: tuple[str, ...] = ()
    note: str = ""
    stood_in: str = ""


@dataclass(frozen=True)
class Step:
    """A required approval and the votes it has. `escalated` names what it was opened to besides those first asked.

    The instants are set when the step is asked: they count the working time of those who can decide. `reminders` is how
    many there were, `escalations` how many because nobody decided in time.
    """

    name: str
    approvers: tuple[str, ...]
    quorum: int = 1
    votes: tuple[Vote, ...] = ()
    escalated: str = ""
    stage: int = 0
    asked_at: datetime | None = None
    remind_at: datetime | None = None
    escalate_at: datetime | None = None
    lapses_at: datetime | None = None
    reminders: int = 0
    escalations: int = 0
    hours: tuple[Hours, ...] = ()

    @property
    def counted(self) -> tuple[Vote, ...]:
        """The votes that count: one given for somebody who then decided themselves does not."""
        own = _folded(i for vote in self.votes if not vote.stood_in for i in (vote.by, *vote.ids))
        return tuple(vote for vote in self.votes if vote.stood_in.casefold() not in own)

    @property
    def done(self) -> bool:
        return len(self.counted) >= self.quorum


Members = Callable[[str], tuple[Person, ...]]
"""The people behind a reference, deactivated ones among them."""


def eligible(approvers: Iterable[str], members: Members, requester: Person) -> tuple[Person, ...]:
    """The distinct active people behind `approvers`, without the requester under any of their ids."""
    people: list[Person] = []
    for person in (p for ref in approvers for p in members(ref)):
        known = any(person.is_same(other.all_ids) for other in people)
        if person.active and not known and not person.is_same(requester.all_ids):
            people.append(person)
    return tuple(people)


def waiting(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps that still wait for votes and whose turn it is: those of the lowest stage that is not done."""
    undone = [step for step in steps if not step.done]
    turn = min((step.stage for step in undone), default=0)
    return tuple(step for step in undone if step.stage == turn)


def check(steps: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> Step:
    """The step that `person` may approve now. Raises `Refused` as `may_decide`, and already-voted.

    Of several that wait side by side it is the first one in which their vote would count.
    """
    mine = _mine(steps, person, requester_ids)
    open_ones = (step for step in mine if _adds(step, person, requester_ids))
    step = next(open_ones, None)
    if step is None:
        raise Refused("already-voted", _voted_already(mine[0], person))
    return step


def may_decide(steps: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> Step:
    """The first step that waits for `person` among others. Raises `Refused`: own-request, inactive, not-approver,
    already-decided.
    """
    return _mine(steps, person, requester_ids)[0]


def stands_in_for(step: Step, person: Person, requester_ids: frozenset[str]) -> StandIn | None:
    """For whom `person` would decide `step`; `None` where they decide in their own right, or not at all.

    What the requester lent does not count (law 6). Of several it is one who has not decided, nor anybody for them.
    """
    if not person.refs.isdisjoint(step.approvers):
        return None
    lent = _lent(step, person, requester_ids)
    taken = _taken(step)
    return next((one for one in lent if taken.isdisjoint(_folded((one.id, *one.ids)))), lent[0] if lent else None)


def vote(
    steps: tuple[Step, ...],
    step: Step,
    person: Person,
    now: datetime,
    note: str = "",
    requester_ids: frozenset[str] = frozenset(),
) -> tuple[Step, ...]:
    """`steps` with one more approval in `step`."""
    lender = stands_in_for(step, person, requester_ids)
    cast = Vote(person.id, now, tuple(sorted(person.all_ids)), note, lender.id if lender else "")
    return tuple(replace(s, votes=(*s.votes, cast)) if s is step else s for s in steps)


def _mine(steps: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> tuple[Step, ...]:
    if person.is_same(requester_ids):
        raise Refused("own-request", "this is your own request; somebody else has to decide it")
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot decide")
    asked = waiting(steps)
    if not asked:
        raise Refused("already-decided", "nothing is left to decide")
    mine = tuple(step for step in asked if _right(step, person, requester_ids))
    if not mine:
        _refuse_borrowed(asked, person, requester_ids)
        told = " and ".join(f"step '{step.name}' is decided by {', '.join(step.approvers)}" for step in asked)
        raise Refused("not-approver", told)
    return mine


def _right(step: Step, person: Person, requester_ids: frozenset[str]) -> bool:
    return not person.refs.isdisjoint(step.approvers) or bool(_lent(step, person, requester_ids))


def _lent(step: Step, person: Person, requester_ids: frozenset[str]) -> tuple[StandIn, ...]:
    own = _folded(requester_ids)
    lenders = (one for one in person.stands_in if not set(one.refs).isdisjoint(step.approvers))
    return tuple(one for one in lenders if own.isdisjoint(_folded((one.id, *one.ids))))


def _refuse_borrowed(asked: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> None:
    """Say of a right that comes from the requester why it is none here."""
    borrowed = {ref for one in person.stands_in for ref in one.refs}
    if any(not borrowed.isdisjoint(step.approvers) for step in asked):
        raise Refused(
            "own-request",
            "you stand in for the person whose request this is; nobody decides their own request, nor by a delegate",
        )


def _adds(step: Step, person: Person, requester_ids: frozenset[str]) -> bool:
    """Whether a vote of this person would count beside those that the step has."""
    if any(person.is_same(frozenset((vote.by, *vote.ids))) for vote in step.votes):
        return False
    if not person.refs.isdisjoint(step.approvers):
        return True
    lender = stands_in_for(step, person, requester_ids)
    return lender is not None and _taken(step).isdisjoint(_folded((lender.id, *lender.ids)))


def _voted_already(step: Step, person: Person) -> str:
    needs = f"it needs {step.quorum} people"
    if any(person.is_same(frozenset((vote.by, *vote.ids))) for vote in step.votes):
        return f"you have approved step '{step.name}' already; {needs}"
    return f"step '{step.name}' has the approval of the person for whom you stand in already; {needs}"


def _taken(step: Step) -> frozenset[str]:
    """Everybody whose own say the step has, given by themselves or by who stands in for them."""
    return _folded(i for vote in step.votes for i in ((vote.stood_in,) if vote.stood_in else (vote.by, *vote.ids)))


def _folded(ids: Iterable[str]) -> frozenset[str]:
    return frozenset(i.casefold() for i in ids if i)
