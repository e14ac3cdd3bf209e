"""What breaks between the caller and AWS."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.server import RunningSimulator

from .conftest import IMAGE_PARAMETER, ClientOf, error_of

Launch = Callable[..., list[dict[str, Any]]]


def test_throttled_answers_in_a_row(ec2: Any, controls: Controls) -> None:
    controls.throttle("DescribeInstances", times=3)
    assert [error_of(ec2.describe_instances) for _ in range(3)] == [("RequestLimitExceeded", 503)] * 3
    assert ec2.describe_instances()["Reservations"] == []
    assert controls.calls("DescribeInstances", "RequestLimitExceeded") == 3
    assert controls.calls("DescribeInstances", "") == 1


def test_throttling_spares_other_actions(ec2: Any, controls: Controls) -> None:
    controls.throttle("Describe*", times=1)
    assert error_of(ec2.describe_volumes)[0] == "RequestLimitExceeded"
    assert ec2.describe_instances()["Reservations"] == []


def test_other_services_throttle_in_their_own_words(client_of: ClientOf, controls: Controls) -> None:
    controls.throttle("Get*", times=2)
    ssm, quotas = client_of("ssm"), client_of("service-quotas")
    assert error_of(ssm.get_parameter, Name=IMAGE_PARAMETER) == ("ThrottlingException", 400)
    asked = {"ServiceCode": "ec2", "QuotaCode": "L-417A185B"}
    assert error_of(quotas.get_service_quota, **asked) == ("ThrottlingException", 400)


def test_real_buckets_of_describe(ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.throttle_like_aws()
    for _ in range(100):
        ec2.describe_instances(MaxResults=5)
    assert error_of(ec2.describe_instances, MaxResults=5) == ("RequestLimitExceeded", 503)
    assert ec2.describe_volumes(MaxResults=5)["Volumes"] == []
    controls.advance(1)
    for _ in range(20):
        ec2.describe_instances(MaxResults=5)
    assert error_of(ec2.describe_instances, MaxResults=5)[0] == "RequestLimitExceeded"


def test_unfiltered_describe_has_a_smaller_bucket(ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.throttle_like_aws()
    for _ in range(50):
        ec2.describe_volumes()
    assert error_of(ec2.describe_volumes)[0] == "RequestLimitExceeded"


def test_launches_have_request_and_resource_buckets(launch: Launch, controls: Controls) -> None:
    controls.freeze_clock()
    controls.throttle_like_aws()
    for _ in range(5):
        launch()
    assert error_of(launch) == ("RequestLimitExceeded", 503)
    controls.advance(1)
    assert len(launch()) == 1
    assert len(controls.instances()) == 6


def test_a_launch_larger_than_the_resource_bucket_is_throttled(launch: Launch, controls: Controls) -> None:
    controls.freeze_clock()
    controls.throttle_like_aws()
    assert error_of(launch, MaxCount=1001)[0] == "RequestLimitExceeded"


def test_buckets_are_per_region(client_of: ClientOf, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.throttle_like_aws()
    for _ in range(50):
        ec2.describe_volumes()
    assert client_of("ec2", "us-west-2").describe_volumes()["Volumes"] == []


def test_lost_answer_has_its_effect(launch: Launch, controls: Controls) -> None:
    controls.lose_answers("RunInstances")
    with pytest.raises(ConnectionClosedError):
        launch(ClientToken="t", zone="us-east-1a")
    assert [i["token"] for i in controls.instances()] == ["t"]
    assert controls.journal("RunInstances")[-1].delivery == "answer-lost"
    launch(ClientToken="t", zone="us-east-1a")
    assert len(controls.instances()) == 1


def test_lost_request_has_no_effect(launch: Launch, controls: Controls) -> None:
    controls.lose_requests("RunInstances")
    with pytest.raises(ConnectionClosedError):
        launch()
    assert controls.instances() == []
    assert controls.journal("RunInstances")[-1].delivery == "request-lost"


def test_error_after_the_effect(launch: Launch, controls: Controls) -> None:
    controls.fail_after_effect("RunInstances")
    assert error_of(launch) == ("InternalError", 500)
    assert len(controls.instances()) == 1


def test_error_without_effect(launch: Launch, controls: Controls) -> None:
    controls.fail("RunInstances", "Unavailable", "The server is overloaded", 503, times=2)
    assert [error_of(launch) for _ in range(2)] == [("Unavailable", 503)] * 2
    assert controls.instances() == []
    assert len(launch()) == 1


def test_faults_last_until_they_are_cleared(ec2: Any, controls: Controls) -> None:
    controls.fail("Describe*", "InternalError", status=500, times=None)
    assert [error_of(ec2.describe_instances)[1] for _ in range(5)] == [500] * 5
    controls.clear_faults()
    assert ec2.describe_instances()["Reservations"] == []


def test_slow_answer_comes_after_its_effect_and_holds_nobody_up(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.slow_down("RunInstances", 0.05)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(launch)
        while not controls.instances() and time.monotonic() < began + 5:
            ec2.describe_volumes()
        assert len(slow.result()) == 1
    assert time.monotonic() - began >= 0.05


def test_overlapping_launches_with_one_token_start_one_machine(launch: Launch, controls: Controls) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = [pool.submit(launch, ClientToken="t", zone="us-east-1a") for _ in range(8)]
        ids = {run.result()[0]["InstanceId"] for run in started}
    assert [i["id"] for i in controls.instances()] == list(ids)


def test_a_gap_in_the_simulator_is_an_internal_error(
    simulator: RunningSimulator, ec2: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(simulator.cloud.state, "pages", None)
    assert error_of(ec2.describe_instances) == ("InternalError", 500)
    assert "the simulated AWS failed at DescribeInstances" in caplog.text
    assert simulator.controls.calls("DescribeInstances", "InternalError") == 1


def test_wrong_clock(ec2: Any, client_of: ClientOf, controls: Controls) -> None:
    controls.expire_requests()
    assert error_of(ec2.describe_instances) == ("RequestExpired", 400)
    assert error_of(client_of("ssm").get_parameter, Name="/aws/service/x")[0] == "InvalidSignatureException"
    controls.expire_requests(False)
    assert ec2.describe_instances()["Reservations"] == []


def test_machines_are_started_by_run_instances_only(administrator: Any) -> None:
    asked = {"ImageId": "ami-1", "InstanceType": "g5.xlarge"}
    refused = error_of(administrator.request_spot_instances, LaunchSpecification=asked)
    assert refused == ("UnsupportedOperation", 400)


def test_unknown_action_is_refused_as_aws_does(administrator: Any) -> None:
    assert error_of(administrator.describe_trunk_interface_associations) == ("InvalidAction", 400)
