"""What the page can let go wrong with one click, and whether it does now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.faults import Fault
from lessor.sandbox.kubernetes.kinds import KUEUE

_FAULTS: Mapping[str, Callable[[], Fault]] = {
    "down": lambda: Fault("lose-request", times=None),
    "forbidden": lambda: Fault("error", code=403, times=None, message="forbidden: the sandbox took this right away"),
    "throttled": lambda: Fault("error", code=429, times=None, seconds=1),
    "slow": lambda: Fault("slow", times=None, seconds=15),
    "lost": lambda: Fault("lose-answer", verb="patch", times=1),
}


@dataclass(frozen=True)
class Trouble:
    """Something that is on or off; what only happens once is never on."""

    is_on: Callable[[SimulatedCluster], bool]
    switch: Callable[[SimulatedCluster, bool], None]


def troubles() -> dict[str, Trouble]:
    """By their names on the page."""
    found = {name: _by_fault(name, make) for name, make in _FAULTS.items()}
    found["full"] = _by_setting("scheduling", when=False)
    found["images"] = _by_setting("pulling", when=False)
    found["disks"] = _by_setting("disks_stuck", when=True)
    found["group"] = Trouble(lambda cluster: bool(cluster.settings.unavailable), _without_group)
    found["kueue"] = Trouble(lambda cluster: KUEUE in cluster.served.extensions, _with_kueue)
    found["tokens"] = Trouble(lambda _: False, lambda cluster, _: cluster.accounts.expire())
    found["pages"] = Trouble(lambda _: False, lambda cluster, _: cluster.store.forget())
    return found


def _by_fault(name: str, make: Callable[[], Fault]) -> Trouble:
    def is_on(cluster: SimulatedCluster) -> bool:
        return make() in cluster.faults

    def switch(cluster: SimulatedCluster, on: bool) -> None:
        cluster.faults.clear(lambda one: one == make())
        if on:
            cluster.faults.add(make())

    return Trouble(is_on, switch)


def _by_setting(name: str, *, when: bool) -> Trouble:
    def switch(cluster: SimulatedCluster, on: bool) -> None:
        changes: dict[str, Any] = {name: on is when}
        cluster.settings.change(**changes)

    return Trouble(lambda cluster: getattr(cluster.settings, name) is when, switch)


def _without_group(cluster: SimulatedCluster, on: bool) -> None:
    cluster.settings.change(unavailable=["resource.k8s.io"] if on else [])


def _with_kueue(cluster: SimulatedCluster, on: bool) -> None:
    (cluster.served.extensions.add if on else cluster.served.extensions.discard)(KUEUE)
