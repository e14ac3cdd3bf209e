"""The CloudWatch source against the simulated AWS, with the shipped IAM policy enforced, and against bad answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lessor.config import loads
from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Subject
from lessor.ports import TelemetryError
from lessor.sandbox.aws.identity import HOME_ACCOUNT, LESSOR_ACCESS_KEY, administrator_key
from lessor.sandbox.aws.server import RunningSimulator
from lessor.sources import telemetry_of
from lessor.telemetry import CloudWatchSource
from tests.config.sample import VALID

TICK = timedelta(minutes=5)
MINUTE = timedelta(minutes=1)
REGION = "us-east-1"
MACHINE = "i-0abc1234def567890"


class Cloud:
    """A CloudWatch that the tests write to as an agent does, and the source that reads it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.agent = self.client(administrator_key(HOME_ACCOUNT))
        self.at = datetime.fromtimestamp(time.time() // 300 * 300, UTC)
        self.late = timedelta()

    def client(self, key: str) -> Any:
        secrets = {"aws_access_key_id": key, "aws_secret_access_key": "secret"}
        plain = Config(disable_request_compression=True)
        return boto3.client("cloudwatch", region_name=REGION, endpoint_url=self.url, config=plain, **secrets)

    def put(self, dimensions: Mapping[str, str], figures: Mapping[str, float], minutes: range = range(-5, 0)) -> None:
        """What the agent writes each minute, counted from the end of the tick."""
        self._put("CWAgent", dimensions, figures, [self.at + MINUTE * minute for minute in minutes])

    def put_host(self, figures: Mapping[str, float], machine: str = MACHINE, minutes: tuple[int, ...] = (-5,)) -> None:
        """What EC2 itself writes each five minutes."""
        self._put("AWS/EC2", {"InstanceId": machine}, figures, [self.at + MINUTE * minute for minute in minutes])

    def read(self, *only: Subject, at: datetime | None = None) -> Reading:
        source = CloudWatchSource("machines", {REGION: lambda: self.client(LESSOR_ACCESS_KEY)}, late=self.late)
        return source.read(at or self.at, TICK, only)

    def _put(
        self, namespace: str, dimensions: Mapping[str, str], figures: Mapping[str, float], times: list[datetime]
    ) -> None:
        named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
        data = [
            {"MetricName": metric, "Dimensions": named, "Value": value, "Timestamp": moment}
            for metric, value in figures.items()
            for moment in times
        ]
        self.agent.put_metric_data(Namespace=namespace, MetricData=data)


@pytest.fixture
def cloud(running_aws: RunningSimulator) -> Cloud:
    running_aws.reset()
    return Cloud(running_aws.url)


def card(index: int = 0, machine: str = MACHINE, **more: str) -> dict[str, str]:
    """The dimensions of one GPU as the agent writes them."""
    return {"InstanceId": machine, "index": str(index), "host": "ip-10-0-0-5", "name": "H100", "arch": "x", **more}


def smi(util: float = 0.0, used: float = 4.0, power: float = 62.0) -> dict[str, float]:
    return {
        "nvidia_smi_utilization_gpu": util,
        "nvidia_smi_memory_used": used,
        "nvidia_smi_memory_total": 81_559.0,
        "nvidia_smi_power_draw": power,
    }


def test_each_gpu_and_its_machine_are_told_by_the_most_that_they_did(cloud: Cloud) -> None:
    cloud.put(card(0), smi(3.0))
    cloud.put(card(0), smi(91.0, 60_000.0, 640.0), range(-3, -2))
    cloud.put(card(1), smi())
    cloud.put_host({"CPUUtilization": 12.5, "NetworkIn": 3_000.0, "NetworkOut": 600.0, "EBSReadBytes": 30_000.0})

    seen = {one.gpu.device if one.gpu else "host": one for one in cloud.read().seen}

    origin = Origin(machine=MACHINE, node="ip-10-0-0-5")
    assert seen["0"].origin == origin
    assert seen["0"].gpu == GpuUse(
        "0", MACHINE, util=91.0, memory_used=60_000.0, memory_total=81_559.0, power=640.0, engine=None
    )
    assert (seen["1"].gpu.util, seen["1"].gpu.power) == (0.0, 62.0) if seen["1"].gpu else False
    assert seen["0"].newest == cloud.at - MINUTE
    assert (seen["host"].origin, seen["host"].host) == (
        Origin(machine=MACHINE),
        HostUse(cpu=12.5, network=12.0, disk=100.0),
    )
    assert not any(one.restarted for one in seen.values())


def test_a_gpu_without_figures_in_the_tick_is_unknown(cloud: Cloud) -> None:
    cloud.put(card(0), smi(), range(-20, -5))

    assert cloud.read().seen == ()
    assert [one.newest for one in cloud.read(at=cloud.at - 5 * MINUTE).seen] == [cloud.at - 6 * MINUTE]


def test_figures_that_came_late_count_in_a_later_tick(cloud: Cloud) -> None:
    cloud.late = timedelta(minutes=3)
    cloud.put(card(0), smi(80.0), range(-8, -6))
    cloud.put(card(0), smi(0.0), range(-6, -2))

    [seen] = cloud.read().seen

    assert seen.gpu
    assert seen.gpu.util == 80.0
    assert (seen.newest, seen.restarted) == (cloud.at - 3 * MINUTE, False)


def test_a_tick_with_a_gap_is_told_as_one(cloud: Cloud) -> None:
    cloud.put(card(0), smi(), range(-5, -3))

    assert [one.restarted for one in cloud.read().seen] == [True]


def test_a_figure_from_the_future_is_counted_and_its_gpu_is_unknown(cloud: Cloud) -> None:
    """Case E27."""
    cloud.put(card(0), smi())
    cloud.put(card(0), {"nvidia_smi_utilization_gpu": 0.0}, range(12, 14))
    cloud.put(card(1), smi())

    reading = cloud.read()

    assert [one.gpu.device for one in reading.seen if one.gpu] == ["1"]
    assert reading.dropped == 2


def test_what_cannot_be_is_capped_or_unknown_and_counted(cloud: Cloud) -> None:
    """Case E02 and E05."""
    cloud.put(card(0), smi(250.0, -3.0))

    reading = cloud.read()

    [seen] = reading.seen
    assert seen.gpu
    assert (seen.gpu.util, seen.gpu.memory_used) == (100.0, None)
    assert reading.capped == 2


def test_sums_over_gpus_are_no_gpus_and_the_most_exact_series_counts(cloud: Cloud) -> None:
    cloud.put({"InstanceId": MACHINE}, smi(50.0))
    cloud.put({"InstanceId": MACHINE, "index": "0"}, smi(40.0))
    cloud.put(card(0), smi(30.0))

    assert [one.gpu.util for one in cloud.read().seen if one.gpu] == [30.0]


def test_a_gpu_in_use_without_a_machines_id_is_counted_by_its_host(cloud: Cloud) -> None:
    cloud.put({"host": "ip-10-0-0-9", "index": "0"}, smi(70.0))
    cloud.put({"host": "ip-10-0-0-9", "index": "1"}, smi())

    reading = cloud.read()

    assert {one.origin for one in reading.seen} == {Origin(node="ip-10-0-0-9")}
    assert reading.unlabelled == {"ip-10-0-0-9": 1}


def test_only_the_machines_that_are_asked_for_are_read(cloud: Cloud) -> None:
    cloud.put(card(0), smi())
    cloud.put(card(0, "i-0fffffffffffffff0"), smi())

    read = cloud.read(Subject("gpu-7k3qxa2m", 8, machines=(MACHINE,)))

    assert {one.origin.machine for one in read.seen} == {MACHINE}


def test_a_cloudwatch_without_figures_gives_an_empty_reading(cloud: Cloud) -> None:
    assert (cloud.read().source, cloud.read().seen) == ("machines", ())


def test_the_source_of_a_place_reads_its_account_and_region(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", LESSOR_ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    cloud.put(card(0), smi(42.0))
    config = loads(f"{VALID}telemetry:\n  cloudwatch: [{{name: machines, place: research-us}}]\n")

    reading = telemetry_of(config)["machines"].read(cloud.at, TICK)

    assert [(one.origin.machine, one.gpu.util) for one in reading.seen if one.gpu] == [(MACHINE, 42.0)]


def test_the_policy_that_ships_allows_reading_and_nothing_else(cloud: Cloud) -> None:
    with pytest.raises(ClientError, match="cloudwatch:PutMetricData"):
        cloud.client(LESSOR_ACCESS_KEY).put_metric_data(Namespace="CWAgent", MetricData=[])


def test_without_the_right_to_read_the_error_says_what_to_give(cloud: Cloud, running_aws: RunningSimulator) -> None:
    running_aws.controls.deny("cloudwatch:ListMetrics")

    with pytest.raises(TelemetryError) as caught:
        cloud.read()

    said = (
        "'machines' may not be read in us-east-1 (AccessDeniedException); give lessor's role the policy in deploy/aws"
    )
    assert said in str(caught.value)
