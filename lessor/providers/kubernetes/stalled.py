"""What people started in a lease that does not run: pods without a node, and pods that hold GPUs and never began.

Its owner hears of it in the cluster's own words, instead of looking at a namespace that costs and does nothing (D05).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lessor.domain.holding import PodUse
from lessor.providers.kubernetes import pods
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
    now = site.clock()
    told = [words for one in pods.uses(site, found) if (words := _words(site, one, now))]
    more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return "; ".join(told[:SHOWN]) + more


def _words(site: Site, pod: PodUse, now: datetime) -> str:
    if not pod.waits:
        flag = pod.flag(now)
        return f"pod {pod.name}: {flag}" if flag else ""
    if pod.created_at is None or now - pod.created_at < site.config.pending_after:
        return ""
    why = (pod.unscheduled or "the scheduler has not looked at it yet")[:LONGEST_WORDS].rstrip(". ")
    return f"pod {pod.name} finds no node: {why}"
