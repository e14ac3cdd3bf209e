"""Reads places, compares them with the ledger, finds leases without a workflow. Payloads carry counts and few ids."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from temporalio import activity

from activities.batches import each, trouble
from activities.beating import beating, still_current
from activities.errors import as_application_errors
from lessor.contracts import Observed, PlaceReport, RunsReport, SweepPlace, SweepRuns
from lessor.domain import faults, heartbeat, sweep
from lessor.domain.lease import OPEN, Lease, State
from lessor.domain.request import Place
from lessor.domain.resource import Tagged
from lessor.ports import Ended, LeaseQuery, LeaseRuns, Ledger, ProviderError, Watch

PAGE = 200
NAMED = 200
"""How many ids or words of trouble a report carries at most; the counts are whole."""


class SweepActivities:
    """Holds the places' watches, the ledger and the workflows of leases."""

    def __init__(
        self,
        watches: Mapping[str, Watch],
        ledger: Ledger,
        runs: LeaseRuns,
        clock: Callable[[], datetime],
        metering: Callable[[], timedelta | None] = lambda: None,
    ) -> None:
        """`metering` is how often the meter ticks, `None` where nothing is metered."""
        self._metering = metering
        self._watches = watches
        self._ledger = ledger
        self._runs = runs
        self._clock = clock

    @activity.defn
    async def read_place(self, wanted: SweepPlace) -> PlaceReport:
        """One reading of a place, compared with the ledger; leases whose machines are not as they should be are told.

        What cannot be read whole is reported and changes nothing: the next sweep reads again.
        """
        place = wanted.place
        async with beating():
            # The ledger first: a lease that starts or ends while the place is read must not look lost.
            leases = await asyncio.to_thread(self._of_place, place)
            at = self._clock()
            try:
                found = await asyncio.to_thread(self._watches[place.provider].conditions, place)
            except ProviderError as error:
                return PlaceReport(place, False, leases=len(leases), missing=wanted.missing, problem=str(error)[:1_000])
            seen = sweep.compare(leases, found, dict(wanted.missing), at)
            news = (*seen.away, *seen.awake, *faults.untold(leases, found, at), *sweep.unbilled(leases, found, at))
            told = await each(news, self._tell)
            blind = sweep.unread(found)[:1_000]
            over = await asyncio.to_thread(self._left_over, {lease.id for lease in leases}, found, at)
        return PlaceReport(
            place,
            True,
            resources=len(found),
            leases=len(leases),
            told=tuple(one.lease_id for one, answer in told if answer is True)[:NAMED],
            left_over=over,
            missing=tuple(seen.missing.items()),
            problem="; ".join(p for p in (seen.brake, blind, trouble(told)) if p),
            brake=seen.brake,
            faults=faults.reported(found)[:NAMED],
            blind=blind,
        )

    @activity.defn
    async def attribute(self, place: Place) -> int:
        """Mark what somebody attached to our machines later as the lease's (case C10); how many were marked."""
        with as_application_errors():
            async with beating():
                return len(await asyncio.to_thread(self._watches[place.provider].attribute, place, still_current))

    @activity.defn
    async def resume_lost(self, wanted: SweepRuns) -> RunsReport:
        """Go on with open leases whose workflow is not open, and with those of which something was left over."""
        async with beating():
            leases = await asyncio.to_thread(self._ripe)
            looks = await each(leases, lambda lease: self._runs.ended(lease.id))
            seen = {lease.id: end for lease, end in looks if isinstance(end, Ended)}
            ended = await asyncio.to_thread(self._still_open, seen)
            unexplained = sum(not end.on_purpose for end in ended.values())
            brake = sweep.braked(unexplained, len(leases), "have no workflow and nobody ended it")
            chosen = {i: end.why for i, end in ended.items() if end.on_purpose or not brake}
            chosen |= dict.fromkeys(wanted.left_over, "it is on record as over, and something of it is still there")
            done = await each(chosen.items(), lambda pair: self._resume(*pair))
        problems = (brake, trouble(looks), trouble(done))
        resumed = tuple(i for (i, _), answer in done if answer is True)
        failed = {i for (i, _), answer in done if isinstance(answer, BaseException)}
        stranded = tuple(i for i in ended if i in failed or i not in chosen)
        words = "; ".join(p for p in problems if p)
        overdue = await asyncio.to_thread(self._overdue)
        return RunsReport(len(leases), resumed[:NAMED], words, stranded[:NAMED], brake, overdue)

    def _of_place(self, place: Place) -> list[Lease]:
        """Open leases that may have something in the place."""
        mine = (place.provider, place.name)
        return [one for one in self._open() if (one.request.place.provider, one.request.place.name) == mine]

    def _ripe(self) -> list[Lease]:
        now = self._clock()
        return [lease for lease in self._open() if sweep.ripe(lease, now)]

    def _overdue(self) -> str:
        every = self._metering()
        if every is None:
            return ""
        running = self._ledger.leases(LeaseQuery(states=(State.ACTIVE.value,), limit=PAGE))
        return heartbeat.overdue(self._ledger.last_tick(), running, every, self._clock())

    def _still_open(self, ended: Mapping[str, Ended]) -> dict[str, Ended]:
        """Those whose lease is open still: one that closed between the two looks has rightly no workflow (law 2)."""
        now = {lease_id: self._ledger.lease(lease_id) for lease_id in ended}
        return {i: end for i, end in ended.items() if (lease := now[i]) is not None and not lease.final}

    def _open(self) -> Iterable[Lease]:
        after = ""
        while page := self._ledger.leases(LeaseQuery(states=tuple(OPEN), after=after, limit=PAGE)):
            yield from page
            after = page[-1].id

    async def _tell(self, away: sweep.Away) -> bool:
        report = Observed(away.resource, away.condition.value, away.reason or away.condition.value, away.at)
        return await self._runs.observed(away.lease_id, report)

    def _left_over(self, open_leases: set[str], found: Sequence[Tagged], at: datetime) -> tuple[str, ...]:
        """Leases on record as over of which something was seen. Those that nobody has heard of are not ours to end."""
        others = sorted({one.lease for one in found if one.lease} - open_leases)
        return tuple(i for i in others if self._is_left_over(i, found, at))[:NAMED]

    def _is_left_over(self, lease_id: str, found: Sequence[Tagged], at: datetime) -> bool:
        lease = self._ledger.lease(lease_id)
        if lease is None or not lease.final:
            return False
        tokens = {intent.token for intent in self._ledger.intents(lease_id)}
        return bool(sweep.left_over(lease, found, self._ledger.resources(lease_id), tokens, at))

    async def _resume(self, lease_id: str, why: str) -> bool:
        """Read the ledger again: the lease may have moved on since it was looked for (law 2)."""
        lease = await asyncio.to_thread(self._ledger.lease, lease_id)
        return lease is not None and await self._runs.resume(lease, why)
