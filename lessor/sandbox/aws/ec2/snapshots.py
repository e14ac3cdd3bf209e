"""Snapshots take their time, and some never succeed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.aws.clock import SimulatedClock


class Snapshots:
    """Snapshots on their way: `seconds` each, and the next `failures` of them end in `error`."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.seconds = 0.0
        self.failures = 0
        self._clock = clock
        self._under_way: list[tuple[datetime, Any, str]] = []

    def begin(self, snapshot: Any) -> None:
        """Take up a new snapshot: pending until it is due."""
        outcome = "error" if self.failures > 0 else "completed"
        self.failures = max(0, self.failures - 1)
        snapshot.status = "pending"
        self._under_way.append((self._clock.now() + timedelta(seconds=self.seconds), snapshot, outcome))

    def settle(self) -> None:
        """Finish what is due by now."""
        now = self._clock.now()
        for at, snapshot, outcome in self._under_way:
            if at <= now:
                snapshot.status = outcome
        self._under_way = [entry for entry in self._under_way if entry[0] > now]
