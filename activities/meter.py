"""One tick of the meter: what every lease does, judged, stored in one go, and told to those that have to hear of it.

Whatever dies on the way, the same tick or the next one goes on from the record: rows are stored once, why nothing may
be stopped is part of what is stored, and what a lease has heard is on record too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from temporalio import activity

from activities import gauges
from activities.batches import each
from activities.beating import beating
from activities.fleet import Fleet, Plan, Watched
from activities.holdings import Holdings
from activities.judgement import Before, Found, brake_of, judge_one, observe, pages, verdicts
from activities.looks import Looks
from activities.readings import Readings, Sources, counted_on
from activities.settings import MeterSettings
from activities.telling import Teller
from lessor import contracts
from lessor.contracts import Alarm, Clearance, LeaseRef, MeterReport, MeterTick, OverBudget, PageInput
from lessor.domain import braking
from lessor.domain.idle import Standing
from lessor.domain.idle_review import NEVER_IDLE, kept_up
from lessor.domain.ladder import Brake
from lessor.domain.lease import minute
from lessor.domain.usage import Held
from lessor.ports import Directory, LeaseRuns, Ledger, Telemetry

__all__ = ["MeterActivities", "MeterSettings"]

REVIEWED = 0
"""The hour in UTC after which it is looked, once a day, what never falls idle."""
NAMED = 200
"""How many ids a report carries at most."""


class MeterActivities:
    """Holds the sources of telemetry, the ledger and the workflows of leases.

    Between ticks it remembers where leases stood; that is used only while the record says that nobody metered since.
    `over` says which leases have to hear that the money they take from is used up, `places` are providers by their
    kind: those that know it are asked what pods hold.
    """

    def __init__(
        self,
        sources: Mapping[str, Telemetry],
        ledger: Ledger,
        runs: LeaseRuns,
        directory: Directory,
        clock: Callable[[], datetime],
        plan: Callable[[], Plan],
        settings: Callable[[], MeterSettings] = MeterSettings,
        over: Callable[[datetime], Sequence[tuple[str, OverBudget]]] = lambda _: (),
        places: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._sources = Sources(sources)
        self._holdings = Holdings(places)
        self._ledger = ledger
        self._settings = settings
        self._fleet = Fleet(ledger, plan)
        self._runs = runs
        self._over = over
        self._teller = Teller(ledger, runs, directory)
        self._looks = Looks(self._sources, self._holdings, ledger, self._teller, clock, plan, settings)
        self._kept: tuple[datetime, dict[str, Standing]] | None = None
        self._warned: set[tuple[str, str]] = set()

    @activity.defn
    async def tick(self, wanted: MeterTick) -> MeterReport:
        """Read, judge, store and tell. A tick that is on record is told again where it was not heard, and no more."""
        with gauges.SECONDS.time():
            async with beating():
                before = await asyncio.to_thread(self._before)
                if before.report and before.report.at > wanted.at:
                    return replace(before.report, stored=False, told=(), pages=(), unheard=())
                fleet = await asyncio.to_thread(self._fleet.running, wanted.at)
                if before.report and before.report.at == wanted.at:
                    report, standings = replace(before.report, stored=False), tuple(before.standings.values())
                else:
                    report, standings = await self._metered(wanted, before, fleet)
                report = await self._consequences(report, standings, fleet, wanted.every)
        gauges.show(report)
        return report

    @activity.defn
    async def look_again(self, ref: LeaseRef) -> contracts.Metered:
        """What one lease does now, read afresh. Nothing is stored: a lease that looks for itself is no tick."""
        async with beating():
            return await self._looks.look(ref)

    @activity.defn
    async def clear_to_stop(self, ref: LeaseRef) -> Clearance:
        """Whether it may be stopped as idle now: it still is, the brake is off, and it is one of the few in this hour.

        A lease that was cleared once in an hour takes no second slot. While the brake is on, only the latest tick is
        looked at: many may ask, again and again, and none may stop.
        """
        async with beating():
            return await self._looks.clearance(ref)

    @activity.defn
    async def tidy(self, at: datetime) -> tuple[PageInput, ...]:
        """Add up the hours that are over, and drop what has been kept long enough; once a day, what to look at."""
        async with beating():
            return await asyncio.to_thread(self._tidy, at)

    @activity.defn
    async def check_budgets(self, at: datetime) -> int:
        """Tell leases that the money they take from is used up; how many were told. The others hear it next time."""
        async with beating():
            found = await asyncio.to_thread(self._over, at)
            due = [(lease_id, told) for lease_id, told in found if (lease_id, told.words) not in self._warned]
            answers = await each(due, lambda one: self._runs.over_budget(*one))
            heard = {(lease_id, told.words) for (lease_id, told), answer in answers if isinstance(answer, bool)}
            self._warned = {(lease_id, told.words) for lease_id, told in found} & (self._warned | heard)
        return len(heard)

    async def _metered(
        self, wanted: MeterTick, before: Before, fleet: Mapping[str, Watched]
    ) -> tuple[MeterReport, tuple[Standing, ...]]:
        subjects = [one.subject for one in fleet.values()]
        readings, held = await asyncio.gather(
            self._sources.read(wanted.at, wanted.every), self._holdings.of(subjects, wanted.at - wanted.every)
        )
        return await asyncio.to_thread(self._judged, wanted, before, fleet, readings, held)

    def _judged(
        self,
        wanted: MeterTick,
        before: Before,
        fleet: Mapping[str, Watched],
        readings: Readings,
        held: Mapping[str, Held],
    ) -> tuple[MeterReport, tuple[Standing, ...]]:
        """Judge and store; what another worker has stored of this tick meanwhile holds instead."""
        settings = self._settings()
        found: list[Found] = []
        for seen, one in zip(observe(fleet, readings, held, wanted.at), fleet.values(), strict=True):
            found.append((seen, judge_one(before.standings.get(seen.lease_id), seen, one, wanted.every)))
        now = tuple(standing for _, standing in found)
        brake, doubt = brake_of(fleet, before, now, bool(readings.silent), settings.brake, self._ledger.brake())
        report = MeterReport(
            wanted.at,
            sources=counted_on(readings.reports, before.report.sources if before.report else ()),
            leases=len(now),
            verdicts=verdicts(now),
            brake=brake,
            doubt=doubt,
            problem=_left_out(self._fleet.left_out),
        )
        report = replace(report, pages=tuple(pages(readings, report, before, now, fleet)))
        if not self._ledger.meter(wanted.at, found, report):
            self._kept = None
            stored = self._before()
            return replace(stored.report or report, stored=False), tuple(stored.standings.values())
        self._kept = (wanted.at, {one.lease_id: one for one in now})
        return report, now

    async def _consequences(
        self, report: MeterReport, standings: tuple[Standing, ...], fleet: Mapping[str, Watched], every: timedelta
    ) -> MeterReport:
        """Put the brake on where the tick calls for it, then tell leases."""
        brake, put = await asyncio.to_thread(self._braked, report)
        doubt = brake.on and brake.doubt
        told, trouble = await self._teller.tell(standings, fleet, report.at, every, quiet=doubt)
        # Each time is told, also the second on a day, and once however often the tick is tried.
        called = (PageInput(Alarm.BRAKE, f"idle stops since {minute(report.at)}", report.brake),) if put else ()
        return replace(
            report,
            told=told[:NAMED],
            brake=braking.spelled(brake) if brake.on else "",
            doubt=doubt,
            problem="; ".join(words for words in (report.problem, trouble) if words),
            pages=(*called, *report.pages),
        )

    def _braked(self, report: MeterReport) -> tuple[Brake, bool]:
        """The brake that holds after a tick, and whether that tick put it on, now or in an attempt before this one.

        What a person said of it after the tick comes first.
        """
        brake = self._ledger.brake()
        wanted = Brake(True, braking.BY, report.at, report.brake, report.doubt)
        later = brake.at is not None and brake.at >= report.at
        held = brake.on and brake.doubt >= wanted.doubt
        if not report.brake or held or later:
            return brake, brake == wanted
        self._ledger.set_brake(wanted)
        return wanted, True

    def _before(self) -> Before:
        """Where leases stood after the latest tick on record."""
        report = self._ledger.last_report()
        if report is None:
            return Before({})
        if self._kept is None or self._kept[0] != report.at:
            self._kept = (report.at, {one.lease_id: one for one in self._ledger.standings()})
        return Before(self._kept[1], report)

    def _tidy(self, at: datetime) -> tuple[PageInput, ...]:
        self._ledger.roll_up(at)
        self._ledger.forget_before(at - self._settings().keep)
        if at.astimezone(UTC).hour != REVIEWED:
            return ()
        found = (one for one in self._before().standings.values() if one.idle_gpus and one.idle_gpus == one.gpus)
        return tuple(self._review(one) for one in found if self._kept_up(one, at))

    def _kept_up(self, standing: Standing, at: datetime) -> bool:
        return kept_up(standing, self._ledger.usage(standing.lease_id, at - NEVER_IDLE, at), at)

    def _review(self, standing: Standing) -> PageInput:
        """Something keeps it from being idle that its GPUs have no part in (case E17)."""
        what = f"none of its GPUs worked for {NEVER_IDLE.days} days, and it was never idle"
        return PageInput(Alarm.NEVER_IDLE, standing.lease_id, f"{what}: {standing.active_kind} keeps it going")


def _left_out(ids: tuple[str, ...]) -> str:
    return f"{len(ids)} cannot be metered, such as {ids[0]}; the worker's log says why" if ids else ""
