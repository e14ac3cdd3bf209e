"""What the templates may say of a lease that does nothing: what was measured, by which thresholds, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.blocks.text import quoted
from lessor.domain import braking, capping, rungs, unheld
from lessor.domain.costing import added_disks, compute_cost, idle_cost, storage_cost
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.idle_plan import BUILT_IN
from lessor.domain.lease import Lease
from lessor.domain.request import spell, to_the_minute
from lessor.domain.storage import monthly
from lessor.signals import percent, rate, ratio, signals, throughput, watts

REASON_MOST = 1_200
_SOMETIMES = ("power", "fraction", "spare", "working_hours_only")
"""Terms that are named only where they are something."""

_LADDER = frozenset({"window", "warn", "final", "stop", "held_stop", "working_hours_only", "spare", "stops"})
"""What a warning says of the policy; the limits of signals stand beside their figures."""


@dataclass(frozen=True)
class Level:
    """What one level of the configuration decides: pairs of a term's name and its value in words."""

    origin: str
    terms: tuple[tuple[str, str], ...]


def idle_facts(lease: Lease, now: datetime) -> dict[str, object]:
    """Values for any template about a lease, empty or `None` where nothing of the kind is so."""
    ladder = lease.idle
    evidence, terms = (ladder.evidence, ladder.terms) if ladder else (None, None)
    held = evidence is not None and evidence.verdict is Verdict.HELD
    snooze = lease.snooze if lease.snooze and lease.snooze.until > now else None
    spared = lease.spared if lease.spared and (lease.spared.until is None or lease.spared.until > now) else None
    return {
        "ladder": ladder,
        "evidence": evidence,
        "held": held,
        "idle_for": to_the_minute(max(now - evidence.since, timedelta())) if evidence else timedelta(),
        "idle_cost": idle_cost(lease, evidence.since, now) if evidence else None,
        "signals": signals(evidence, terms) if evidence and terms else (),
        "thresholds": levels(terms, held=held) if terms else (),
        "ladder_terms": levels(terms, held=held, only=_LADDER) if terms else (),
        "held_brake": braking.heard(ladder.held_back) if ladder else None,
        "stops_at": rungs.stops_at(lease, now) if ladder else None,
        "barred": rungs.barred(lease, now) if ladder else "",
        "held_most": unheld.held_most(evidence) if evidence else "",
        "partly": evidence is not None and 0 < evidence.idle_gpus < evidence.gpus,
        "dispute": lease.disputed,
        "snooze": snooze,
        "snooze_reason": quoted(snooze.reason, REASON_MOST) if snooze else "",
        "snoozes_left": max(terms.snoozes - lease.snoozes, 0) if terms else 0,
        "spared": spared,
        "spared_reason": quoted(spared.reason, REASON_MOST) if spared else "",
        "spending": capping.spending(lease, now),
        "pause": lease.pause,
        "pause_words": lease.pause.words if lease.pause else "",
        "compute_cost": compute_cost(lease, now),
        **_disks(lease, now),
    }


def _disks(lease: Lease, now: datetime) -> dict[str, object]:
    there = sum(one.gib for one in lease.storage if one.end is None)
    return {
        "disk_cost": storage_cost(lease, now) if lease.storage else None,
        "disk_gib": f"{float(there):.12g}" if there else "",
        "disk_monthly": monthly(lease.storage),
        "added": added_disks(lease, now),
    }


def in_force(terms: IdleTerms | None, lease: Lease) -> dict[str, object]:
    """The thresholds that hold for a lease now, whether it is idle or not (case E22); nothing where none are known."""
    held = lease.idle is not None and lease.idle.evidence.verdict is Verdict.HELD
    return {"thresholds": levels(terms, held=held)} if terms else {}


def levels(terms: IdleTerms, *, held: bool = False, only: Collection[str] = ()) -> tuple[Level, ...]:
    """The thresholds by the level that set them, the default ones first (cases E22 and E25).

    With `only` it is these, as far as they are something.
    """
    found: dict[str, list[tuple[str, str]]] = {BUILT_IN: []}
    for name, written in _SPELLED.items():
        if only and (name not in only or (name in _SOMETIMES and not getattr(terms, name))):
            continue
        value, origin = getattr(terms, name), terms.origins.get(name, BUILT_IN)
        absent = not held if name == "held_stop" else name in _SOMETIMES and not value
        if not (absent and origin == BUILT_IN):
            found.setdefault(origin, []).append((name, written(value)))
    return tuple(Level(origin, tuple(said)) for origin, said in found.items() if said)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _or_off(written: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "off" if value is None else written(value)


_SPELLED: Mapping[str, Callable[[Any], str]] = {
    "window": spell,
    "warn": spell,
    "final": spell,
    "stop": spell,
    "held_stop": spell,
    "working_hours_only": _yes,
    "spare": spell,
    "stops": _yes,
    "engine": ratio,
    "util": percent,
    "power": _or_off(watts),
    "cpu": _or_off(percent),
    "network": _or_off(throughput),
    "disk": _or_off(throughput),
    "requests": _or_off(rate),
    "memory": ratio,
    "fraction": ratio,
}
"""The terms that people are told of, in this order."""
