"""GPUs that a lease is promised in a cluster and that no pod holds: nobody can use them, and no metric tells of them.

The place itself says what pods hold. Each look has to be whole: one that was not says nothing of the time before it
either, since a pod may have come and gone meanwhile (law 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lessor.domain.idle import Evidence, Slot, Standing
from lessor.domain.runs import STALE, Tick
from lessor.domain.usage import Held, Observation


@dataclass(frozen=True, slots=True)
class Promise:
    """The GPUs that a lease is promised, none where nobody counts; `awaited` are those that pods wait for.

    `let_go` is when each that is free now was used last, as far as any use was seen.
    """

    slots: tuple[Slot, ...] = ()
    let_go: tuple[datetime, ...] = ()
    awaited: int = 0


def counted(seen: Observation, held: Held | None) -> Observation:
    """The observation with what the place said of the lease's pods; `None` where it does not count them."""
    if held is None:
        return seen
    if held.problem:
        return replace(seen, uncounted=held.problem)
    return replace(seen, held=held.held, awaited=held.awaited)


def nothing_held(seen: Observation) -> bool:
    """Whether a look is whole without any sample: there is nothing that could have sent one, and all have answered."""
    return seen.held == 0 and not seen.gpus and not seen.hosts and not seen.silent


def follow(before: tuple[Slot, ...], seen: Observation, shown: int, gpus: int, tick: Tick) -> Promise:
    """The promised GPUs after a tick in which `shown` of `gpus` had series."""
    if seen.held is None:
        return Promise(tuple(replace(one, free_since=None) for one in before))
    used = max(seen.held + seen.awaited, shown)
    unlooked = tick.steps > 1 + STALE
    known = (*before, *(Slot() for _ in range(gpus - len(before))))
    slots = tuple(_slot(one, number < used, unlooked, tick.at) for number, one in enumerate(known[:gpus]))
    let_go = tuple(one.used_at for one in slots if one.used_at is not None and one.used_at < tick.at)
    return Promise(slots, let_go, seen.awaited)


def free_since(promised: Iterable[Slot], since: datetime) -> tuple[datetime, ...]:
    """Of those that have been held by nothing since then at the latest, since when each."""
    return tuple(at for one in promised if (at := one.free_since) is not None and at <= since)


def used_since(promised: Iterable[Slot], at: datetime) -> bool:
    """Whether each of them was used since then: that one is not known to be free any more does not say that it was."""
    return all(one.used_at is not None and one.used_at > at for one in promised)


def evidence(standing: Standing, window: timedelta) -> tuple[int, datetime | None]:
    """How many were held by no pod for a whole window, and since when that is so of all of them."""
    found = free_since(standing.promised, standing.at - window)
    return len(found), max(found, default=None)


def held_most(evidence: Evidence) -> str:
    """How many of the promised GPUs pods held at most: `0 of 4`; empty where all of them, or nobody knows."""
    return f"{evidence.gpus - evidence.unheld} of {evidence.gpus}" if evidence.unheld else ""


def words(evidence: Evidence, when: str) -> str:
    """The same as a sentence, with the time as its readers write it; empty where there is nothing to say."""
    most = held_most(evidence)
    if not most:
        return ""
    if evidence.awaited:
        return f"{most} promised GPUs held or waited for by any pod since {when}; pods wait for {evidence.awaited} now"
    return f"{most} promised GPUs held by any pod since {when}"


def recorded(evidence: Evidence) -> Mapping[str, object]:
    """The same for the record, by name: how many, since when, and the sentence."""
    if evidence.unheld_since is None:
        return {}
    since = evidence.unheld_since.isoformat()
    return {"unheld": evidence.unheld, "unheld_since": since, "pods": words(evidence, since)}


def _slot(slot: Slot, used: bool, unlooked: bool, at: datetime) -> Slot:
    if used:
        return Slot(at, at)
    return replace(slot, free_since=at) if unlooked or slot.free_since is None else slot
