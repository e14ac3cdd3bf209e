"""Looks at one lease between two ticks, before people are warned and before it is stopped (law 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from activities.fleet import Plan, Watched, watched
from activities.holdings import Holdings
from activities.judgement import judge_one, observe
from activities.leases import lease_of
from activities.readings import Sources
from activities.settings import MeterSettings
from activities.telling import Teller
from lessor.contracts import Clearance, LeaseRef, Metered
from lessor.domain import braking
from lessor.domain.idle import Standing, Verdict
from lessor.domain.judging import QUIET, certain
from lessor.domain.ladder import Brake
from lessor.domain.lease import State
from lessor.ports import Ledger

MADE_UP = 2
"""So many ticks that are late are read by a look itself; with more of them the meter is dead, and nothing is known."""


class Looks:
    """Nothing of a look is stored: a lease that looks for itself is no tick."""

    def __init__(
        self,
        sources: Sources,
        holdings: Holdings,
        ledger: Ledger,
        teller: Teller,
        clock: Callable[[], datetime],
        plan: Callable[[], Plan],
        settings: Callable[[], MeterSettings],
    ) -> None:
        self._sources = sources
        self._holdings = holdings
        self._ledger = ledger
        self._teller = teller
        self._clock = clock
        self._plan = plan
        self._settings = settings

    async def look(self, ref: LeaseRef) -> Metered:
        """What the lease does now, read afresh."""
        return await self._look(await asyncio.to_thread(self._one, ref))

    async def clearance(self, ref: LeaseRef) -> Clearance:
        """Whether it may stop now: what it does, then the brake and a slot in one transaction.

        While the brake is on, only the latest tick is looked at: many may ask, again and again, and none may stop.
        """
        one = await asyncio.to_thread(self._one, ref)
        brake, standing = await asyncio.to_thread(self._held_back, ref.lease_id)
        if brake.on and standing is not None:
            told = await self._teller.words(standing, one, self._settings().every)
            return Clearance(False, braking.spelled(brake), told)
        found = await self._look(one)
        why = _against(found) or await asyncio.to_thread(self._silence)
        why = why or await asyncio.to_thread(self._claim, ref.lease_id)
        return Clearance(not why, why, found)

    def _one(self, ref: LeaseRef) -> Watched:
        return watched(lease_of(self._ledger, ref), self._plan(), self._clock())

    async def _look(self, one: Watched) -> Metered:
        """Judged from the latest tick on, as if this were the next one. What was not seen whole now is unknown."""
        at, every = self._clock(), self._settings().every
        standing = await asyncio.to_thread(self._ledger.standing, one.lease.id)
        moments = _moments(standing, at, every)
        # Pods of a tick that was left out are not there any more: what ended since then counts for all of them.
        asked = asyncio.ensure_future(self._holdings.of((one.subject,), moments[0] - every))
        for moment in moments:
            readings, held = await asyncio.gather(self._sources.read(moment, every, (one.subject,)), asked)
            (seen,) = observe({one.lease.id: one}, readings, held, moment)
            standing = judge_one(standing, seen, one, every)
        assert standing is not None
        running = one.lease.state is State.ACTIVE
        if not running or (standing.verdict in QUIET and not certain(standing)):
            problem = standing.problem or "it does not run"
            standing = replace(standing, verdict=Verdict.UNKNOWN, since=at, problem=problem)
        return await self._teller.words(standing, one, every)

    def _held_back(self, lease_id: str) -> tuple[Brake, Standing | None]:
        """The brake, and where the lease stood after a tick that is not older than two."""
        standing = self._ledger.standing(lease_id)
        recent = standing is not None and self._clock() - standing.at <= MADE_UP * self._settings().every
        return self._ledger.brake(), standing if recent else None

    def _silence(self) -> str:
        """Which sources said nothing in the latest tick: then nothing at all is stopped (law 5). Empty if none."""
        report = self._ledger.last_report()
        names = ", ".join(source.name for source in report.sources if not source.ok) if report else ""
        return f"nothing is stopped while a source of telemetry is silent: {names}" if names else ""

    def _claim(self, lease_id: str) -> str:
        at = self._clock()
        report = self._ledger.last_report()
        most = self._settings().brake.most(report.leases if report else 0)
        return self._ledger.claim_stop(lease_id, at, at - braking.WITHIN, most)


def _moments(standing: Standing | None, at: datetime, every: timedelta) -> tuple[datetime, ...]:
    """What a look reads: now, and before that the ticks that are due and not on record yet, where they are few."""
    late = (at - standing.at) // every if standing else 0
    if standing is None or late > MADE_UP:
        return (at,)
    due = (standing.at + number * every for number in range(1, late + 1))
    return (*(moment for moment in due if moment < at), at)


def _against(found: Metered) -> str:
    """What stands against a stop in what was seen; empty when nothing does."""
    seen = found.evidence
    if seen.verdict is Verdict.UNKNOWN:
        return f"what it does is unknown: {seen.problem}"
    return "" if seen.verdict in QUIET else f"another look found it {seen.verdict.value}"
