"""Looking whether machines are fit for use: regularly for all, and right before one is given to somebody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from time import monotonic

from lessor.domain.machines import Fitness, Health, Machine
from lessor.ports import Heartbeat
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.hooks import Hooks
from lessor.providers.machines.pool import Pool

AT_ONCE = 8
Looked = tuple[Fitness, str]
ENOUGH_SECONDS = 120.0
"""How long one round of checks may begin new ones; what is left is looked at in the next."""


class HealthLooks:
    """Checks machines by the organisation's executable, and keeps what it finds where all workers see it."""

    def __init__(self, diary: Diary, hooks: Hooks, clock: Callable[[], datetime]) -> None:
        self._diary, self._hooks, self._clock = diary, hooks, clock

    def now(self, pool: Pool, machine: Machine, heartbeat: Heartbeat) -> Health:
        """How one machine is, looked at now and put on record."""
        if not pool.commands.health:
            at = self._clock()
            return Health(machine.name, Fitness.FIT, at, at)
        looked = self._hooks.health(pool, machine, heartbeat)
        found = self._found(machine, looked, self._diary.health(pool))
        self._diary.checked(pool, [found])
        return found

    def round(self, pool: Pool, machines: Sequence[Machine], heartbeat: Heartbeat) -> Mapping[str, Health]:
        """How all are, those looked at anew whose turn it is: who was looked at longest ago comes first."""
        if not pool.commands.health:
            return {}
        known = dict(self._diary.health(pool))
        due = [one for one in machines if self._is_due(pool, known.get(one.name))]
        due.sort(key=lambda one: (one.name in known, known[one.name].at if one.name in known else self._clock()))
        give_up = monotonic() + ENOUGH_SECONDS

        def check(machine: Machine) -> Looked | None:
            return self._hooks.health(pool, machine, heartbeat) if monotonic() < give_up else None

        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="health") as threads:
            looks = zip(due, threads.map(check, due), strict=True)
            found = [self._found(machine, looked, known) for machine, looked in looks if looked is not None]
        self._diary.checked(pool, found)
        return known | {one.machine: one for one in found}

    def _is_due(self, pool: Pool, last: Health | None) -> bool:
        return last is None or self._clock() - last.at >= pool.health_every - timedelta(seconds=1)

    def _found(self, machine: Machine, looked: Looked, known: Mapping[str, Health]) -> Health:
        fitness, words = looked
        at = self._clock()
        return Health(machine.name, fitness, at, at, words).after(known.get(machine.name))
