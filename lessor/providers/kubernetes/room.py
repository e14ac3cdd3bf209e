"""How many GPUs of a shape are free: what works, less what pods hold, less what leases are promised and may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lessor.domain.holding import PodUse
from lessor.providers.kubernetes.gpus import NodeGpus, Nodes
from lessor.providers.kubernetes.promises import Tenant
from lessor.providers.kubernetes.shapes import GpuShape


@dataclass(frozen=True)
class Room:
    """The numbers of one shape, as in `Pool`; `largest` is the most that one node has free."""

    total: int
    unhealthy: int
    held: int
    promised: int
    free: int
    largest: int


def room(nodes: Nodes, seen: Iterable[PodUse], leases: Sequence[Tenant], shape: GpuShape, mine: str = "") -> Room:
    """What is free of `shape` for a new lease. Pods of the lease `mine` are part of what it needs, and do not count."""
    here = nodes.of(shape)
    held: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    working = {one.node for one in here if not one.out}
    names = {one.node for one in here}
    for pod in seen:
        units = pod.held(shape.resource) if pod.node in names and pod.namespace != (mine or None) else 0
        held[pod.node] += units
        taken[pod.namespace] += units if pod.node in working else 0
    promised = sum(max(one.promise(shape) - taken[one.lease], 0) for one in leases)
    each = [max(one.allocatable - held[one.node], 0) for one in here if not one.out]
    free = max(sum(each) - promised, 0)
    return Room(
        total=sum(one.total for one in here),
        unhealthy=sum(min(_broken(one), max(one.total - held[one.node], 0)) for one in here),
        held=sum(held.values()),
        promised=promised,
        free=free,
        largest=min(max(each, default=0), free),
    )


def _broken(one: NodeGpus) -> int:
    """All of a node that is out of service for leases, else those that the node itself does not hand out."""
    return one.total if one.out else one.total - one.allocatable
