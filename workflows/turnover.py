"""When a worker searches for garbage: workflows wait for a search, and one that waits too long is taken for stuck.

Each workflow that leaves the cache leaves thousands of small objects that hold each other; a search is for them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Lock

from temporalio.bridge.proto.workflow_activation import WorkflowActivation

from lessor.garbage import Tidying, settle

SHARE = 4
"""As soon as a fourth of what the cache may hold has left it, garbage is searched for."""


class Turnover:
    """When a workflow last had something to do, and how many have left the cache. Any thread may tell it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._left = 0
        self._lock = Lock()

    def seen(self, act: WorkflowActivation) -> None:
        """A workflow has had this to do."""
        gone = any(job.HasField("remove_from_cache") for job in act.jobs)
        with self._lock:
            self._last = self._clock()
            self._left += gone

    @property
    def left(self) -> int:
        return self._left

    def silent_for(self, seconds: float) -> bool:
        return self._clock() - self._last > seconds


def begin_tidying(turnover: Turnover, cached: int) -> asyncio.Future[None]:
    """Call it once the workers run, with how many workflows they may cache. Searches on until it is cancelled."""
    settle()
    most = max(cached // SHARE, 1)
    return asyncio.ensure_future(Tidying(turnover.silent_for, lambda: turnover.left, most).keep())
