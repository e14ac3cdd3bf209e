"""What machines do besides their GPUs: preparing data on the processor, copying, people and notebooks are work too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from lessor.domain.idle import IdleTerms, Standing
from lessor.domain.runs import Run, Tick, gone_on, started
from lessor.domain.usage import HostUse, Observation


@dataclass(frozen=True, slots=True)
class Hosts:
    """What is known of a lease besides its GPUs: its run, the latest work and its kind, and peaks after it.

    `problem` says in words what was there before and is missing, or shows what cannot be. `heard` says that every
    source has answered once, so that it is known what each has to say of this lease.
    """

    run: Run
    active_at: datetime | None = None
    kind: str = ""
    peak_cpu: float | None = None
    peak_network: float | None = None
    peak_disk: float | None = None
    peak_sessions: int | None = None
    peak_requests: float | None = None
    sources: tuple[str, ...] = ()
    problem: str = ""
    heard: bool = False


def judged(before: Standing | None, seen: Observation, tick: Tick, terms: IdleTerms, trusted: bool) -> Hosts:
    """The state after a tick. Where there has never been any signal besides GPUs, nothing of it is missing."""
    lost = _lost(before.sources, seen) if before and before.sources != seen.sources else ()
    wrong = tuple(name for name in _NAMES if not _possible(name, seen.hosts))
    heard = not seen.silent or (before is not None and before.heard)
    problem = f"values that cannot be: {', '.join(wrong)}" if wrong else _missing(lost) or _unheard(seen, heard)
    whole = trusted and not problem
    if before is None or before.hosts_since is None or before.hosts_last is None:
        run = started(tick, whole)
    else:
        run = gone_on(Run(before.hosts_since, before.hosts_last, before.hosts_marks), tick, whole)
    if before and run.since != before.hosts_since:
        before = None
    most = {name: _most(name, seen.hosts) for name in _NAMES}
    kind = next((kind for kind, name, works in _KINDS if works(most[name], terms)), "")
    sources = (*seen.sources, *lost) if lost else seen.sources
    if kind:
        return Hosts(run, tick.at, kind, sources=sources, problem=problem, heard=heard)
    peaks = {f"peak_{name}": _peak(_kept(before, name), most[name]) for name in _PEAKS}
    active_at = before.hosts_active_at if before else None
    return Hosts(run, active_at, **peaks, sources=sources, problem=problem, heard=heard)


def quiet_since(hosts: Hosts) -> datetime:
    """Since when nothing besides the GPUs works."""
    return hosts.run.since if hosts.active_at is None else max(hosts.run.since, hosts.active_at)


def _lost(sources: Sequence[str], seen: Observation) -> tuple[str, ...]:
    """The signals that were there and are not, unless their source is no longer configured."""
    there = frozenset(seen.sources)
    gone = (one for one in sources if one not in there)
    return tuple(one for one in gone if not seen.asked or one.partition(" ")[0] in seen.asked)


def _missing(lost: tuple[str, ...]) -> str:
    """What is missing, in words; empty when nothing is."""
    where: dict[tuple[str, str], list[str]] = {}
    for source, machine, name in (one.split(" ", 2) for one in lost):
        where.setdefault((source, machine), []).append(name)
    parts = (f"{', '.join(names)} of {machine} by {source}" for (source, machine), names in where.items())
    return f"no longer reported: {'; '.join(parts)}" if where else ""


def _unheard(seen: Observation, heard: bool) -> str:
    """A source that was silent from the beginning might have said that the lease works (case E02)."""
    return "" if heard else f"{', '.join(seen.silent)} gave no answer yet"


def _possible(name: str, hosts: tuple[HostUse, ...]) -> bool:
    most = 100.0 if name == "cpu" else inf
    return all(figure is None or 0.0 <= figure <= most for figure in (getattr(host, name) for host in hosts))


def _most(name: str, hosts: tuple[HostUse, ...]) -> Any:
    """The most that any machine showed; `None` where none shows it, or what it shows is impossible."""
    if not _possible(name, hosts):
        return None
    return max((figure for figure in (getattr(host, name) for host in hosts) if figure is not None), default=None)


def _above(figure: float | None, threshold: float | None) -> bool:
    return figure is not None and threshold is not None and figure > threshold


def _kept(before: Standing | None, name: str) -> Any:
    return getattr(before, f"peak_{name}") if before else None


def _peak(before: Any, now: Any) -> Any:
    if before is None or now is None:
        return now if before is None else before
    return max(before, now)


_NAMES = ("kernels", "sessions", "requests", "cpu", "network", "disk")
_PEAKS = ("cpu", "network", "disk", "sessions", "requests")
_KINDS: tuple[tuple[str, str, Callable[[Any, IdleTerms], bool]], ...] = (
    ("kernel", "kernels", lambda most, terms: _above(most, 0)),
    ("session", "sessions", lambda most, terms: _above(most, 0)),
    ("requests", "requests", lambda most, terms: _above(most, terms.requests)),
    ("cpu", "cpu", lambda most, terms: _above(most, terms.cpu)),
    ("network", "network", lambda most, terms: _above(most, terms.network)),
    ("disk", "disk", lambda most, terms: _above(most, terms.disk)),
)
"""Kinds of work in the order in which they are named, when there are several."""
