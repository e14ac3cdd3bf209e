"""What the CloudWatch source makes of large fleets and of answers that are not whole, by a client of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from lessor.domain.usage import Reading
from lessor.ports import TelemetryError
from lessor.telemetry import CloudWatchSource

AT = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
TICK = timedelta(minutes=5)


@dataclass
class FakeCloudWatch:
    """Has `cards` GPUs, each with a figure of 1.0 a minute; what goes wrong is set by the test."""

    cards: int = 1
    error: Exception | None = None
    status: str = "Complete"
    messages: Sequence[dict[str, str]] = ()
    silent: frozenset[int] = frozenset()
    slow: threading.Event | None = None
    paged: bool = False
    torn: bool = False
    lists: int = 0
    asked: list[int] = field(default_factory=list)

    def get_paginator(self, operation: str) -> Any:
        pages = {"list_metrics": self._listed, "get_metric_data": self._answered}[operation]

        class Paginator:
            def paginate(self, **arguments: Any) -> Iterator[dict[str, Any]]:
                return pages(**arguments)

        return Paginator()

    def _listed(self, **_: Any) -> Iterator[dict[str, Any]]:
        self.lists += 1
        for begin in range(0, self.cards, 500):
            cards = range(begin, min(begin + 500, self.cards))
            yield {"Metrics": [{"Dimensions": _dimensions(card)} for card in cards]}

    def _answered(self, MetricDataQueries: list[dict[str, Any]], **_: Any) -> Iterator[dict[str, Any]]:
        self.asked.append(len(MetricDataQueries))
        if self.slow:
            self.slow.wait(10)
        if self.error:
            raise self.error
        times = [AT - timedelta(minutes=minute) for minute in range(1, 6)]
        ids = [query["Id"] for number, query in enumerate(MetricDataQueries) if number not in self.silent]
        if self.paged:
            half = [_result(one, times[:2], "PartialData") for one in ids]
            yield {"MetricDataResults": half, "Messages": []}
            times = times[2:]
        results = [_result(one, times, self.status) for one in ids]
        for result in results if self.torn else ():
            result["Values"] = result["Values"][1:]
        yield {"MetricDataResults": results, "Messages": self.messages}


def _dimensions(card: int) -> list[dict[str, str]]:
    return [{"Name": "InstanceId", "Value": f"i-{card // 8:017x}"}, {"Name": "index", "Value": str(card % 8)}]


def _result(query: str, times: Sequence[datetime], status: str) -> dict[str, Any]:
    return {"Id": query, "Timestamps": times, "Values": [1.0 for _ in times], "StatusCode": status}


def source(cloud: FakeCloudWatch, *, seconds: float = 5.0) -> CloudWatchSource:
    timeout = timedelta(seconds=seconds)
    return CloudWatchSource("machines", {"us-east-1": lambda: cloud}, timeout=timeout, clock=AT.timestamp)


def read(cloud: FakeCloudWatch, *, seconds: float = 5.0) -> Reading:
    return source(cloud, seconds=seconds).read(AT, TICK)


def failure(cloud: FakeCloudWatch, *, seconds: float = 5.0) -> str:
    with pytest.raises(TelemetryError) as caught:
        read(cloud, seconds=seconds)
    assert str(caught.value).startswith("telemetry source 'machines' ")
    return str(caught.value)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetMetricData")


def test_a_fleet_is_read_by_as_few_calls_as_five_hundred_figures_each_allow() -> None:
    cloud = FakeCloudWatch(cards=1_000)

    reading = read(cloud)

    # 4 figures of each GPU, 5 of each of the 125 machines: 4,625 in all.
    assert sorted(cloud.asked) == [125, *[500] * 9]
    assert len([one for one in reading.seen if one.gpu]) == 1_000
    assert len([one for one in reading.seen if one.host]) == 125
    assert not any(one.restarted for one in reading.seen)


def test_what_there_is_to_read_is_listed_once_in_ten_minutes() -> None:
    cloud = FakeCloudWatch(cards=600)
    clock = [AT.timestamp()]
    kept = CloudWatchSource("machines", {"us-east-1": lambda: cloud}, clock=lambda: clock[0])

    for minutes in (0, 5, 9, 11):
        clock[0] = (AT + timedelta(minutes=minutes)).timestamp()
        kept.read(AT, TICK)

    assert cloud.lists == 2


def test_the_pages_of_an_answer_are_put_together() -> None:
    [gpu] = [one for one in read(FakeCloudWatch(paged=True)).seen if one.gpu]

    assert (gpu.newest, gpu.restarted) == (AT - timedelta(minutes=1), False)


@pytest.mark.parametrize(
    ("cloud", "said"),
    [
        (FakeCloudWatch(status="PartialData"), "answered only in part in us-east-1 (PartialData)"),
        (FakeCloudWatch(status="InternalError"), "answered only in part in us-east-1 (InternalError)"),
        (FakeCloudWatch(status="Forbidden"), "answered only in part in us-east-1 (Forbidden)"),
        (FakeCloudWatch(silent=frozenset({0})), "answered only in part in us-east-1 (a figure is missing)"),
        (FakeCloudWatch(messages=[{"Code": "MaxMetricsExceeded"}]), "only in part in us-east-1 (MaxMetricsExceeded)"),
        (FakeCloudWatch(torn=True), "gave figures that cannot be read in us-east-1"),
        (FakeCloudWatch(error=refused("Throttling")), "asked to come back later in us-east-1 (Throttling)"),
        (FakeCloudWatch(error=refused("AccessDenied")), "may not be read in us-east-1 (AccessDenied); give lessor's"),
        (FakeCloudWatch(error=refused("RequestExpired")), "does not accept our clock or credentials in us-east-1"),
        (FakeCloudWatch(error=refused("Odd")), "failed in us-east-1 (Odd)"),
        (
            FakeCloudWatch(error=EndpointConnectionError(endpoint_url="https://x")),
            "cannot be reached in us-east-1 (EndpointConnectionError); check network, region and",
        ),
    ],
)
def test_no_whole_answer_is_an_error_that_says_what_to_do(cloud: FakeCloudWatch, said: str) -> None:
    assert said in failure(cloud)


def test_an_answer_that_does_not_come_is_given_up_in_time() -> None:
    slow = threading.Event()
    try:
        assert "gave no whole answer within 0.1 s; raise its `timeout`" in failure(
            FakeCloudWatch(slow=slow), seconds=0.1
        )
    finally:
        slow.set()
