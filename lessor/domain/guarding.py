"""When the guard acts: what stands on the resources themselves decides, and nothing else has to work (law 10).

It comes after the workflow on purpose: a lease is told of only once its end has passed by a while, and stopped only
long after that. What is unknown is never stopped, and neither is what the ledger, if it answers, says has not ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import floor

from lessor.domain.lease import Lease, minute
from lessor.domain.money import Money
from lessor.domain.request import Place, spell
from lessor.domain.resource import Condition
from lessor.domain.states import State

AWAKE = frozenset({Condition.PENDING, Condition.RUNNING})
"""What costs and could be stopped; what is stopping or going is left alone."""

OVER = frozenset({State.ENDING, State.STOPPED, State.DELETING, State.BLOCKED})
"""States of leases on record whose end has come, besides the final ones."""


@dataclass(frozen=True)
class Dated:
    """What a place shows of the machines of one lease, in one region where it has several.

    `place` is as narrow as it can be stopped in. `ends` is the latest end that stands on them; `None` when there is
    none or any cannot be read, and `written` is what stands there. `fixed` says why they cannot be stopped; empty
    where they can. `since` is when the latest of them was made or last started.
    """

    place: Place
    lease: str
    refs: tuple[str, ...]
    what: str
    condition: Condition
    ends: datetime | None
    written: str = ""
    owner: str = ""
    team: str = ""
    fixed: str = ""
    since: datetime | None = None

    @property
    def key(self) -> str:
        """The same at every look: `research/us-east-1/gpu-7k3qxa2m`."""
        return "/".join(part for part in (self.place.name, self.place.region, self.lease) if part)

    @property
    def awake(self) -> bool:
        return self.condition in AWAKE


@dataclass(frozen=True)
class Stray:
    """Something that holds GPUs and is no lease's. `who` and `hourly` are empty and `None` where nobody says."""

    place: Place
    ref: str
    what: str
    since: datetime | None = None
    who: str = ""
    hourly: Money | None = None


