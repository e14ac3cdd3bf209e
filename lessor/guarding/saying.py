"""Which tidings a look brings forth, each with the occasion by which it is told once: one end, one stop, or one day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from lessor.domain.guarding import Finding, Stand, Stray
from lessor.domain.lease import minute
from lessor.domain.request import Place
from lessor.guarding.report import Acted, spelt
from lessor.guarding.tidings import Kind, Tiding

GUARD = "guard"
"""The subject of what is about no one lease or place."""


def late(finding: Finding, seen_at: datetime, at: datetime) -> Tiding:
    """The warning, once for each time that a lease turns out to be late."""
    ends = finding.dated.ends or at
    return _of(Kind.LATE, finding, f"late-{_stamp(ends)}-{_stamp(seen_at)}", at, stops_at=finding.stops_at)


def stopped(done: Acted, at: datetime) -> Tiding:
    """What was seen stopped, once."""
    return _of(Kind.STOPPED, done.finding, f"stopped-{_stamp(at)}", at, why=done.words)


def not_stopped(done: Acted, at: datetime) -> Tiding:
    """What the place refused, once a day."""
    return _of(Kind.STOP_FAILED, done.finding, f"stop-failed-{day(at)}", at, why=done.words)


def unwell(findings: Iterable[Finding], at: datetime) -> list[Tiding]:
    """What is past its end and may not or cannot be stopped, and what has no end, once a day."""
    found = list(findings)
    kinds = {Stand.DISPUTED: Kind.DISPUTED, Stand.FIXED: Kind.FIXED}
    told = [_of(kinds[one.stand], one, f"{kinds[one.stand]}-{day(at)}", at) for one in found if one.stand in kinds]
    endless = [one for one in found if one.stand is Stand.UNKNOWN and one.dated.awake]
    for place in dict.fromkeys(one.dated.place.name for one in endless):
        here = [one for one in endless if one.dated.place.name == place]
        words = tuple(f"{one.dated.lease} ({one.dated.what}): {one.why}" for one in here)
        told.append(Tiding(Kind.UNKNOWN, place, f"unknown-{day(at)}", at, place, lines=words))
    return told


def braked(due: Sequence[Finding], why: str, at: datetime) -> Tiding:
    """That the brake holds, once a day."""
    words = tuple(f"{one.dated.lease} ({one.dated.what}), ended {minute(one.dated.ends or at)}" for one in due)
    return Tiding(Kind.BRAKE, GUARD, f"brake-{day(at)}", at, why=why, lines=words)


def unread(place: Place, problems: Sequence[str], at: datetime) -> Tiding:
    """A place that stays unread, once a day."""
    return Tiding(Kind.UNREAD, place.name, f"unread-{day(at)}", at, place.name, lines=tuple(problems))


def unleased(place: Place, strays: Sequence[Stray], problems: Sequence[str], at: datetime) -> Tiding:
    """What holds GPUs without a lease, once a day for each place, with what of it could not be read."""
    why = f"Not all of it could be read: {'; '.join(problems)}" if problems else ""
    words = tuple(spelt(one, at) for one in strays)
    return Tiding(Kind.UNLEASED, place.name, f"unleased-{day(at)}", at, place.name, why=why, lines=words)


def forgotten(why: str, at: datetime) -> Tiding:
    """That the notebook was of no use, once a day."""
    return Tiding(Kind.FORGOTTEN, GUARD, f"forgotten-{day(at)}", at, why=why)


def day(at: datetime) -> str:
    """Days are those of UTC, as for all pages of administrators."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def _of(
    kind: Kind, finding: Finding, occasion: str, at: datetime, *, why: str = "", stops_at: datetime | None = None
) -> Tiding:
    one = finding.dated
    return Tiding(
        kind=kind,
        subject=one.lease,
        occasion=occasion,
        at=at,
        place=one.place.name,
        owner=one.owner,
        team=one.team,
        what=one.what,
        why=why or finding.why,
        ends=one.ends,
        stops_at=stops_at,
    )


def _stamp(at: datetime) -> int:
    return int(at.timestamp())
