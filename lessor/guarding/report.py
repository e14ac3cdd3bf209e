"""What one look of the guard found and did, for programs, for people and for the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lessor.domain.guarding import Finding, Stand, Stray
from lessor.domain.lease import minute
from lessor.domain.request import Place, spell

NOT_WELL = frozenset({Stand.UNKNOWN, Stand.DISPUTED, Stand.FIXED})


@dataclass(frozen=True)
class PlaceLook:
    """How a place was read: whole, unless there are problems."""

    place: Place
    leases: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Acted:
    """A lease whose turn it was: whether it was seen stopped, and what happened in words.

    It was `spared` when a second look found that it was not its turn any more. It is `begun` while the place has not
    said yet what came of the stop.
    """

    finding: Finding
    stopped: bool
    words: str
    spared: bool = False
    begun: bool = False


@dataclass(frozen=True)
class Report:
    """One look.

    `ledger` says why the ledger said nothing, `untold` what reached nobody, `memory` what was forgotten.
    """

    at: datetime
    dry: bool
    places: tuple[PlaceLook, ...] = ()
    findings: tuple[Finding, ...] = ()
    acted: tuple[Acted, ...] = ()
    strays: tuple[Stray, ...] = ()
    brake: str = ""
    ledger: str = ""
    told: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    memory: str = ""

    @property
    def trouble(self) -> bool:
        """Whether people have to look: something is unread, unknown, in dispute, held back, untold or not stopped."""
        unread = any(one.problems for one in self.places)
        unwell = any(one.stand in NOT_WELL for one in self.findings)
        failed = any(not (one.stopped or one.spared) for one in self.acted)
        return bool(unread or unwell or failed or self.brake or self.untold or self.memory)


def lines(report: Report) -> Iterator[str]:
    """For people: what is as it should be in one line for each place, everything else by itself."""
    for look in report.places:
        count = f"{look.leases} lease{'' if look.leases == 1 else 's'}"
        yield f"{look.place}: {count}{_counts(report, look.place)}"
        yield from (f"{look.place}: not read whole: {problem}" for problem in look.problems)
    for one in report.findings:
        if one.stand not in (Stand.FINE, Stand.RESTING):
            yield f"{one.dated.lease} ({one.dated.what}): {_words(one, dry=report.dry)}"
    for done in report.acted:
        yield f"{done.finding.dated.lease}: {_outcome(done)}; {done.words}"
    yield from (f"without a lease: {spelt(one, report.at)}" for one in report.strays)
    yield from (f"the brake holds: {report.brake}" for _ in [1] if report.brake)
    yield from (f"the ledger says nothing: {report.ledger}" for _ in [1] if report.ledger)
    yield from (f"told: {one}" for one in report.told)
    yield from (f"NOT told: {one}" for one in report.untold)
    yield from (report.memory for _ in [1] if report.memory)
    if report.dry:
        yield "Nothing was told or stopped, as you wished."


def facts(report: Report) -> dict[str, Any]:
    """For programs. Instants are ISO 8601 in UTC, `null` is unknown."""
    return {
        "at": report.at.isoformat(),
        "dry_run": report.dry,
        "trouble": report.trouble,
        "places": [
            {"place": str(one.place), "leases": one.leases, "problems": list(one.problems)} for one in report.places
        ],
        "leases": [_finding(one) for one in report.findings],
        "acted": [
            {"lease": one.finding.dated.lease, "stopped": one.stopped, "words": one.words} for one in report.acted
        ],
        "unleased": [
            {
                "place": str(one.place),
                "ref": one.ref,
                "what": one.what,
                "since": _iso(one.since),
                "who": one.who or None,
                "hourly": str(one.hourly) if one.hourly else None,
            }
            for one in report.strays
        ],
        "brake": report.brake or None,
        "ledger": report.ledger or None,
        "told": list(report.told),
        "untold": list(report.untold),
        "memory": report.memory or None,
    }


def spelt(stray: Stray, now: datetime) -> str:
    """Something without a lease on one line: what, since when, who may know of it, what an hour costs."""
    since = f"since {minute(stray.since)} ({spell(now - stray.since)})" if stray.since else "nobody knows since when"
    who = stray.who or "nobody knows whose"
    cost = f"{stray.hourly} an hour" if stray.hourly else "at an unknown price"
    return f"{stray.ref}: {stray.what}, {since}, {who}, {cost}"


def _counts(report: Report, place: Place) -> str:
    here = (one for one in report.findings if one.dated.place.name == place.name)
    counted = Counter(one.stand.value for one in here)
    return f" ({', '.join(f'{count} {stand}' for stand, count in sorted(counted.items()))})" if counted else ""


def _words(one: Finding, *, dry: bool) -> str:
    if one.stand is Stand.LATE and one.stops_at:
        return f"{one.why}; it is stopped at {minute(one.stops_at)}"
    if one.stand is Stand.DUE:
        return f"{one.why}; it would be stopped now" if dry else f"{one.why}; its turn has come"
    return one.why


def _outcome(done: Acted) -> str:
    if done.spared:
        return "left alone"
    return "stopped" if done.stopped else "NOT stopped"


def _finding(one: Finding) -> dict[str, Any]:
    dated = one.dated
    return {
        "lease": dated.lease,
        "place": str(dated.place),
        "what": dated.what,
        "refs": list(dated.refs),
        "condition": dated.condition.value,
        "ends": _iso(dated.ends),
        "stand": one.stand.value,
        "why": one.why or None,
        "stops_at": _iso(one.stops_at),
        "owner": dated.owner or None,
        "team": dated.team or None,
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
