"""Disks that people add to what they have leased: on the lease's bill from when they are its, until they are seen gone.

What is on the bill is never rewritten. A disk that grew, or whose price is another one now, goes on as a new line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from lessor.domain import billing, storage
from lessor.domain.billing import Storage
from lessor.domain.lease import Change, Event, Lease, changed
from lessor.domain.resource import Condition, Disk, Kind, Resource, Sighting
from lessor.domain.storage import Kept

MOST = 1_000
"""How many lines for added disks one lease has at most; what comes after them has a line of unknown size and price."""

OTHERS = "volume:others"
"""The disk of the line for all that is beyond the most; no place has one of that name."""

NAMED = 20
"""How many disks are named on a lease and on record; the others are told as a number."""

Shown = TypeVar("Shown")


def judged(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    """What a look shows of added disks, on the bill. Nothing changes unless it is news; an incomplete look is none."""
    if not sighting.knows(Kind.VOLUME, Kind.CLAIM):
        return Change(lease, ())
    after = bill(lease, sighting.resources, now, sighting.unnamed)
    if after == lease.storage:
        return Change(lease, ())
    return changed(lease, Event("disks-seen", now, "lessor", _news(lease.storage, after)), storage=after)


def bill(lease: Lease, seen: Iterable[Resource], now: datetime, unnamed: int = 0) -> Kept:
    """What the lease is charged for all its disks, as a look shows them: those of its launch are not charged again.

    What came on record as somebody's own, as when the lease was stopped, is none of the launch, billed yet or not.
    """
    billed = {one.disk for one in lease.storage}
    ours = {one.ref for one in lease.resources if one.disk is None}
    launched = ours - billed if base(lease.storage) else set()
    return brought_up(lease.storage, (one for one in seen if one.ref not in launched), now, unnamed)


def brought_up(kept: Kept, seen: Iterable[Resource], now: datetime, unnamed: int = 0) -> Kept:
    """`kept` with the added disks as a look shows them: new ones since they are the lease's, those not seen ended now.

    Where more was seen than is named, what is not there is not known to be gone, and what there is costs more (law 1).
    """
    there = {one.ref: one for one in seen if one.kind is Kind.VOLUME and one.condition is not Condition.GONE}
    lines: list[Storage] = []
    for line in kept:
        lines += _gone_on(line, there, now, not unnamed) if line.disk and line.end is None else [line]
    billed = {line.disk: line for line in lines if line.disk}
    going = {ref for ref, line in billed.items() if line.end is None}
    if OTHERS in going:
        return tuple(lines)
    fresh = [(ref, one.disk) for ref, one in there.items() if one.disk is not None and ref not in going]
    for ref, disk in sorted(fresh, key=lambda pair: (pair[1].since, pair[0])):
        lines.append(_line(ref, disk, min(max(disk.since, _ended_at(billed.get(ref), disk.since)), now)))
    return _bounded(lines, [now] if unnamed else [])


def added(kept: Iterable[Storage]) -> Kept:
    """The lines of disks that people added."""
    return tuple(one for one in kept if one.disk)


def base(kept: Iterable[Storage]) -> Kept:
    """The lines of the disks of the launch."""
    return tuple(one for one in kept if not one.disk)


def spelt(line: Storage, now: datetime) -> str:
    """`gpu-7k3qxa2m/data, 100 GiB, 10.00 USD a month, 2.50 USD so far`."""
    cost = storage.cost((line,), now, "")
    priced = f"{storage.monthly((line,))} a month, {cost} so far" if cost and line.monthly else "at an unknown price"
    return f"{line.name or line.disk}, {spelt_size(line.gib)}, {priced}"


def listed(found: Sequence[Shown], word: Callable[[Shown], str]) -> str:
    """The first by a word for each, the others as a number."""
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return "; ".join(word(one) for one in found[:NAMED]) + more


def spelt_size(gib: int | Decimal) -> str:
    """`100 GiB`, `0.5 GiB`; a size that nobody knows is told as that."""
    return f"{round(float(gib), 3):.12g} GiB" if gib else "of unknown size"


def _gone_on(line: Storage, there: Mapping[str, Resource], now: datetime, whole: bool) -> list[Storage]:
    """A line that goes on, as it is or as another one from now on, or that has ended."""
    if line.disk not in there and not (line.disk == OTHERS and there):
        return [*billing.ended((line,), now)] if whole else [line]
    disk = there[line.disk].disk if line.disk in there else None
    if disk is None or now <= line.start:
        return [line]
    gib = line.gib if disk.gib is None else disk.gib
    price = line.monthly if disk.monthly is None and gib == line.gib else disk.monthly
    if (gib, price) == (line.gib, line.monthly):
        return [line]
    return [replace(line, end=now), replace(line, start=now, gib=gib, monthly=price)]


def _ended_at(line: Storage | None, otherwise: datetime) -> datetime:
    return line.end if line is not None and line.end is not None else otherwise


def _line(ref: str, disk: Disk, start: datetime) -> Storage:
    known = disk.gib is not None
    return Storage(start, None, disk.gib or 0, disk.monthly if known else None, ref, disk.name)


def _bounded(lines: list[Storage], unnamed: list[datetime]) -> Kept:
    """No more lines than a lease can carry: what is beyond them makes its cost unknown, which is said (law 1)."""
    others = [one for one in lines if one.disk == OTHERS]
    mine = [one for one in lines if one.disk != OTHERS]
    since = [*(one.start for one in mine[MOST:]), *unnamed]
    if since:
        start = max([min(since), *(one.end for one in others if one.end)])
        others.append(Storage(start, None, 0, None, OTHERS, f"what came after {MOST:,} lines for disks"))
    return (*mine[:MOST], *others)


def _news(before: Kept, after: Kept) -> dict[str, str]:
    """What has begun, ended and changed, for the record."""
    was = {one.disk: one for one in before if one.disk and one.end is None}
    now = {one.disk: one for one in after if one.disk and one.end is None}
    begun = [one for ref, one in now.items() if was.get(ref) != one]
    gone = [one for ref, one in was.items() if ref not in now]
    data = {"charged": listed(begun, _priced), "gone": listed(gone, lambda one: one.name or one.disk)}
    return {name: words for name, words in data.items() if words}


def _priced(line: Storage) -> str:
    price = line.monthly.exact if line.monthly else "an unknown price"
    return f"{line.name or line.disk}, {spelt_size(line.gib)} at {price} for a GiB and month"
