"""What a pod holds, and from when to when: from the node that it got until it ended, whether it ran or not.

Finished pods hold nothing (case D16). One that never ran holds all that it asked for (case D17).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

STARTING = timedelta(minutes=10)
"""So long may a pod with a node take until it runs, or until it is gone after its deletion, before it is told of."""

NEVER_RAN = "held, never ran"
CRASHING = "held, keeps crashing"
STAYS = "held, still there after its deletion"


@dataclass(frozen=True)
class Box:
    """A container: what it asks for by resource. A sidecar is an init container that goes on running."""

    asks: Mapping[str, int] = field(default_factory=dict)
    sidecar: bool = False


@dataclass(frozen=True)
class PodUse:
    """One pod as far as GPUs go. `units` are by resource. `node` is empty until the scheduler has found one.

    `scheduled_at` is when it got the node, `ended_at` when it ended, `None` where that is not known. `ran` says that a
    container of it has started, `waiting` why one does not run now, in the cluster's words.
    """

    namespace: str
    name: str
    uid: str = ""
    node: str = ""
    units: Mapping[str, int] = field(default_factory=dict)
    created_at: datetime | None = None
    scheduled_at: datetime | None = None
    ended: bool = False
    ended_at: datetime | None = None
    delete_by: datetime | None = None
    ran: bool = False
    waiting: str = ""
    unscheduled: str = ""

    @property
    def ref(self) -> str:
        return f"pod {self.namespace}/{self.name}"

    @property
    def holds(self) -> bool:
        """Whether it has its GPUs now: it has a node and has not ended. Deletion alone frees nothing (case D21)."""
        return bool(self.node) and not self.ended

    @property
    def waits(self) -> bool:
        """Whether it wants GPUs and has no node yet."""
        return not self.node and not self.ended and self.delete_by is None

    @property
    def since(self) -> datetime | None:
        """When it began to hold them; `None` before, and where the cluster does not say."""
        return (self.scheduled_at or self.created_at) if self.node else None

    def held(self, resource: str) -> int:
        """Units of the resource that it holds now."""
        return self.units.get(resource, 0) if self.holds else 0

    def hours(self, resource: str, start: datetime, end: datetime) -> Fraction | None:
        """Hours of one unit that it held in [start, end): 3 hours with 2 are 6. `None` where its times are unknown."""
        amount = self.units.get(resource, 0)
        if not amount or not self.node:
            return Fraction(0)
        if self.since is None or (self.ended and self.ended_at is None):
            return None
        until = min(end, self.ended_at) if self.ended_at is not None else end
        length = max(until - max(start, self.since), timedelta())
        return amount * Fraction(length // timedelta(microseconds=1), 3_600_000_000)

    def flag(self, at: datetime) -> str:
        """What is wrong with how it holds them, in words; empty when nothing is."""
        if not self.holds:
            return ""
        because = f" ({self.waiting})" if self.waiting else ""
        if self.delete_by is not None and at - self.delete_by > STARTING:
            return STAYS
        if not self.ran and self.since is not None and at - self.since > STARTING:
            return f"{NEVER_RAN}{because}"
        return f"{CRASHING}{because}" if self.ran and self.waiting == "CrashLoopBackOff" else ""


def asked(
    containers: Iterable[Box], first: Sequence[Box] = (), overhead: Mapping[str, int] | None = None
) -> Counter[str]:
    """What a pod asks for in all, as the scheduler counts it.

    All containers and sidecars run at once; each other init container runs alone, beside the sidecars that were
    started before it. Whichever is more counts, and what the runtime takes for itself is added.
    """
    beside: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for box in first:
        if box.sidecar:
            beside.update(box.asks)
        alone |= beside if box.sidecar else beside + Counter(box.asks)
    together = Counter(beside)
    for box in containers:
        together.update(box.asks)
    return (together | alone) + Counter(overhead or {})
