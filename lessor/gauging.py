"""The use cases of the meter: what leases were seen doing, whether anybody watches, and what holds stops back.

Part of the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor import contracts
from lessor.contracts import MeterReport
from lessor.domain import heartbeat
from lessor.domain.errors import Refused
from lessor.domain.idle import IdleTerms, Standing
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.ladder import Brake
from lessor.domain.lease import Lease, State, minute
from lessor.domain.people import Person
from lessor.domain.usage import HourUse, Observation
from lessor.engine import Engine, UnreachableError
from lessor.ports import LeaseQuery, Ledger, StoredEvent

DISPUTED = "verdict-disputed"


@dataclass(frozen=True)
class MeterStatus:
    """Whether the meter beats: how often it is to, `None` where nothing is metered, and what the latest tick came to.

    `overdue` says in words that it is dead; empty while it is not.
    """

    every: timedelta | None
    report: MeterReport | None
    brake: Brake
    overdue: str = ""


class Gauging:
    """Reads the record, which is there when Temporal is not; only a tick that somebody starts needs that."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        known: Callable[[str], Awaitable[Person]],
        clock: Callable[[], datetime],
        every: Callable[[], timedelta | None],
        idle: Callable[[], IdlePlan] = IdlePlan,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._known = known
        self._clock = clock
        self._every = every
        self._idle = idle

    async def status(self) -> MeterStatus:
        """The latest tick on record, the brake, and whether the meter is dead."""
        return await asyncio.to_thread(self._status)

    async def once(self, person_id: str) -> MeterReport:
        """A tick now. Raises `Refused` ("not-admin", "no-schedule", "busy", "failed", "unreachable")."""
        self._admin(await self._known(person_id), "only administrators start a tick; it comes by itself as well")
        try:
            return await self._engine.look(contracts.METER_SCHEDULE, MeterReport)
        except UnreachableError as error:
            raise Refused("unreachable", f"{error}; try again in a minute") from error

    async def brake(self) -> Brake:
        """Whether stops for being idle are held back, since when, by whom and why."""
        return await asyncio.to_thread(self._ledger.brake)

    async def set_brake(self, person_id: str, reason: str, *, on: bool) -> Brake:
        """Put it on or take it off, on record with who and why. While it is on nothing is stopped for being idle.

        Raises `Refused` ("not-admin", "no-reason", "no-change").
        """
        person = await self._known(person_id)
        self._admin(person, "only administrators put the brake on or take it off")
        words = " ".join(reason.split())
        if not words:
            raise Refused("no-reason", "say why: it goes on record, and people read it where a stop is held back")
        brake = await self.brake()
        if brake.on is on:
            since = f" since {minute(brake.at)}, by {brake.by}: {brake.reason}" if brake.at else ""
            raise Refused("no-change", f"the brake is {'on' if on else 'off'} already{since}; nothing was changed")
        wanted = Brake(on, person.id, self._clock(), words[:500])
        await asyncio.to_thread(self._ledger.set_brake, wanted)
        return wanted

    def terms(self, lease: Lease) -> IdleTerms | None:
        """The thresholds in force for a lease, with the level that set each (case E22); `None` without a meter."""
        return self._idle().terms(lease, self._clock()) if self._every() else None

    async def standing(self, lease_id: str) -> Standing | None:
        """Where a lease stood after the latest tick in which it was judged; `None` when it never was."""
        return await asyncio.to_thread(self._ledger.standing, lease_id)

    async def usage(self, lease_id: str, since: datetime, until: datetime) -> tuple[HourUse, ...]:
        """A lease's sums by hour, those of the hours that are over."""
        return await asyncio.to_thread(self._ledger.usage, lease_id, since, until)

    async def seen(self, lease_id: str, since: datetime, until: datetime) -> tuple[Observation, ...]:
        """What a lease was seen doing tick by tick, for a chart; kept for `telemetry.keep`."""
        return await asyncio.to_thread(lambda: tuple(self._ledger.observations(since, until, lease_id)))

    async def disputes(self, since: datetime) -> tuple[StoredEvent, ...]:
        """Verdicts that people called wrong since then, newest first, with what they rested on."""
        return await asyncio.to_thread(self._ledger.happened, DISPUTED, since)

    def _status(self) -> MeterStatus:
        every, report = self._every(), self._ledger.last_report()
        last = report.at if report else None
        running = self._ledger.leases(LeaseQuery(states=(State.ACTIVE.value,), limit=100)) if every else ()
        overdue = heartbeat.overdue(last, running, every, self._clock()) if every else ""
        return MeterStatus(every, report, self._ledger.brake(), overdue)

    def _admin(self, person: Person, words: str) -> None:
        if not person.admin:
            raise Refused("not-admin", words)
