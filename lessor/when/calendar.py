"""Writes out when a lease is to run and when its owner is awake, for as long as the lease may live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lessor.domain.worktime import Hours
from lessor.when.clock import zone_of
from lessor.when.hours import AHEAD, Week, written

MARGIN = timedelta(days=60)
"""More than a request waits for decisions and capacity."""


@dataclass(frozen=True)
class Schedule:
    """Hours in which machines run, in `zone` or, where that is empty, in the zone of whoever owns the lease."""

    week: Week
    zone: str = ""


@dataclass(frozen=True)
class Calendar:
    """The schedules of an organisation by name, now, and the hours of a day that are not the night."""

    schedules: Callable[[], Mapping[str, Schedule]] = field(default=dict)
    waking: Callable[[], Week | None] = field(default=lambda: None)

    def hours(self, name: str, zone: str, now: datetime, life: timedelta) -> Hours | None:
        """When a lease with this schedule runs, for a life of so long; `None` for round the clock.

        Raises `ValueError` for a name that there is not.
        """
        if not name:
            return None
        found = self.schedules().get(name)
        if found is None:
            names = ", ".join(self.schedules()) or "none is configured"
            raise ValueError(f"there is no schedule '{name[:40]}'; there are: {names}")
        return written(found.week, _known(found.zone or zone), now, max(AHEAD, life + MARGIN))

    def awake(self, zone: str, now: datetime, life: timedelta) -> Hours | None:
        """When somebody in `zone` is not asleep; `None` where nights do not count."""
        waking = self.waking()
        return written(waking, _known(zone), now, max(AHEAD, life + MARGIN)) if waking else None


def _known(zone: str) -> str:
    """A zone that nobody knows is read as UTC, as everywhere where times are shown."""
    found = zone_of(zone)
    return found.key if found else "UTC"
