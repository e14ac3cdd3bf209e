"""One reading of all our machines at a site serves everybody who waits there: never one poll per lease (case C22)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.contracts import MANAGED_BY
from lessor.providers.aws import seen
from lessor.providers.aws.site import Site, by


@dataclass(frozen=True)
class Reading:
    """Machines by id as one read showed them. `number` counts the readings of the site."""

    number: int
    at: datetime
    machines: Mapping[str, dict[str, Any]]


@dataclass
class _Desk:
    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: int = 0
    tried_at: datetime | None = None
    last: Reading | None = None


class RollCall:
    """Reads a site at most once in `every`, whatever is asked; waiters share the answer."""

    def __init__(self, clock: Callable[[], datetime], sleep: Callable[[float], None], every: timedelta) -> None:
        self._clock, self._sleep, self._every = clock, sleep, every
        self._lock = threading.Lock()
        self._desks: dict[tuple[str, str], _Desk] = {}

    def mark(self, site: Site) -> int:
        """Readings with a higher number were begun after this call."""
        return self._desk(site).begun

    def after(self, site: Site, mark: int) -> Reading:
        """A reading begun after `mark` was taken. Waits for its turn; raises `ProviderError` if it cannot be read."""
        desk = self._desk(site)
        with desk.lock:
            if desk.last is not None and desk.last.number > mark:
                return desk.last
            if desk.tried_at is not None:
                pause = self._every - (self._clock() - desk.tried_at)
                if pause > timedelta():
                    self._sleep(pause.total_seconds())
            desk.begun += 1
            desk.tried_at = self._clock()
            found = site.read("describe_instances", "Reservations", Filters=by(tag__managed_by=MANAGED_BY))
            machines = {machine["InstanceId"]: machine for machine in seen.machines(found)}
            desk.last = Reading(desk.begun, desk.tried_at, machines)
            return desk.last

    def _desk(self, site: Site) -> _Desk:
        with self._lock:
            return self._desks.setdefault(site.key, _Desk())
