"""What Kueue keeps for workloads, beside what their pods hold: reserved and used are two numbers (case D18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.domain.holding import PodUse
from lessor.domain.request import spell
from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.amounts import count, moment
from lessor.providers.kubernetes.api import QUEUED_WORKLOAD, RESOURCE_FLAVOR, Obj
from lessor.providers.kubernetes.ours import created_at, path
from lessor.providers.kubernetes.pods import asks
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.versions import QUEUES, served

EMPTY_AFTER = timedelta(minutes=10)
"""So long may a workload keep GPUs without any pod, as while it starts, before it is told of."""

WORKLOAD = "kueue.x-k8s.io/workload"
GATE = "kueue.x-k8s.io/admission"


@dataclass(frozen=True)
class Queued:
    """One workload: what the queue keeps for it by resource and flavor, or, while it `waits`, what it wants.

    `used` are what its pods hold by resource, `pods` how many it has. `settled_at` is when its conditions last changed.
    """

    ref: str
    namespace: str
    queue: str = ""
    reserved: Mapping[tuple[str, str], int] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    pods: int = 0
    waits: bool = False
    settled_at: datetime | None = None
    conditions: tuple[str, ...] = ()

    def kept(self, resource: str) -> int:
        """Units of the resource that the queue keeps for it beyond what its pods hold."""
        units = sum(units for (name, _), units in self.reserved.items() if name == resource)
        return max(units - self.used.get(resource, 0), 0)

    def empty(self, now: datetime) -> bool:
        """Whether it has kept GPUs without a pod for too long."""
        return (
            bool(self.reserved)
            and not self.pods
            and self.settled_at is not None
            and now - self.settled_at >= EMPTY_AFTER
        )

    def told(self, now: datetime) -> str:
        """It with its name and conditions, for people."""
        kept = Counter[str]()
        for (resource, _), units in self.reserved.items():
            kept[resource] += units
        what = ", ".join(f"{units} {resource}" for resource, units in sorted(kept.items()))
        length = spell(now - self.settled_at) if self.settled_at else "an unknown time"
        return (
            f"workload {self.ref} keeps {what} in queue {self.queue} without a pod for {length} "
            f"({', '.join(self.conditions)}); nothing is charged for it, and it was left alone"
        )


@dataclass(frozen=True)
class Queue:
    """All workloads that keep or want GPUs, and the node labels of flavors."""

    workloads: tuple[Queued, ...] = ()
    flavors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def reserved(self, shape: GpuShape, shapes: Sequence[GpuShape], without: frozenset[str] = frozenset()) -> int:
        """Units that are kept beyond what pods hold; not those of workloads in the namespaces `without`."""
        return sum(self._kept(one, shape, shapes) for one in self.workloads if one.namespace not in without)

    def waiting(self, shape: GpuShape) -> int:
        """How many workloads wait for the resource."""
        return sum(1 for one in self.workloads if one.waits and one.wanted.get(shape.resource))

    def empty(self, now: datetime) -> tuple[str, ...]:
        """What is kept without pods for too long, in words."""
        return tuple(one.told(now) for one in self.workloads if one.empty(now))

    def _kept(self, one: Queued, shape: GpuShape, shapes: Sequence[GpuShape]) -> int:
        of_shape = sum(
            units
            for (resource, flavor), units in one.reserved.items()
            if resource == shape.resource and self._means(flavor, shape, shapes)
        )
        return max(of_shape - one.used.get(shape.resource, 0), 0) if of_shape else 0

    def _means(self, flavor: str, shape: GpuShape, shapes: Sequence[GpuShape]) -> bool:
        """Whether a flavor is of the shape: by its node labels, else where nothing else has the resource.

        Where neither tells, it may be any of them, and counts for each: what may be kept is not free.
        """
        labels = self.flavors.get(flavor, {})
        told = {key: values for key, values in shape.nodes.items() if key in labels}
        if told:
            return all(labels[key] in values for key, values in told.items())
        fitting = [other for other in shapes if other.resource == shape.resource]
        return not any(_named_by(labels, other) for other in fitting)


def read(site: Site, found: Iterable[Obj], uses: Iterable[PodUse]) -> Queue:
    """Everything in the queues. `found` are the live pods, `uses` those with GPUs. Raises `ProviderError` if unread."""
    kind = served(site.api, QUEUED_WORKLOAD, QUEUES)
    if kind is None:
        return Queue()
    units = {one.uid: one for one in uses}
    by_space: dict[str, list[tuple[Obj, PodUse]]] = {}
    for pod in found:
        if pod["metadata"]["uid"] in units:
            by_space.setdefault(pod["metadata"]["namespace"], []).append((pod, units[pod["metadata"]["uid"]]))
    workloads = [
        _queued(site, one, by_space.get(one["metadata"]["namespace"], ()))
        for one in site.api.list(kind)
        if not _true(one, "Finished")
    ]
    flavors = served(site.api, RESOURCE_FLAVOR, QUEUES)
    labels = {
        one["metadata"]["name"]: (one.get("spec") or {}).get("nodeLabels") or {}
        for one in (site.api.list(flavors) if flavors is not None else ())
    }
    return Queue(tuple(one for one in workloads if one.reserved or one.wanted), labels)


def gated(pod: Obj) -> bool:
    """Whether the queue itself keeps the pod from being scheduled: its workload waits, and is counted."""
    return any(one.get("name") == GATE for one in (pod.get("spec") or {}).get("schedulingGates") or ())


def waits(workload: Obj) -> bool:
    """Whether a workload stands in a queue: nothing is kept for it, and it is neither finished nor held."""
    active = (workload.get("spec") or {}).get("active", True) is not False
    return active and not _keeps(workload) and not _true(workload, "Finished")


def _keeps(workload: Obj) -> bool:
    admission = (workload.get("status") or {}).get("admission")
    return _true(workload, "QuotaReserved") or (bool(admission) and not _conditions(workload))


def _queued(site: Site, workload: Obj, beside: Iterable[tuple[Obj, PodUse]]) -> Queued:
    status = workload.get("status") or {}
    admission = status.get("admission") or {}
    mine = [use for pod, use in beside if _of(workload, pod)]
    used: Counter[str] = Counter()
    for one in mine:
        used.update({resource: one.held(resource) for resource in one.units})
    waiting = waits(workload)
    return Queued(
        ref=path(workload),
        namespace=workload["metadata"]["namespace"],
        queue=admission.get("clusterQueue", ""),
        reserved=_reserved(site, status) if _keeps(workload) else {},
        wanted=_wanted(site, workload) if waiting else {},
        used=used,
        pods=len(mine),
        waits=waiting,
        settled_at=_settled_at(workload),
        conditions=tuple(_words(one) for one in _conditions(workload) if one.get("status") == "True"),
    )


def _reserved(site: Site, status: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """By resource and flavor; pods that have ended have given theirs back, though the workload goes on."""
    given_back = {one.get("name"): count(one.get("count")) or 0 for one in status.get("reclaimablePods") or ()}
    found: Counter[tuple[str, str]] = Counter()
    for part in (status.get("admission") or {}).get("podSetAssignments") or ():
        flavors, most = part.get("flavors") or {}, count(part.get("count", 1)) or 1
        left = max(most - given_back.get(part.get("name"), 0), 0)
        for resource, amount in (part.get("resourceUsage") or {}).items():
            if gpus.is_gpu(site, resource):
                found[resource, flavors.get(resource, "")] += (count(amount) or 0) * left // most
    return {key: units for key, units in found.items() if units}


def _wanted(site: Site, workload: Obj) -> dict[str, int]:
    found: Counter[str] = Counter()
    for part in (workload.get("spec") or {}).get("podSets") or ():
        spec = (part.get("template") or {}).get("spec") or {}
        one = asks(site, spec)
        found.update({resource: units * (count(part.get("count", 1)) or 0) for resource, units in one.items()})
    return {resource: units for resource, units in found.items() if units}


def _of(workload: Obj, pod: Obj) -> bool:
    """Whether a pod of its namespace may be the workload's. In doubt it is: that it has none must be certain."""
    mine, meta = workload["metadata"], pod["metadata"]
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    if WORKLOAD in notes or WORKLOAD in labels:
        return mine["name"] in (notes.get(WORKLOAD), labels.get(WORKLOAD))
    owners = mine.get("ownerReferences") or ()
    uids = {one.get("uid") for one in owners} | {mine.get("uid")}
    if meta.get("uid") in uids or any(one.get("uid") in uids for one in meta.get("ownerReferences") or ()):
        return True
    names = [one.get("name", "") for one in owners] or [mine["name"]]
    return any(name in labels.values() or str(meta["name"]).startswith(f"{name}-") for name in names if name)


def _conditions(workload: Obj) -> Sequence[Mapping[str, Any]]:
    return (workload.get("status") or {}).get("conditions") or ()


def _settled_at(workload: Obj) -> datetime | None:
    changes = [moment(one.get("lastTransitionTime")) for one in _conditions(workload)]
    return max((at for at in changes if at is not None), default=created_at(workload))


def _true(workload: Obj, kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in _conditions(workload))


def _words(condition: Mapping[str, Any]) -> str:
    kind, reason = str(condition.get("type", "")), str(condition.get("reason") or "")
    return f"{kind}: {reason}" if reason and reason != kind else kind


def _named_by(labels: Mapping[str, str], shape: GpuShape) -> bool:
    return any(labels.get(key) in values for key, values in shape.nodes.items())