@dataclass(frozen=True)
class Roll:
    """One reading of a place. What could be read is here, and `problems` say in words what could not."""

    dated: tuple[Dated, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strays:
    """What a place shows without a lease, and what of it could not be read."""

    found: tuple[Stray, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuardTerms:
    """How late is too late.

    People are told `tell_after` the end, and it is stopped `tolerance` after the end, `notice` after they were told at
    the soonest. More than `share` of what runs, and `least` leases or more, are never stopped within `WITHIN`.
    A place is told of once it was not read whole `unread` times in a row.
    """

    every: timedelta = timedelta(minutes=5)
    tell_after: timedelta = timedelta(minutes=15)
    tolerance: timedelta = timedelta(hours=2)
    notice: timedelta = timedelta(minutes=30)
    share: float = 0.5
    least: int = 3
    unread: int = 3


WITHIN = timedelta(hours=1)
"""The time in which no more than the share may be stopped."""


@dataclass(frozen=True)
class Overdue:
    """Since when the guard knows that a lease is late, of which end, and when people were told; `None` is not yet."""

    ends: datetime
    seen_at: datetime
    told_at: datetime | None = None

    def stops_at(self, terms: GuardTerms) -> datetime:
        """No sooner than the notice after people were told; where nobody can be told, after the first sighting."""
        return max(self.ends + terms.tolerance, (self.told_at or self.seen_at) + terms.notice)


class Word(StrEnum):
    """What the ledger says of a lease that is past the end on its machines."""

    OVER = "over"
    NOT_OVER = "not over"
    NO_RECORD = "no record"
    UNREADABLE = "unreadable"
    SILENT = "silent"


@dataclass(frozen=True)
class Said:
    """The ledger's word; `until` is the end on record, `state` where the lease stands, `why` why it says nothing."""

    word: Word
    until: datetime | None = None
    state: str = ""
    why: str = ""

    @property
    def objection(self) -> str:
        """Why nothing may be stopped, in words; empty where nothing speaks against it."""
        if self.word is Word.NO_RECORD:
            known = "the ledger does not know this lease: it may be that of another lessor, or its record was lost"
            return "the ledger is silent, and did not know this lease before" if self.why else known
        if self.word is Word.UNREADABLE:
            return "the ledger has this lease, but its record cannot be read"
        if self.word is not Word.NOT_OVER:
            return ""
        if self.until is None:
            return f"the ledger says that it is {self.state} and has no end yet"
        if self.why:
            return f"the ledger is silent, and said before that it ends {minute(self.until)}"
        return f"the ledger says that it is {self.state} and ends {minute(self.until)}"


def said_of(lease: Lease | None, now: datetime) -> Said:
    """What the record of a lease comes to; `None` is a lease that the ledger does not have."""
    if lease is None:
        return Said(Word.NO_RECORD)
    until, state = lease.runs_until, lease.state.value.replace("-", " ")
    over = lease.final or lease.state in OVER or (until is not None and until <= now)
    return Said(Word.OVER if over else Word.NOT_OVER, until, state)


def recalled(said: Said, until: datetime | None, now: datetime, *, stranger: bool = False) -> Said:
    """A silent ledger is believed what it said before: an end that is yet to come was no end.

    A `stranger` is a lease that it did not know: another lessor's, as likely as not.
    """
    if said.word is not Word.SILENT:
        return said
    if stranger:
        return Said(Word.NO_RECORD, why=said.why or "silent")
    if until is None or until <= now:
        return said
    return Said(Word.NOT_OVER, until, why=said.why or "silent")


class Stand(StrEnum):
    """What is to be done about a lease."""

    FINE = "fine"
    RESTING = "resting"
    UNKNOWN = "unknown"
    DISPUTED = "disputed"
    FIXED = "fixed"
    LATE = "late"
    DUE = "due"


@dataclass(frozen=True)
class Finding:
    """One lease as the guard sees it now. `why` is in words for people; `stops_at` is there while it is late."""

    dated: Dated
    stand: Stand
    why: str = ""
    stops_at: datetime | None = None


def is_late(one: Dated, terms: GuardTerms, now: datetime) -> bool:
    """Whether the ledger is to be asked about it: it runs, and its end has passed by long enough to be told of.

    What was started a moment ago, as when its owner asked for it back, gets the same time until its end is written.
    """
    return one.awake and one.ends is not None and now - terms.tell_after >= max(one.ends, one.since or one.ends)


def judge(one: Dated, said: Said, overdue: Overdue | None, terms: GuardTerms, now: datetime) -> Finding:
    """What is to be done about it.

    `overdue` is what is known of it from before; what the ledger has `said` counts only while it is late.
    """
    if one.condition is Condition.UNKNOWN:
        return Finding(one, Stand.UNKNOWN, "whether it runs could not be seen")
    if not one.awake:
        return Finding(one, Stand.RESTING)
    if one.ends is None:
        return _endless(one, terms, now)
    if not is_late(one, terms, now):
        return Finding(one, Stand.FINE)
    if objection := said.objection or one.fixed:
        return Finding(one, Stand.DISPUTED if said.objection else Stand.FIXED, objection)
    stops_at = noted(one.ends, overdue, now).stops_at(terms)
    late = f"its end has passed by {spell(now - one.ends)}"
    return Finding(one, Stand.DUE if now >= stops_at else Stand.LATE, late, stops_at)


def noted(ends: datetime, overdue: Overdue | None, now: datetime) -> Overdue:
    """What is known from before, if it is of the same end; another end is another occasion, told anew.

    So is what was seen at a time yet to come: that was of a clock that has been put right, and would hold for ever.
    """
    if overdue is None or overdue.ends != ends or overdue.seen_at > now:
        return Overdue(ends, now)
    return overdue


def held_back(due: int, findings: Iterable[Finding], stopped: Mapping[str, datetime], terms: GuardTerms) -> str:
    """Why none of those that are due is stopped (law 5); empty when they may be. `stopped` are those of `WITHIN`.

    A few never are too many: the one machine of a small fleet would run for ever.
    """
    awake = sum(1 for one in findings if one.dated.awake)
    part, whole = due + len(stopped), awake + len(stopped)
    most = max(floor(terms.share * whole), terms.least - 1)
    if not due or part <= most:
        return ""
    return (
        f"{part} of {whole} leases that run would be stopped within {spell(WITHIN)}, and {most} at most may be; "
        "none was stopped"
    )


def _endless(one: Dated, terms: GuardTerms, now: datetime) -> Finding:
    """The end is written once people can use it: what was made a moment ago has none yet."""
    if one.written:
        return Finding(one, Stand.UNKNOWN, f"its end cannot be read: '{one.written[:60]}'")
    if one.since is not None and now - one.since < terms.tell_after:
        return Finding(one, Stand.FINE, "it is being made, and has no end yet")
    return Finding(one, Stand.UNKNOWN, "no end stands on it")
