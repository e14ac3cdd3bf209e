"""What a lease remembers of being idle: the steps that its people were told of, and what they answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lessor.domain.idle import Evidence, IdleTerms
from lessor.domain.worktime import Hours


class Rung(StrEnum):
    """The steps before an idle lease is stopped, in order."""

    WARN = "warn"
    FINAL = "final"
    STOP = "stop"


@dataclass(frozen=True)
class Told:
    """A warning that was delivered: which, when, by which channel, and whether the owner was reached in person.

    `barred` says that it announced no stop, since something stood against one. `stops` is when the last warning said
    that it is stopped: not earlier then, whatever becomes of the thresholds.
    """

    rung: Rung
    at: datetime
    via: str = "slack"
    owner: bool = True
    barred: bool = False
    stops: datetime | None = None


@dataclass(frozen=True)
class Ladder:
    """The lease does nothing: what proves it, under which terms, and what its people were told.

    `next_try` is when a step that could not be taken is tried again, `held_back` why it could not. `hours` is when its
    owner works, where that is known.
    """

    evidence: Evidence
    terms: IdleTerms
    told: tuple[Told, ...] = ()
    next_try: datetime | None = None
    held_back: str = ""
    hours: Hours | None = None


def untold(ladder: Ladder | None) -> Ladder | None:
    """The same, as if nobody had been told anything yet: before a stop its people are warned from the beginning."""
    return replace(ladder, told=(), next_try=None, held_back="") if ladder else None


@dataclass(frozen=True)
class Snooze:
    """Somebody says that they use it, and why: until then nothing is said or done about its being idle."""

    until: datetime
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True)
class Dispute:
    """A verdict of idle is not believed until then: on whose word, since when and why.

    `by` is `lessor` where another look did not confirm it; a person's word ends early once the lease is seen busy.
    """

    until: datetime
    by: str
    at: datetime
    reason: str


class Why(StrEnum):
    """Why a lease was stopped before its end."""

    IDLE = "idle"
    ASKED = "asked"
    BUDGET = "budget"


@dataclass(frozen=True)
class Pause:
    """It is stopped until somebody starts it: why, on whose word, since when; `words` say it to people."""

    why: Why
    by: str
    at: datetime
    words: str = ""


@dataclass(frozen=True)
class Spared:
    """An administrator's word that it is never stopped for being idle, until then or until its end."""

    by: str
    at: datetime
    reason: str
    until: datetime | None = None


@dataclass(frozen=True)
class Consent:
    """The owner accepts that a stop loses what is on its local disks."""

    by: str
    at: datetime


@dataclass(frozen=True)
class Brake:
    """Whether stops for being idle are held back everywhere: on whose word, since when and why.

    With `doubt` the verdicts themselves cannot be believed, so that nobody is warned either.
    """

    on: bool = False
    by: str = ""
    at: datetime | None = None
    reason: str = ""
    doubt: bool = False
