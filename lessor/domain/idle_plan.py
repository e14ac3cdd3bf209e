"""Which thresholds hold for a lease, and which level said so (case E22): the nearest level that says anything wins.

From the farthest: the product's defaults, the organisation's, those of a workload class, a team, a project, rules over
the facts of the request, and the lease itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from lessor.domain.idle import IdleTerms
from lessor.domain.lease import Lease
from lessor.domain.request import Workload

Changes = Mapping[str, Any]
"""Fields of `IdleTerms` by name, with what a level says of them."""

BUILT_IN = "built in"
ORGANISATION = "organisation"
LEASE = "lease"

INTERACTIVE: Changes = {"spare": timedelta(hours=8)}
FULL_USE: Changes = {"review_after": None}
WORKLOADS: Mapping[str, Changes] = {
    Workload.NOTEBOOK.value: INTERACTIVE,
    Workload.EXPERIMENT.value: INTERACTIVE,
    Workload.TRAINING.value: FULL_USE,
    Workload.FINE_TUNING.value: FULL_USE,
    Workload.BATCH_INFERENCE.value: FULL_USE,
}
"""What holds for a workload class unless somebody says otherwise."""

NAMES = frozenset(one.name for one in fields(IdleTerms)) - {"origins"}
MORE_CAREFUL = frozenset(
    {"window", "warn", "final", "stop", "held_stop", "warm_up", "spare", "notice", "fallback_notice", "snooze_most"}
    | {"snoozes", "working_hours_only", "review_after"}
)
"""Fields of which the larger value leaves a lease alone; of the other numbers it is the smaller one."""

DEFAULTS = IdleTerms()


@dataclass(frozen=True)
class IdleRule:
    """What holds where `when`, a condition in CEL over the facts of the request, is met."""

    name: str
    when: str
    changes: Changes


Holds = Callable[[IdleRule, Lease], bool | None]
"""Whether a rule's condition is met; `None` when a fact that it needs is unknown."""


def _never(rule: IdleRule, lease: Lease) -> bool | None:
    return False


@dataclass(frozen=True)
class IdlePlan:
    """What the organisation says of idle GPUs, level by level; keys are workload classes, teams and projects."""

    organisation: Changes = field(default_factory=dict)
    workloads: Mapping[str, Changes] = field(default_factory=dict)
    teams: Mapping[str, Changes] = field(default_factory=dict)
    projects: Mapping[str, Changes] = field(default_factory=dict)
    rules: tuple[IdleRule, ...] = ()
    holds: Holds = _never

    def terms(self, lease: Lease, now: datetime | None = None) -> IdleTerms:
        """The thresholds of a lease, with the level that set each. `now` ends what an administrator spared it until."""
        request = lease.request
        workload = request.workload.value
        said: dict[str, Any] = {}
        origins = dict.fromkeys(sorted(NAMES), BUILT_IN)
        for origin, changes in (
            (f"{BUILT_IN} for {workload}", WORKLOADS.get(workload, {})),
            (ORGANISATION, self.organisation),
            (f"workload {workload}", self.workloads.get(workload, {})),
            (f"team {request.team}", self.teams.get(request.team, {})),
            (f"project {request.project}", self.projects.get(request.project, {})),
        ):
            said |= changes
            origins |= dict.fromkeys(changes, origin)
        if self.rules:
            self._rule(lease, said, origins)
        spared = lease.spared
        if spared and not (now and spared.until and spared.until <= now):
            said["stops"], origins["stops"] = False, f"{LEASE} (spared by {spared.by})"
        return replace(IdleTerms(**said), origins=origins)

    def _rule(self, lease: Lease, said: dict[str, Any], origins: dict[str, str]) -> None:
        """Lay the rules over the rest. Where several speak, or one cannot be judged, what stops later holds."""
        ruled: dict[str, Any] = {}
        judged = [(self.holds(rule, lease), rule) for rule in sorted(self.rules, key=lambda one: one.name)]
        for rule in (rule for holds, rule in judged if holds):
            _lay(rule, ruled, origins, f"rule {rule.name}", None)
        for rule in (rule for holds, rule in judged if holds is None):
            _lay(rule, ruled, origins, f"rule {rule.name} (cannot be judged, so what stops later holds)", said)
        said |= ruled


def _lay(rule: IdleRule, ruled: dict[str, Any], origins: dict[str, str], origin: str, usual: Changes | None) -> None:
    for name, value in rule.changes.items():
        if name in ruled or usual is not None:
            other = ruled[name] if name in ruled else (usual or {}).get(name, getattr(DEFAULTS, name))
            if not careful(name, value, other):
                continue
        ruled[name], origins[name] = value, origin


def careful(name: str, value: Any, other: Any) -> bool:
    """Whether `value` leaves a lease alone rather than `other` does. `None` is beyond every threshold."""
    if value == other:
        return False
    if name == "stops":
        return value is False
    if value is None or other is None:
        return (value is None) == (name == "review_after")
    return bool(value > other) if name in MORE_CAREFUL else bool(value < other)
