"""What a GPU is called where it is asked for: the resource of pods and quotas, and the labels of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class GpuShape:
    """One thing that a cluster hands out: whole GPUs of a model, slices of one, or shared ones.

    `resource` is its name in pods and, behind `requests.`, in quotas. `share` is what one is of a whole GPU.
    `nodes` are the label and the values by which its nodes are known; empty where nodes do not say.
    """

    model: str
    resource: str
    memory_gib: int = 0
    share: Fraction = Fraction(1)
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
