"""How far a source is believed: how whole a tick has to be, how far clocks may differ, and whose GPUs are whose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from lessor.domain.usage import GpuUse, Origin, Seen

WHOLE = 0.8
"""The share of a tick in which a series must have had fresh samples; below it, its exporter was away."""
SKEW = timedelta(seconds=60)
"""How far in the future a sample may be, and how far apart two clocks (case E27)."""
IN_USE = 0.01
"""The share of its memory above which a GPU is in use although it computes nothing."""


def owned(origin: Origin) -> bool:
    """Whether the labels say whose it is."""
    return bool(origin.lease or origin.machine or origin.namespace or origin.pod)


def unlabelled(seen: Iterable[Seen]) -> dict[str, int]:
    """By node, how many GPUs are in use without a label that says whose they are (case E03)."""
    return dict(Counter(one.origin.node for one in seen if one.gpu and not owned(one.origin) and _in_use(one.gpu)))


def _in_use(gpu: GpuUse) -> bool:
    held = (gpu.memory_used or 0.0) > IN_USE * (gpu.memory_total or math.inf)
    return bool(gpu.engine or gpu.util or gpu.processes or held)
