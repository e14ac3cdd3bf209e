"""What a test writes into Prometheus and reads back by the source: ticks of five minutes, a sample every 15 seconds."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lessor.domain.usage import GpuUse, HostUse, Reading, Subject
from lessor.telemetry import LabelNames, Metrics, PrometheusSource
from tests.telemetry.exporter import Exporter
from tests.telemetry.server import PrometheusServer
from tests.telemetry.writing import Line, lines, write

TICK = timedelta(minutes=5)
SCRAPE = 15.0


class Store:
    """One test's part of a Prometheus, told apart by a label of its own."""

    def __init__(self, server: PrometheusServer, test: str) -> None:
        self._server = server
        self._mark = hashlib.sha256(test.encode()).hexdigest()[:12]
        self.end = datetime.fromtimestamp(time.time() // 60 * 60, UTC)
        """The end of the tick that is read."""

    @property
    def url(self) -> str:
        return self._server.url

    def moments(self, since: float = -300.0, until: float = 0.0) -> list[float]:
        """When it was scraped, in seconds from the end of the tick: after `since`, until and with `until`."""
        count = round((until - since) / SCRAPE)
        return [self.end.timestamp() + since + SCRAPE * (number + 1) for number in range(count)]

    def keep(self, exporter: Exporter, since: float = -300.0, until: float = 0.0) -> None:
        """What the exporter says now, as scraped all that time."""
        self.put(lines(exporter, self.moments(since, until)))

    def put(self, written: Sequence[Line]) -> None:
        """These samples."""
        write(self.url, [({**labels, "test": self._mark}, samples) for labels, samples in written])

    def source(self, metrics: Metrics | None = None) -> PrometheusSource:
        """The source over this test's samples alone."""
        return PrometheusSource("fleet", self.url, metrics=replace(metrics or Metrics(), match=f'test="{self._mark}"'))

    def read(self, *only: Subject, at: datetime | None = None, labels: LabelNames | None = None) -> Reading:
        """The tick that ends at `end`, or at `at`."""
        return self.source(Metrics(labels=labels or LabelNames())).read(at or self.end, TICK, only)


def gpus(reading: Reading) -> dict[str, GpuUse]:
    """What was seen of GPUs, by machine and device (`node-1/0`)."""
    return {f"{one.gpu.machine}/{one.gpu.device}": one.gpu for one in reading.seen if one.gpu}


def hosts(reading: Reading) -> list[HostUse]:
    """What was seen of machines."""
    return [one.host for one in reading.seen if one.host]
