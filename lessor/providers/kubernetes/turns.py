"""Whose turn it is: where what a lease waits with stands among all that wait for the same.

Kueue lets the higher priority go first, then who has waited longer; it may let smaller ones pass. Where the queue of
one of them cannot be told, nobody's number can, and only how many wait is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lessor.ports import ProviderError
from lessor.providers.kubernetes import pods, queued
from lessor.providers.kubernetes.amounts import moment
from lessor.providers.kubernetes.api import LOCAL_QUEUE, QUEUED_WORKLOAD, Obj
from lessor.providers.kubernetes.ours import created_at
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.versions import QUEUES, served

LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """The place of one among `waiting`; `number` 1 is next, `None` where that cannot be told.

    `where` says in words what they wait for.
    """

    waiting: int
    number: int | None
    where: str

    def __str__(self) -> str:
        if self.number is not None:
            return f"number {self.number} of {self.waiting} {self.where}"
        return f"{self.waiting} {self.where}, in an order that nobody can tell"


def in_queue(site: Site, namespace: str) -> Turn | None:
    """The place of the workload of a namespace that is served first; `None` when none of them waits.

    Raises `ProviderError` when workloads or queues cannot all be read.
    """
    kind, local = served(site.api, QUEUED_WORKLOAD, QUEUES), served(site.api, LOCAL_QUEUE, QUEUES)
    if kind is None or local is None:
        return None
    waiting = [one for one in site.api.list(kind) if queued.waits(one)]
    mine = [one for one in waiting if one["metadata"]["namespace"] == namespace]
    if not mine:
        return None
    leads = {_address(one): str((one.get("spec") or {}).get("clusterQueue") or "") for one in site.api.list(local)}
    first = min(mine, key=_order)
    name = leads.get(_queue(first), "")
    known = [one for one in waiting if leads.get(_queue(one))]
    if not name or len(known) < len(waiting):
        return Turn(len(waiting), None, "wait in its queues")
    beside = [one for one in known if leads[_queue(one)] == name]
    return Turn(len(beside), 1 + sum(_order(one) < _order(first) for one in beside), f"that wait in queue {name}")


def among_pods(site: Site, pod: Obj) -> Turn | None:
    """The place of a pod without a node among those that want the same GPUs, by age; `None` when it is the only one.

    Raises `ProviderError` when the pods of all namespaces cannot be read.
    """
    live = pods.live(site)
    raw = {one["metadata"]["uid"]: one for one in live}
    own = pods.pod_use(site, pod)
    same = [one for one in pods.uses(site, live) if one.waits and one.units.keys() & own.units.keys()]
    beside = [raw[one.uid] for one in same if not queued.gated(raw[one.uid])]
    if len(beside) < 2 or own.uid not in raw:
        return None
    number = 1 + sum(_order(one) < _order(pod) for one in beside)
    return Turn(len(beside), number, f"pods that wait for {', '.join(sorted(own.units))}, by age")


def let_go_at(site: Site, namespace: str) -> datetime | None:
    """When the queue last let something of a namespace go; `None` where it has not. Raises `ProviderError`."""
    kind = served(site.api, QUEUED_WORKLOAD, QUEUES)
    found = site.api.list(kind, namespace) if kind is not None else ()
    return max((at for one in found for at in _admissions(one)), default=None)


def added(what: str, turn: Callable[[], Turn | None]) -> str:
    """What waits, with its place among the others; one that cannot be read is left out."""
    try:
        found = turn()
    except ProviderError:
        return what
    return f"{what}, {found}" if found is not None else what


def _admissions(workload: Obj) -> Sequence[datetime]:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    true = (one for one in conditions if one.get("type") == "Admitted" and one.get("status") == "True")
    return [at for one in true if (at := moment(one.get("lastTransitionTime"))) is not None]


def _address(queue: Obj) -> tuple[str, str]:
    return queue["metadata"]["namespace"], queue["metadata"]["name"]


def _queue(workload: Obj) -> tuple[str, str]:
    return workload["metadata"]["namespace"], str((workload.get("spec") or {}).get("queueName") or "")


def _order(obj: Obj) -> tuple[int, datetime, str]:
    """Sorts the first to be served first; of two of one second one has to be."""
    priority = (obj.get("spec") or {}).get("priority")
    return -(priority if isinstance(priority, int) else 0), created_at(obj) or LATEST, obj["metadata"]["uid"]
