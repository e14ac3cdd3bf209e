"""The Prometheus source against a real Prometheus that scrapes the exporters of the tests, as in an organisation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.usage import Reading
from lessor.telemetry import PrometheusSource
from tests.telemetry.exporter import Exporter, Gpu, eight, serving
from tests.telemetry.server import eventually, prometheus
from tests.telemetry.store import gpus

TICK = timedelta(seconds=4)
LEASE = "gpu-7k3qxa2m"


class Scraped:
    """A machine, a cluster's node with a slice, and the source that reads what Prometheus scraped of them."""

    def __init__(self) -> None:
        self.machine = eight("node-1", labels={"instance_id": "i-0abc1234", "lessor_lease": LEASE})
        slices = [Gpu(uuid="GPU-a", slice_id=number, namespace=LEASE, pod="train-0") for number in "78"]
        self.node = Exporter("node-2", gpus=slices, labels={"namespace": "gpu-operator", "pod": "dcgm-exporter-1"})
        self.url = ""

    def read(self) -> Reading:
        return PrometheusSource("fleet", self.url).read(datetime.now(UTC), TICK)

    def whole(self) -> Reading | None:
        """The tick, once there were samples all through it."""
        reading = self.read()
        return reading if len(reading.seen) == 10 and not any(one.restarted for one in reading.seen) else None

    def of(self, node: str) -> set[bool]:
        """Of each GPU of the node that is seen, whether its exporter was away."""
        return {one.restarted for one in self.read().seen if one.origin.node == node}


@pytest.fixture(scope="module")
def scraping(installed: str) -> Iterator[Scraped]:
    made = Scraped()
    with serving(made.machine, made.node), prometheus(made.machine, made.node) as server:
        made.url = server.url
        yield made


@pytest.fixture
def scraped(scraping: Scraped) -> Scraped:
    """All is well, and has been for a whole tick."""
    scraping.machine.gone = scraping.node.gone = False
    for gpu in (*scraping.machine.gpus, *scraping.node.gpus):
        gpu.idle()
    eventually(scraping.whole)
    return scraping


def test_a_tick_tells_of_each_gpu_what_its_exporter_said_and_whose_it_is(scraped: Scraped) -> None:
    scraped.machine.gpus[0].busy(0.9)
    scraped.node.gpus[1].engine = 0.4

    reading = eventually(lambda: _worked(scraped.whole(), "i-0abc1234/0", "node-2/0/8"))

    seen = gpus(reading)
    assert [seen[f"i-0abc1234/{device}"].engine for device in range(8)] == [0.9, *[0.0] * 7]
    assert [seen[f"node-2/0/{part}"].engine for part in "78"] == [0.0, 0.4]
    assert {(one.origin.lease, one.origin.machine, one.origin.namespace) for one in reading.seen} == {
        (LEASE, "i-0abc1234", ""),
        ("", "", LEASE),
    }


def test_an_exporter_that_is_gone_takes_its_own_gpus_along_and_no_others(scraped: Scraped) -> None:
    scraped.machine.gone = True

    eventually(lambda: scraped.of("node-1") == {True})
    eventually(lambda: scraped.of("node-1") == set())
    eventually(lambda: scraped.of("node-2") == {False})


def test_an_exporter_that_restarts_is_told_in_that_tick_and_forgotten_in_the_next(scraped: Scraped) -> None:
    scraped.machine.restart()

    eventually(lambda: scraped.of("node-1") == {True})
    eventually(lambda: scraped.of("node-1") == {False})


def _worked(reading: Reading | None, *devices: str) -> Reading | None:
    return reading if reading and all(gpus(reading)[device].engine for device in devices) else None
