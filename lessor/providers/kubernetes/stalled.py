"""What people started in a lease that does not run: pods without a node, and pods that hold GPUs and never began.

Its owner hears of it in the cluster's own words, instead of looking at a namespace that costs and does nothing (D05).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lessor.domain.holding import PodUse
from lessor.providers.kubernetes import pods, queued, turns
from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.ours import noted_at
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.volumes import STOPPED_AT

SHOWN = 3
LONGEST_WORDS = 300


def stalled(site: Site, space: Obj, found: Iterable[Obj]) -> str:
    """In words which of the namespace's pods do not run and why; empty when all do, or when it is stopped."""
    if noted_at(space, STOPPED_AT) is not None:
        return ""
    now, live = site.clock(), list(found)
    raw = {one["metadata"]["uid"]: one for one in live}
    told = [one for one in pods.uses(site, live) if _stalls(site, one, now)]
    more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return "; ".join(_words(site, one, raw[one.uid], now) for one in told[:SHOWN]) + more


def _stalls(site: Site, pod: PodUse, now: datetime) -> bool:
    if not pod.waits:
        return bool(pod.flag(now))
    return pod.created_at is not None and now - pod.created_at >= site.config.pending_after


def _words(site: Site, pod: PodUse, raw: Obj, now: datetime) -> str:
    if not pod.waits:
        return f"pod {pod.name}: {pod.flag(now)}"
    if queued.gated(raw):
        return turns.added(f"pod {pod.name} waits in its queue", lambda: turns.in_queue(site, pod.namespace))
    why = (pod.unscheduled or "the scheduler has not looked at it yet")[:LONGEST_WORDS].rstrip(". ")
    return turns.added(f"pod {pod.name} finds no node: {why}", lambda: turns.among_pods(site, raw))
