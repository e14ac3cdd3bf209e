"""What waits for somebody's answer on a lease: changes that were proposed, questions, longer ends, new owners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.domain.approval import Step
from lessor.domain.policy import Reason
from lessor.domain.request import Market
from lessor.domain.worktime import Hours


@dataclass(frozen=True)
class Changes:
    """What is different from the request; what is `None` or empty stays as it was asked for."""

    duration: timedelta | None = None
    until: datetime | None = None
    count: int | None = None
    instance_type: str = ""
    market: Market | None = None


@dataclass(frozen=True)
class Counter:
    """An approver would approve with these changes; the requester accepts or declines them. `ids` as in a vote."""

    by: str
    changes: Changes
    at: datetime
    ids: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Question:
    """Something that an approver wants to know before deciding; `answer` is empty until somebody answered."""

    by: str
    text: str
    at: datetime
    answer: str = ""
    answered_by: str = ""
    answered_at: datetime | None = None


@dataclass(frozen=True)
class Wish:
    """A later end that people have to decide on; the lease goes on meanwhile, see `Terms.extension_hold`."""

    until: datetime
    by: str
    at: datetime
    reason: str = ""
    ids: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class CoOwner:
    """Somebody who may do with the lease what its owner may, and gets its warnings too.

    `id` is a person's, or `team:KEY`: then every member of that team is one, and the team's channel is warned.
    `member` says that the person belonged to the lease's team when it was shared with them.
    """

    id: str
    ids: tuple[str, ...] = ()
    member: bool = False


@dataclass(frozen=True)
class Payer:
    """What a lease that changes hands takes over, as when it was requested: of the team that pays from then on, and
    when its new owner is awake.
    """

    team: str
    cost_center: str = ""
    lead: str = ""
    awake: Hours | None = None


@dataclass(frozen=True)
class Transfer:
    """The lease is offered to somebody, who becomes its owner by accepting.

    `to` are references as in `Person.refs`; `team` is the key of the team that pays then. `by` is `lessor` when the
    owner has left; `circle` counts how many circles of people it has been offered to, `later` are those to come.
    Without `expires` it stands until somebody takes it or the lease ends; `held` says that this is because others hold
    the lease too.
    """

    to: tuple[str, ...]
    team: str
    by: str
    at: datetime
    expires: datetime | None = None
    circle: int = 0
    later: tuple[tuple[str, ...], ...] = ()
    held: bool = False


@dataclass(frozen=True)
class Exemption:
    """The working-hours schedule does not hold until then, for a reason."""

    until: datetime
    by: str
    at: datetime
    reason: str = ""
