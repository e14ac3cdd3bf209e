"""Pods that hold GPUs of another model than their lease is for, where several models share one resource name.

A quota knows the name only, and so does the scheduler: nothing that clusters have as they come keeps such a pod off the
other nodes. So it is found, its owner is told how to put it right, and administrators see it in the census.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from lessor.domain.holding import PodUse
from lessor.ports import ProviderError
from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.gpus import NO_MODEL, Nodes
from lessor.providers.kubernetes.once import asked_once
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

SHOWN = 3

On = Mapping[tuple[str, str], GpuShape]
"""What each node hands out under each name."""


class Around:
    """What is around the leases of a cluster for one reading of it, read when it is first asked for.

    `nodes` are `None` when they could not be read.
    """

    def __init__(self, site: Site) -> None:
        self.site = asked_once(site)

    @cached_property
    def nodes(self) -> Nodes | None:
        try:
            return gpus.read(self.site)
        except ProviderError:
            return None


def elsewhere(pod: PodUse, resource: str, model: str, on: On) -> GpuShape | None:
    """What a pod holds under the lease's name for GPUs that is none of the lease's `model`; `None` when nothing."""
    shape = on.get((pod.node, resource)) if model and pod.held(resource) else None
    return shape if shape is not None and shape.model not in (model, NO_MODEL) else None


def misplaced(found: Iterable[PodUse], resource: str, model: str, around: Around) -> str | None:
    """In words which pods hold GPUs of another model; `None` where that cannot be seen."""
    holding = [one for one in found if one.held(resource)]
    if not holding or not model:
        return ""
    nodes = around.nodes
    if nodes is None:
        return None
    on = shapes_on(nodes)
    told = [
        f"pod {one.name} holds {one.held(resource)} x {wrong.model} of {one.node}"
        for one in holding
        if (wrong := elsewhere(one, resource, model, on)) is not None
    ]
    if not told:
        return ""
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return f"{'; '.join(told[:SHOWN])}{more}, and the lease is for {model}: {_remedy(nodes, resource, model)}"


def shapes_on(nodes: Nodes) -> On:
    return {(one.node, one.shape.resource): one.shape for one in nodes.gpus}


def _remedy(nodes: Nodes, resource: str, model: str) -> str:
    labels = next((one.nodes for one in nodes.shapes if (one.resource, one.model) == (resource, model)), {})
    chosen = ", ".join(f"{key}: {values[0]}" for key, values in sorted(labels.items()))
    return f"give it the nodeSelector {chosen}" if chosen else "start it on a node that has them"
