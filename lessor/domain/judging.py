"""Judges leases tick by tick: where a lease stands follows from where it stood and from what was seen, alone.

Feeding ticks one by one and replaying them from the record give the same, and a tick costs the same however long the
window is. Only what was seen whole counts as quiet; what worked counts even where the rest was not seen (law 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain import hostwork, tracking, unheld
from lessor.domain.attribution import AHEAD
from lessor.domain.idle import Evidence, IdleTerms, Standing, Track, Verdict
from lessor.domain.runs import STALE, Tick, covered, ticks_of
from lessor.domain.usage import Observation, Subject
from lessor.domain.weighing import Weighed

NAMED = 8
"""How many GPUs or signals a sentence names."""

QUIET = frozenset({Verdict.IDLE, Verdict.HELD})
"""Verdicts that lead to a warning."""


def advance(
    standing: Standing | None, observation: Observation, terms: IdleTerms, subject: Subject, every: timedelta
) -> Standing:
    """Where the lease stands after a tick. One that is not later than the last changes nothing, seen again or late.

    Ticks are `every` long; one that is left out counts as one without samples.
    """
    if standing is not None and observation.at <= standing.at:
        return standing
    trusted = _fresh(observation, every) or unheld.nothing_held(observation)
    tick = _tick(standing, observation, terms, subject, every)
    uses = observation.gpus if trusted else ()
    seen = observation if trusted else replace(observation, hosts=(), sources=())
    believed = trusted and not observation.problems
    held, followed = observation.held, standing.tracks if standing else ()
    tracks, whole = tracking.follow(followed, uses, tick, terms, subject, believed, held)
    hosts = hostwork.judged(standing, seen, tick, terms, believed)
    promise = unheld.follow(standing.promised if standing else (), observation, len(uses), subject.gpus, tick)
    absent = tracking.missing(tracks, subject) if held is None else max(held - len(tracks), 0)
    known = Weighed(tracks, hosts, absent, terms, tick.at, subject.ready_at, promise)
    problem = _problem(observation, known, trusted, whole)
    return _standing(observation.lease_id, standing, known, tick, problem)


def evidence(standing: Standing, terms: IdleTerms, every: timedelta) -> Evidence:
    """What the verdict rests on; figures of GPUs that look broken are left out, as they are not work."""
    tracks = [one for one in standing.tracks if not tracking.faulty(one, standing.at)]
    ticks = ticks_of(terms.window, every)
    runs = [one.marks for one in standing.tracks]
    runs += [standing.hosts_marks] if standing.sources or standing.promised else []
    free, free_since = unheld.evidence(standing, terms.window)
    return Evidence(
        verdict=standing.verdict,
        since=standing.since,
        at=standing.at,
        gpus=standing.gpus,
        idle_gpus=standing.idle_gpus,
        covered=min((covered(marks, ticks) for marks in runs), default=0.0),
        peak_engine=_most(one.peak_engine for one in tracks),
        peak_util=_most(one.peak_util for one in tracks),
        peak_memory=_most(one.peak_memory for one in tracks),
        peak_power=_most(one.peak_power for one in tracks),
        peak_cpu=standing.peak_cpu,
        peak_network=standing.peak_network,
        peak_disk=standing.peak_disk,
        peak_sessions=standing.peak_sessions,
        peak_requests=standing.peak_requests,
        active_at=standing.active_at,
        active_kind=standing.active_kind,
        faulty=standing.faulty,
        problem=standing.problem,
        missed=standing.missed,
        unheld=free,
        unheld_since=free_since,
        awaited=standing.awaited,
    )


def changed(before: Standing | None, after: Standing) -> bool:
    """Whether the lease must be told: it fell idle or is idle no more, more of its GPUs idle or none, or one broke.

    A lease that works and of which nothing is known for a while is not told: for it nothing follows from either.
    """
    if before is None:
        return after.verdict in QUIET or partly_idle(after) > 0 or bool(after.faulty)
    if set(after.faulty) - set(before.faulty):
        return True
    if after.verdict is not before.verdict:
        was = before.before if before.verdict is Verdict.UNKNOWN else before.verdict
        quiet = after.verdict in QUIET or before.verdict in QUIET or (was in QUIET and after.verdict is Verdict.BUSY)
        return quiet or partly_idle(after) > partly_idle(before)
    if after.verdict in QUIET:
        return after.since != before.since
    was_idle, are_idle = partly_idle(before), partly_idle(after)
    return are_idle > was_idle or (are_idle == 0 < was_idle and unheld.used_since(after.promised, before.at))


def partly_idle(standing: Standing) -> int:
    """How many GPUs of a lease do nothing, while others work, or are held by pods of which nothing else is known."""
    held = standing.verdict is Verdict.UNKNOWN and standing.unheld > 0 and not standing.awaited
    others = standing.verdict is Verdict.BUSY or held
    return standing.idle_gpus if others and standing.idle_gpus < standing.gpus else 0


def certain(standing: Standing) -> bool:
    """Whether a stop may rest on it: it does nothing, and the latest look was whole."""
    return standing.verdict in QUIET and not standing.missed


def working(standing: Standing) -> int:
    """How many of its GPUs worked in the latest tick."""
    worked = (tracking.worked_at(one, standing.at) for one in standing.tracks)
    return sum(1 for at in worked if at == standing.at)


def name_of(track: Track) -> str:
    """How a GPU is named to people: `3 of i-0abc`."""
    return f"{track.device} of {track.machine}" if track.machine else track.device


def _fresh(observation: Observation, every: timedelta) -> bool:
    """Whether its samples belong to this tick; the clocks of machines are never trusted (case E27)."""
    if observation.newest is None or not (observation.gpus or observation.hosts):
        return False
    return -AHEAD <= observation.at - observation.newest <= STALE * every


def _tick(
    standing: Standing | None, observation: Observation, terms: IdleTerms, subject: Subject, every: timedelta
) -> Tick:
    at = observation.at
    begin = at - every
    if subject.ready_at is not None:
        begin = min(max(begin, subject.ready_at), at)
    return Tick(
        at=at,
        begin=begin,
        every=every,
        ticks=ticks_of(terms.window, every),
        steps=round((at - standing.at) / every) if standing else 1,
        newest=min(observation.newest or at, at),
        restarted=observation.restarted,
    )


def _problem(observation: Observation, known: Weighed, trusted: bool, whole: bool) -> str:
    """Why the tick is not whole, in words; empty when it is."""
    if observation.problems:
        return "; ".join(observation.problems)
    if not trusted:
        missing = "no samples" if observation.newest is None else "no samples of this time"
        return _uncounted(missing, observation)
    if observation.restarted:
        return "an exporter restarted"
    if known.absent:
        return _uncounted(f"{known.absent} of {known.gpus} GPUs have no series", observation)
    if not whole:
        names = [name_of(one) for one in known.tracks if not one.marks & 1]
        return f"not seen, or with values that cannot be: GPU {', '.join(names[:NAMED])}"
    return known.hosts.problem


def _uncounted(missing: str, observation: Observation) -> str:
    why = observation.uncounted
    return f"{missing}, and what pods hold is unknown: {why}" if why else missing


def _standing(lease_id: str, before: Standing | None, known: Weighed, tick: Tick, problem: str) -> Standing:
    verdict, hosts = known.verdict, known.hosts
    active_at, kind = _activity(before, known)
    return Standing(
        lease_id=lease_id,
        at=tick.at,
        verdict=verdict,
        since=_since(before, verdict, known, tick),
        tracks=known.tracks,
        active_at=active_at,
        active_kind=kind,
        idle_gpus=known.idle_gpus,
        gpus=known.gpus,
        peak_cpu=hosts.peak_cpu,
        peak_network=hosts.peak_network,
        peak_disk=hosts.peak_disk,
        peak_sessions=hosts.peak_sessions,
        peak_requests=hosts.peak_requests,
        faulty=tuple(name_of(one) for one in known.tracks if tracking.faulty(one, tick.at)),
        missed=_missed(before, known, verdict) if problem else 0,
        problem=problem,
        hosts_since=hosts.run.since,
        hosts_last=hosts.run.last,
        hosts_marks=hosts.run.marks,
        hosts_active_at=hosts.active_at,
        sources=hosts.sources,
        before=_before(before) if before and verdict is Verdict.UNKNOWN else None,
        heard=hosts.heard,
        promised=known.promise.slots,
        awaited=known.promise.awaited,
        unheld=len(known.free_since),
    )


def _since(before: Standing | None, verdict: Verdict, known: Weighed, tick: Tick) -> datetime:
    if verdict in QUIET:
        return known.quiet_since
    if before is not None and before.verdict is verdict:
        return before.since
    if verdict is Verdict.UNKNOWN:
        return tick.at
    return tick.begin


def _activity(before: Standing | None, known: Weighed) -> tuple[datetime | None, str]:
    """The last activity that was ever seen, and its kind; what a broken GPU shows is none."""
    at, kind = (before.active_at, before.active_kind) if before else (None, "")
    worked = max((one.active_at for one in known.tracks if one.active_at is not None), default=None)
    if worked is not None and (at is None or worked > at):
        at, kind = worked, "gpu"
    let_go = max(known.promise.let_go, default=None)
    if let_go is not None and (at is None or let_go > at):
        at, kind = let_go, "pod"
    if known.hosts.kind and (at is None or known.at > at):
        at, kind = known.at, known.hosts.kind
    return at, kind


def _missed(before: Standing | None, known: Weighed, verdict: Verdict) -> int:
    """Ticks in a row without a whole observation; those before a new machine reports at all are not missed."""
    if verdict is Verdict.WARMING_UP and not any(one.marks for one in known.tracks) and not (before and before.tracks):
        return 0
    return before.missed + 1 if before else 1


def _before(before: Standing) -> Verdict | None:
    return before.before if before.verdict is Verdict.UNKNOWN else before.verdict


def _most(figures: Iterable[float | None]) -> float | None:
    return max((one for one in figures if one is not None), default=None)
