"""Machines for the tests, and a simulation whose time goes by when they say so."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lessor.sandbox.gpus import Machine, Simulation
from lessor.sandbox.gpus.promql import Database
from lessor.sandbox.gpus.promql.series import NAME
from tests.telemetry.server import PrometheusServer, prometheus

BEGIN = 1_795_000_000.0
FOUR = Machine("i-0aaaaaaaaaaaaaaa1", "g6.12xlarge", "L4", 4, 22_888, "gpu-7k3qxa2m", BEGIN - 600)
EIGHT = Machine("i-0aaaaaaaaaaaaaaa2", "p5.48xlarge", "H100", 8, 81_920, "gpu-8k3qxa2m", BEGIN - 600)
ONE = Machine("i-0aaaaaaaaaaaaaaa3", "g5g.xlarge", "T4G", 1, 16_384, "", BEGIN - 600)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = BEGIN) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Stage:
    """A simulation and its clock."""

    def __init__(self, *machines: Machine, path: Path | None = None) -> None:
        self.clock = Clock()
        self.simulation = Simulation(path, self.clock)
        self.simulation.see(machines)

    def run(self, seconds: int) -> None:
        """Sample every second, the first time now."""
        for _ in range(seconds):
            self.simulation.sample()
            self.clock.now += 1.0

    def does(self, machine: Machine, **changes: Any) -> None:
        self.simulation.change(machine.id, changes)


@contextmanager
def told_the_same(database: Database, folder: Path) -> Iterator[PrometheusServer]:
    """A real Prometheus that has the samples of `database`."""
    told = folder / "samples.txt"
    told.write_text("".join(_open_metrics(database)))
    promtool = shutil.which("promtool")
    assert promtool is not None
    blocks = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(told), str(folder / "data")]
    subprocess.run(blocks, check=True, capture_output=True, timeout=60)
    with prometheus(data=folder / "data", options=("--storage.tsdb.retention.time=100y",)) as server:
        yield server


def _open_metrics(database: Database) -> Iterable[str]:
    series = sorted(database.select(()), key=lambda one: one.labels[NAME])
    for name in dict.fromkeys(one.labels[NAME] for one in series):
        yield f"# TYPE {name} gauge\n"
        for one in (one for one in series if one.labels[NAME] == name):
            labels = ",".join(f'{label}="{text}"' for label, text in one.labels.items() if label != NAME)
            for time, value in zip(one.times, one.values, strict=True):
                if value is not None:
                    yield f"{name}{{{labels}}} {value} {time / 1000}\n"
    yield "# EOF\n"
