"""A worker that dies anywhere in a tick, between any two of its calls: the next attempt leaves the same behind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.meter import MeterActivities
from lessor.contracts import MeterTick
from lessor.domain.idle import Standing
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.ladder import Brake
from lessor.domain.records import FLEET
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import LeaseRuns, Ledger
from tests.builders import PEOPLE
from tests.fakes import FakeDirectory
from tests.metering import BUSY, IDLE, MINUTE, Meter, running

WINDOW = 3
PLAN = IdlePlan(organisation={"window": WINDOW * MINUTE, "warm_up": timedelta(), "stop": timedelta(hours=1)})


class Killed(BaseException):
    """The process is gone: nothing that it would have done after this happens."""


class Dying:
    """Passes calls through until one is the last; that one may still have had its effect."""

    def __init__(self, whole: object, left: Iterator[int], last: int, *, after: bool) -> None:
        self._whole, self._left, self._last, self._after = whole, left, last, after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._whole, name)

        def call(*given: Any, **named: Any) -> Any:
            if next(self._left) != self._last:
                return method(*given, **named)
            if self._after:
                method(*given, **named)
            raise Killed

        return call


async def behind(tmp: SqlLedger, last: int, *, after: bool) -> tuple[bool, tuple[Standing, ...], set[str], Brake, int]:
    """What is left when the worker dies at its call number `last` and another one tries the tick again."""
    meter = Meter(tmp, plan=PLAN)
    leases = [running(number) for number in range(1, 11)]
    meter.record(*leases)
    meter.source.all(leases, BUSY)
    meter.source.all(leases[:6], IDLE)
    await meter.ticks(WINDOW - 1)
    ledger = cast(Ledger, Dying(tmp, count(1), last, after=after))
    dying = MeterActivities(
        {meter.source.name: meter.source},
        ledger,
        cast(LeaseRuns, meter.runs),
        FakeDirectory(PEOPLE),
        lambda: meter.now,
        lambda: meter.plan,
    )
    meter.now += MINUTE
    died = False
    try:
        await ActivityEnvironment().run(dying.tick, MeterTick(meter.now, MINUTE))
    except Killed:
        died = True
    meter.restart()
    await meter.tick(meter.now)
    entries = len(tmp.events(FLEET))
    return died, tmp.standings(), {one for one, _ in meter.runs.told}, tmp.brake(), entries


@pytest.mark.parametrize("after", [False, True])
async def test_wherever_it_dies_the_same_is_left(after: bool) -> None:
    whole = open_ledger("sqlite://")
    died, standings, told, brake, entries = await behind(whole, 0, after=after)
    whole.close()
    assert (died, len(told), brake.on, entries) == (False, 6, True, 1)
    for last in count(1):
        ledger = open_ledger("sqlite://")
        died, *left = await behind(ledger, last, after=after)
        ledger.close()
        assert left == [standings, told, brake, entries], f"it died at call {last}"
        if not died:
            break
    assert last > 8
