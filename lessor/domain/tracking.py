"""Follows each GPU and each slice by itself: means and totals hide the one that works, and the seven that do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from lessor.domain.idle import IdleTerms, Track
from lessor.domain.runs import Run, Tick, gone_on, started
from lessor.domain.usage import GpuUse, Subject

FAULTY_AFTER = timedelta(minutes=30)
"""So long may a GPU look busy or full without any process before it counts as broken (case E07)."""

FULL = 0.95
"""A GPU is at its maximum from this share on (case E28)."""

CAPPED = 2.0
"""Slices report shares above 1: up to here they mean 1, beyond they mean nothing (case E05)."""

WATTS = 10_000.0
"""No GPU draws more."""

HELD_MIB = 1_024.0
"""What counts as holding memory where the total is not reported."""


def follow(
    tracks: Iterable[Track],
    uses: Iterable[GpuUse],
    tick: Tick,
    terms: IdleTerms,
    subject: Subject,
    trusted: bool,
    held: int | None = None,
) -> tuple[tuple[Track, ...], bool]:
    """Every GPU of the lease after the tick, and whether each of them was seen whole.

    One that is not seen any more stays, as unknown, unless it can be told that it is gone: no more than are `held`, by
    the place's own word, can be there. Without `trusted` nothing counts as quiet.
    """
    before = {(one.machine, one.device): one for one in tracks}
    found, whole, new = [], True, set()
    for use in _without_parents(tuple(uses)):
        known = before.pop((use.machine, use.device), None)
        if known is None:
            new.add((use.machine, _card(use.device)))
        track, seen_whole = _seen(known, use, tick, terms, trusted)
        found.append(track)
        whole = whole and seen_whole
    left = [one for one in before.values() if not _gone(one, found, new, subject)]
    if held is not None:
        left = sorted(left, key=lambda one: one.last, reverse=True)[: max(held - len(found), 0)]
    kept = [_unseen(one, tick) for one in left]
    if not kept:
        return tuple(found), whole
    return tuple(sorted([*found, *kept], key=lambda one: (one.machine, one.device))), False


def missing(tracks: Iterable[Track], subject: Subject) -> int:
    """How many allocated GPUs have no series at all; all slices of one card are one of a machine's GPUs.

    Two sources may call a machine by two names: what one shows twice makes up for nothing that neither shows.
    """
    if not subject.machines:
        return max(subject.gpus - len(list(tracks)), 0)
    cards = {(one.machine, _card(one.device)) for one in tracks}
    by_id = sum(machine in subject.machines for machine, _ in cards)
    return max(subject.gpus - max(by_id, len(cards) - by_id), 0)


def faulty(track: Track, at: datetime) -> bool:
    return track.stuck_since is not None and at - track.stuck_since >= FAULTY_AFTER


def worked_at(track: Track, at: datetime) -> datetime | None:
    """The latest tick of its run in which it worked; what a broken GPU shows is no work."""
    if track.pending_at is None or faulty(track, at):
        return track.active_at
    return track.pending_at if track.active_at is None else max(track.active_at, track.pending_at)


def quiet_since(track: Track, at: datetime) -> datetime:
    """Since when it is known to do nothing."""
    worked = worked_at(track, at)
    return track.since if worked is None else max(track.since, worked)


def _without_parents(uses: tuple[GpuUse, ...]) -> tuple[GpuUse, ...]:
    """A card that is cut into slices is judged by them: its own utilisation is always 0 (case E04)."""
    cut = {(use.machine, _card(use.device)) for use in uses if use.slice}
    if not cut:
        return uses
    return tuple(use for use in uses if use.slice or (use.machine, _card(use.device)) not in cut)


def _card(device: str) -> str:
    return device.partition("/")[0]


def _gone(track: Track, seen: list[Track], new: set[tuple[str, str]], subject: Subject) -> bool:
    """Whether it is known to be no longer there: its card was cut anew, or its place is taken by others."""
    if (track.machine, _card(track.device)) in new:
        return True
    if not subject.machines:
        return 0 < subject.gpus <= len(seen)
    return bool(seen) and track.machine not in subject.machines and all(u.machine in subject.machines for u in seen)


def _unseen(track: Track, tick: Tick) -> Track:
    run = gone_on(Run(track.since, track.last, track.marks), tick, False)
    if not run.marks:
        return Track(track.device, track.machine, *run, full_since=track.full_since)
    return replace(track, since=run.since, marks=run.marks)


def _seen(track: Track | None, use: GpuUse, tick: Tick, terms: IdleTerms, trusted: bool) -> tuple[Track, bool]:
    looks = _look(use, terms)
    whole = looks.whole and trusted
    run = started(tick, whole) if track is None else gone_on(Run(track.since, track.last, track.marks), tick, whole)
    if track is None or run.since != track.since:
        track = Track(use.device, use.machine, *run, full_since=track.full_since if track else None)
    stuck = use.processes == 0 and (looks.works or looks.held is True)
    held = track.held if looks.held is None else looks.held and use.processes != 0
    active_at, pending_at = track.active_at, track.pending_at
    if pending_at is not None and not stuck:
        active_at = worked_at(track, tick.at - tick.steps * tick.every)
        pending_at = None
    if (looks.works and not stuck) or (track.held is not None and held != track.held):
        active_at = tick.at
    if looks.works and stuck:
        pending_at = tick.at
    quiet = not looks.works
    return Track(
        use.device,
        use.machine,
        *run,
        active_at,
        _peak(track.peak_engine, looks.engine) if quiet else None,
        _peak(track.peak_util, looks.util) if quiet else None,
        _peak(track.peak_power, looks.power) if quiet else None,
        track.memory if looks.memory is None else looks.memory,
        ((track.stuck_since or tick.begin) if stuck else None),
        ((track.full_since or tick.begin) if looks.full else None),
        held,
        pending_at,
        _peak(track.peak_memory, looks.memory) if quiet else None,
    ), whole


class _Looks(NamedTuple):
    """What one GPU looked like in one tick, with impossible values left out; `whole` says that it can be judged."""

    works: bool
    whole: bool
    full: bool
    held: bool | None
    engine: float | None
    util: float | None
    power: float | None
    memory: float | None


def _look(use: GpuUse, terms: IdleTerms) -> _Looks:
    engine, engine_ok = _within(use.engine, 1.0, CAPPED if use.slice else 1.0)
    sm, sm_ok = _within(use.sm, 1.0, CAPPED if use.slice else 1.0)
    util, util_ok = (None, True) if use.slice else _within(use.util, 100.0, 100.0)
    power, power_ok = _within(use.power, WATTS, WATTS)
    memory, held, memory_ok = _memory(use, terms)
    works = (engine or 0.0) > terms.engine or (sm or 0.0) > terms.engine or (util or 0.0) > terms.util
    if terms.power is not None and not use.slice and (power or 0.0) > terms.power:
        works = True
    told = engine is not None or util is not None or use.processes == 0
    whole = told and engine_ok and sm_ok and util_ok and power_ok and memory_ok
    full = engine >= FULL if engine is not None else util is not None and util >= FULL * 100
    return _Looks(works, whole, full, held, engine, util, power, memory)


def _within(value: float | None, most: float, capped: float) -> tuple[float | None, bool]:
    """The value if it is possible, and whether it was; `nan` never is (case E02)."""
    if value is None or 0.0 <= value <= most:
        return value, True
    return (most, True) if most < value <= capped else (None, False)


def _memory(use: GpuUse, terms: IdleTerms) -> tuple[float | None, bool | None, bool]:
    """The share of memory that is held, whether that is more than nothing, and whether the figures are possible."""
    used, total = use.memory_used, use.memory_total
    if used is None:
        return None, None, True
    if not total:
        return None, used > HELD_MIB, 0.0 <= used < inf
    share = used / total
    if not 0.0 <= share <= 1.0:
        return None, None, False
    return share, share > terms.memory, True


def _peak(before: float | None, now: float | None) -> float | None:
    if before is None or now is None:
        return now if before is None else before
    return max(before, now)
