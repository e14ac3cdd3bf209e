"""What the page calls a use is what lessor judges it to be: each switch of the simulated GPUs, with its verdict."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.domain.attribution import attribute
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.judging import advance, partly_idle
from lessor.domain.usage import Reading, Subject
from lessor.refusals import TelemetryError
from lessor.sandbox.gpus import Machine
from lessor.sandbox.gpus.server import listening
from lessor.telemetry import PrometheusSource
from tests.sandbox.gpus.fleet import EIGHT, Stage

TICK, SAMPLED = timedelta(minutes=1), 10
TERMS = IdleTerms(window=timedelta(minutes=5), warm_up=timedelta())
CHANGES: dict[str, dict[str, Any]] = {
    "busy": {},
    "idle": {"use": "idle"},
    "held": {"use": "held"},
    "stuck": {"use": "stuck"},
    "preparing": {"use": "preparing"},
    "typing": {"use": "typing"},
    "slices": {"mig": True},
    "one-of-eight": {"working": 1},
    "gap": {"use": "idle"},
    "gone": {"use": "idle", "exporter": "gone"},
    "fast": {"use": "idle", "ahead": 600},
    "unlabelled": {"use": "idle", "labelled": False},
    "restarted": {"use": "idle"},
}
FLEET = {name: replace(EIGHT, id=f"i-0{number:016x}", lease=name) for number, name in enumerate(CHANGES)}
SUBJECTS = [Subject(name, one.gpus, (one.id,)) for name, one in FLEET.items()]


class Meter:
    """Ticks as the product's own do: one query, then everything is judged."""

    def __init__(self, stage: Stage, url: str) -> None:
        self.stage = stage
        self.standings: dict[str, Standing] = {}
        self._source = PrometheusSource("sandbox", url, timeout=timedelta(seconds=5), clock=stage.clock)

    async def tick(self, count: int) -> None:
        for _ in range(count):
            for _ in range(int(TICK.total_seconds()) // SAMPLED):
                self.stage.clock.now += SAMPLED
                self.stage.simulation.sample()
            at = datetime.fromtimestamp(self.stage.clock.now, UTC)
            readings, silent = await self._read(at)
            for seen, subject in zip(attribute(SUBJECTS, readings, at, silent), SUBJECTS, strict=True):
                before = self.standings.get(seen.lease_id)
                self.standings[seen.lease_id] = advance(before, seen, TERMS, subject, TICK)

    async def _read(self, at: datetime) -> tuple[list[Reading], list[str]]:
        try:
            return [await asyncio.to_thread(self._source.read, at, TICK)], []
        except TelemetryError:
            return [], [self._source.name]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {name: standing.verdict for name, standing in self.standings.items()}


async def test_every_use_is_judged_as_the_page_calls_it() -> None:
    stage = Stage(*FLEET.values())
    async with listening(stage.simulation) as url:
        meter = Meter(stage, url)
        await meter.tick(3)
        assert set(meter.verdicts.values()) == {Verdict.BUSY}
        for name, changes in CHANGES.items():
            stage.does(FLEET[name], **changes)
        await meter.tick(28)
        stage.does(FLEET["gap"], gap=150)
        await meter.tick(4)
        stage.does(FLEET["restarted"], restart=True)
        await meter.tick(1)

        assert meter.verdicts == {
            "busy": Verdict.BUSY,
            "idle": Verdict.IDLE,
            "held": Verdict.HELD,
            "stuck": Verdict.IDLE,
            "preparing": Verdict.BUSY,
            "typing": Verdict.BUSY,
            "slices": Verdict.BUSY,
            "one-of-eight": Verdict.BUSY,
            "gap": Verdict.UNKNOWN,
            "gone": Verdict.UNKNOWN,
            "fast": Verdict.UNKNOWN,
            "unlabelled": Verdict.UNKNOWN,
            "restarted": Verdict.UNKNOWN,
        }
        assert partly_idle(meter.standings["one-of-eight"]) == 7
        assert partly_idle(meter.standings["slices"]) == 48
        assert len(meter.standings["stuck"].faulty) == 8
        assert [meter.standings[name].active_kind for name in ("preparing", "typing")] == ["cpu", "session"]


async def test_a_prometheus_that_is_down_or_empty_makes_all_that_was_idle_unknown() -> None:
    idle = {name: FLEET[name] for name in ("idle", "held")}
    stage = Stage(*FLEET.values())
    async with listening(stage.simulation) as url:
        meter = Meter(stage, url)
        await meter.tick(1)
        for name, machine in idle.items():
            stage.does(machine, **CHANGES[name])
        for answers in ("down", "empty"):
            await meter.tick(7)
            assert {name: meter.verdicts[name] for name in idle} == {"idle": Verdict.IDLE, "held": Verdict.HELD}
            stage.simulation.switch(answers=answers)
            await meter.tick(2)
            assert {meter.verdicts[name] for name in idle} == {Verdict.UNKNOWN}
            stage.simulation.switch(answers="well")


def test_the_fleet_has_a_machine_for_each_change() -> None:
    assert len({machine.id for machine in FLEET.values()}) == len(CHANGES)
    assert all(isinstance(machine, Machine) for machine in FLEET.values())
