"""The Prometheus source against a real Prometheus that scrapes the exporter of the tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lessor.domain.usage import Seen
from lessor.telemetry import PrometheusSource
from tests.telemetry.exporter import eight, serving
from tests.telemetry.server import eventually, prometheus

TICK = timedelta(seconds=2)


def test_a_tick_tells_of_each_gpu_what_its_exporter_said_and_whose_it_is() -> None:
    machine = eight("node-1", labels={"instance_id": "i-0abc1234", "lessor_lease": "gpu-7k3qxa2m"})
    machine.gpus[0].busy(0.9)

    with serving(machine), prometheus(machine) as server:
        source = PrometheusSource("fleet", server.url)

        def whole() -> tuple[Seen, ...]:
            seen = source.read(datetime.now(UTC), TICK).seen
            return seen if len(seen) == 8 and not any(one.restarted for one in seen) else ()

        seen = {one.gpu.device: one for one in eventually(whole) if one.gpu}

    assert sorted(seen) == list("01234567")
    assert {(one.origin.lease, one.origin.machine, one.origin.node) for one in seen.values()} == {
        ("gpu-7k3qxa2m", "i-0abc1234", "node-1")
    }
    assert [seen[device].gpu.engine for device in "01"] == [0.9, 0.0]
