"""Approval steps: who may decide, how many must, and the rule that nobody decides their own request (law 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.domain.policy import StepSpec
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
    """A required approval and the votes it has. `escalated` names what it fell back to, if nobody else could decide.

    The instants are set when the step is asked: they count the working time of those who can decide. `reminders` and
    `escalations` are how many there were.
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
    def done(self) -> bool:
        return len(self.votes) >= self.quorum


def staff(
    specs: Iterable[StepSpec],
    members: Callable[[str], tuple[Person, ...]],
    requester: Person,
    fallback: tuple[str, ...] = ("admins",),
) -> tuple[Step, ...]:
    """Steps that enough people can decide, the requester and deactivated people not counted.

    A step with too few eligible people is opened to `fallback` as well; if that is still too few its quorum is
    lowered to those who exist. Without any step, `fallback` decides: a step of nobody would be decided by nobody.
    Raises `Refused` ("nobody-can-decide") when nobody at all is left.
    """
    wanted = tuple(specs) or (StepSpec("approval", fallback),)
    return tuple(_staffed(spec, members, requester, fallback) for spec in wanted)


def _staffed(
    spec: StepSpec, members: Callable[[str], tuple[Person, ...]], requester: Person, fallback: tuple[str, ...]
) -> Step:
    quorum = max(spec.quorum, 1)
    if len(eligible(spec.approvers, members, requester)) >= quorum:
        return Step(spec.name, spec.approvers, quorum)
    widened = (*spec.approvers, *(ref for ref in fallback if ref not in spec.approvers))
    people = eligible(widened, members, requester)
    if not people:
        raise Refused(
            "nobody-can-decide",
            f"nobody but the requester could decide step '{spec.name}'; nothing was created, "
            "ask an administrator to add an approver in lessor.yaml",
        )
    return Step(spec.name, widened, min(quorum, len(people)), escalated=", ".join(fallback))


def eligible(
    approvers: Iterable[str], members: Callable[[str], tuple[Person, ...]], requester: Person
) -> tuple[Person, ...]:
    """The distinct active people behind `approvers`, without the requester under any of their ids."""
    people: list[Person] = []
    for person in (p for ref in approvers for p in members(ref)):
        known = any(person.is_same(other.all_ids) for other in people)
        if person.active and not known and not person.is_same(requester.all_ids):
            people.append(person)
    return tuple(people)


def current(steps: tuple[Step, ...]) -> Step | None:
    """The first step that still waits for votes."""
    return next((step for step in steps if not step.done), None)


def check(steps: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> Step:
    """The step that `person` may approve now. Raises `Refused` as `may_decide`, and already-voted."""
    step = may_decide(steps, person, requester_ids)
    if any(person.is_same(frozenset((vote.by, *vote.ids))) for vote in step.votes):
        raise Refused("already-voted", f"you have approved step '{step.name}' already; it needs {step.quorum} people")
    return step


def may_decide(steps: tuple[Step, ...], person: Person, requester_ids: frozenset[str]) -> Step:
    """The step that waits for `person` among others. Raises `Refused`: own-request, inactive, not-approver,
    already-decided.
    """
    if person.is_same(requester_ids):
        raise Refused("own-request", "this is your own request; somebody else has to decide it")
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot decide")
    step = current(steps)
    if step is None:
        raise Refused("already-decided", "nothing is left to decide")
    if person.refs.isdisjoint(step.approvers):
        raise Refused("not-approver", f"step '{step.name}' is decided by {', '.join(step.approvers)}")
    return step


def vote(steps: tuple[Step, ...], step: Step, person: Person, now: datetime, note: str = "") -> tuple[Step, ...]:
    """`steps` with one more approval in `step`."""
    cast = Vote(person.id, now, tuple(sorted(person.all_ids)), note)
    return tuple(replace(s, votes=(*s.votes, cast)) if s is step else s for s in steps)
