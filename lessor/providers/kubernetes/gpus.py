"""What GPUs the nodes of a cluster hand out, under which names: read from the nodes themselves and their labels.

Only what a node says it can allocate is counted. The label with the number of physical GPUs is not: with slices of
their own names it would count them twice (case D04).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lessor.catalog.cluster import load_names
from lessor.ports import PermanentError
from lessor.providers.kubernetes.amounts import count
from lessor.providers.kubernetes.api import NODE, Obj
from lessor.providers.kubernetes.models import known, named
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

NO_MODEL = ""
"""The model of GPUs whose node does not say what they are: they are counted, and never handed out by name."""


@dataclass(frozen=True)
class NodeGpus:
    """What one node has of one shape: `total` that it has, `allocatable` those that work.

    `out` says why none of them can be handed out now (cordoned, not ready, a taint); empty where they can. A node that
    is `closed` works, but keeps leases of this place out.
    """

    node: str
    shape: GpuShape
    total: int
    allocatable: int
    out: str = ""
    closed: bool = False


@dataclass(frozen=True)
class Nodes:
    """All GPUs of the place's nodes, node by node, and what an administrator should know of them.

    `names` are those of all its nodes, with GPUs or without.
    """

    gpus: tuple[NodeGpus, ...]
    notes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def shapes(self) -> tuple[GpuShape, ...]:
        """Each shape once, with the labels of all nodes that have it; those without a model are left out."""
        found: dict[tuple[str, str], GpuShape] = {}
        for one in self.gpus:
            key = (one.shape.model, one.shape.resource)
            if one.shape.model != NO_MODEL:
                found[key] = _joined(found[key], one.shape) if key in found else one.shape
        return tuple(found[key] for key in sorted(found))

    def of(self, shape: GpuShape) -> tuple[NodeGpus, ...]:
        return tuple(one for one in self.gpus if same(one.shape, shape))

    def total(self, shape: GpuShape) -> int:
        """How many there are where leases may come, working or not."""
        return sum(one.total for one in self.of(shape) if not one.closed)

    def largest(self, shape: GpuShape) -> int:
        """The most of them on one node, free or not."""
        return max((one.total for one in self.of(shape) if not one.closed), default=0)


def read(site: Site) -> Nodes:
    """The GPUs of all nodes that count as this place. Raises `ProviderError` when they cannot all be read."""
    selector = ",".join(f"{key}={value}" for key, value in sorted(site.config.node_selector.items()))
    gpus: list[NodeGpus] = []
    notes: list[str] = []
    nodes = site.api.list(NODE, labels=selector)
    for node in nodes:
        found, problems = _of_node(site, node)
        gpus += found
        notes += problems
    return Nodes(tuple(gpus), tuple(sorted(set(notes))), frozenset(node["metadata"]["name"] for node in nodes))


def shapes(site: Site) -> tuple[GpuShape, ...]:
    """Everything that the cluster hands out, by model and resource."""
    return read(site).shapes


def shape(site: Site, resource: str, model: str) -> GpuShape:
    """The shape of an offer. Raises `PermanentError` ("unknown-type") when no node has it any more."""
    found = shapes(site)
    for one in found:
        if (one.resource, one.model) == (resource, model):
            return one
    there = ", ".join(one.model for one in found) or "no GPUs at all"
    raise PermanentError(
        f"{site} has no node with {model} as {resource} any more; nothing was created. It has: {there}", "unknown-type"
    )


def same(one: GpuShape, other: GpuShape) -> bool:
    return (one.model, one.resource) == (other.model, other.resource)


def is_gpu(site: Site, resource: str) -> bool:
    """Whether pods that ask for the resource get GPUs."""
    return known(resource) or resource in site.config.resources


def _of_node(site: Site, node: Obj) -> tuple[list[NodeGpus], list[str]]:
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    status = node.get("status") or {}
    total, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    closed = _closed(site, node)
    out = _broken(node) or closed
    found: list[NodeGpus] = []
    notes: list[str] = []
    for resource in sorted({**total, **allocatable}):
        what = named(site, resource, labels)
        if what is None:
            notes += _strange(resource, name)
            continue
        has, can = count(total.get(resource, allocatable.get(resource))), count(allocatable.get(resource, 0))
        if has is None or can is None:
            notes.append(f"node {name} says of {resource} what is no number; it is not counted")
        elif has:
            if what.model == NO_MODEL:
                notes.append(f"node {name} does not say what model its {resource} are; nobody can ask for them by name")
            found.append(NodeGpus(name, what, has, min(can, has), out, bool(closed) and out == closed))
    notes += [f"node {name} {closed}: its GPUs are not offered"] if closed and found else []
    return found, notes


def _strange(resource: str, node: str) -> Iterator[str]:
    """What a maker of GPUs has named and nobody has told us of may be GPUs: it is said, not left out in silence."""
    if load_names().vendor(resource) is not None:
        yield f"{resource} (on {node}) is not in the catalogue; say under resources what model it is if it is a GPU"


def _broken(node: Obj) -> str:
    """Why nothing new can run on a node that is not as it should be; empty when it can."""
    if node["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if (node.get("spec") or {}).get("unschedulable"):
        return "is cordoned"
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one.get("status") for one in conditions if one.get("type") == "Ready"), "Unknown")
    return "" if ready == "True" else "is not ready" if ready == "False" else "has not told how it is"


def _closed(site: Site, node: Obj) -> str:
    """The taint that leases of this place do not tolerate; empty when there is none."""
    for taint in (node.get("spec") or {}).get("taints") or ():
        key, value = str(taint.get("key", "")), str(taint.get("value") or "")
        # The cluster's own taints say again what its conditions say.
        if taint.get("effect") not in ("NoSchedule", "NoExecute") or key.startswith("node.kubernetes.io/"):
            continue
        if site.config.tolerations.get(key) not in ("", value):
            return (
                f"has the taint {key}{f'={value}' if value else ''}, which is not among the tolerations of this place"
            )
    return ""


def _joined(one: GpuShape, other: GpuShape) -> GpuShape:
    """The same shape on other nodes. Where some nodes have no labels, labels cannot choose among them."""
    labels: Mapping[str, tuple[str, ...]] = {}
    if one.nodes.keys() == other.nodes.keys():
        labels = {key: _merged(one.nodes[key], other.nodes[key]) for key in one.nodes}
    known = [memory for memory in (one.memory_gib, other.memory_gib) if memory]
    return replace(one, memory_gib=min(known, default=0), nodes=labels)


def _merged(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))
