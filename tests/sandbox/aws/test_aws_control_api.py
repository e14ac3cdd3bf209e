"""The switches over HTTP, and the program."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.aws.control_api import switch_names
from lessor.sandbox.aws.persistence import StateFile
from lessor.sandbox.aws.server import RunningSimulator, running_aws_simulator

from .conftest import LEASE, ClientOf, error_of, image, launch_request, state_of

Launch = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def remote(simulator: RunningSimulator) -> SimulatorClient:
    return SimulatorClient(simulator.url)


def test_switches_work_from_outside(launch: Launch, remote: SimulatorClient) -> None:
    remote.switch("refuse_capacity", instance_type="g5.xlarge", zone="us-east-1a")
    assert error_of(launch, zone="us-east-1a")[0] == "InsufficientInstanceCapacity"
    remote.switch("restore_capacity")
    instance = launch(zone="us-east-1a")[0]["InstanceId"]
    volume = remote.switch("attach_volume", instance_id=instance, size_gib=5)
    assert volume.startswith("vol-")
    assert {r["kind"] for r in remote.leftovers(LEASE)} == {"instance", "volume", "network-interface"}
    assert volume in [r["id"] for r in remote.leftovers()]


def test_state_tells_what_is_switched_and_what_happened(launch: Launch, remote: SimulatorClient) -> None:
    remote.switch("throttle", action="RunInstances", times=2)
    remote.switch("deny", action="ec2:TerminateInstances")
    error_of(launch)
    state = remote.state()
    assert [f["times"] for f in state["switches"]["faults"]] == [1]
    assert state["switches"]["denied"] == ["Deny ec2:TerminateInstances on *"]
    newest = state["calls"][0]
    assert (newest["action"], newest["error"], newest["delivery"]) == (
        "RunInstances",
        "RequestLimitExceeded",
        "answered",
    )
    assert newest["principal"] == "assumed-role/lessor/sandbox"
    assert state["counts"]["RunInstances"] == 1


def test_faults_are_cleared_by_what_they_are(remote: SimulatorClient) -> None:
    remote.switch("throttle", times=9)
    remote.switch("fail", action="*", code="InternalError", times=None)
    remote.switch("lose_answers", action="RunInstances")

    def left() -> list[tuple[str, str]]:
        return [(fault["kind"], fault["action"]) for fault in remote.state()["switches"]["faults"]]

    remote.switch("clear_faults", kind="error", code="RequestLimitExceeded")
    assert left() == [("error", "*"), ("lose-answer", "RunInstances")]
    remote.switch("clear_faults", kind="lose-answer", action="StopInstances")
    assert left() == [("error", "*"), ("lose-answer", "RunInstances")]
    remote.switch("clear_faults", kind="lose-answer")
    assert left() == [("error", "*")]
    remote.switch("clear_faults")
    assert left() == []


def test_limits_of_different_names_stand_side_by_side(launch: Launch, remote: SimulatorClient) -> None:
    remote.switch("refuse_capacity", name="none")
    remote.switch("limit_capacity", free=2, name="few")
    assert error_of(launch)[0] == "InsufficientInstanceCapacity"
    remote.switch("restore_capacity", name="none", zone="us-east-1a")
    remote.switch("restore_capacity", name="none")
    assert [(one["name"], one["free"]) for one in remote.state()["switches"]["capacity"]["limits"]] == [("few", 2)]
    assert len(launch(MinCount=2, MaxCount=2)) == 2
    assert error_of(launch)[0] == "InsufficientInstanceCapacity"
    remote.switch("restore_capacity")
    assert remote.state()["switches"]["capacity"]["limits"] == []
    assert len(launch()) == 1


def test_reset_from_outside(launch: Launch, remote: SimulatorClient) -> None:
    launch()
    remote.reset()
    state = remote.state()
    assert (state["instances"], state["leftovers"], state["calls"]) == ([], [], [])


def test_wrong_switches_and_arguments_are_explained(remote: SimulatorClient) -> None:
    with pytest.raises(ValueError, match=r"there is no switch 'explode'; there are: .*refuse_capacity"):
        remote.switch("explode")
    with pytest.raises(ValueError, match="refuse_capacity: got an unexpected keyword argument 'colour'"):
        remote.switch("refuse_capacity", colour="red")
    with pytest.raises(ValueError, match="there is no instance 'i-0'"):
        remote.switch("interrupt_spot", instance_id="i-0")
    with pytest.raises(ValueError, match="unknown quota code 'L-0'"):
        remote.switch("set_quota", code="L-0", value=1)


def test_questions_are_no_switches() -> None:
    assert {"refuse_capacity", "advance", "interrupt_spot"} <= set(switch_names())
    assert not {"leftovers", "snapshot", "calls"} & set(switch_names())


def test_a_second_simulator_in_one_process_is_refused(simulator: RunningSimulator) -> None:
    with pytest.raises(RuntimeError, match="already runs in this process"), running_aws_simulator():
        pass


@contextmanager
def program(*arguments: str, end: signal.Signals = signal.SIGTERM) -> Iterator[tuple[str, str]]:
    """The simulated AWS as a process of its own: its URL and how it says it begins. Ended with `end`."""
    command = [sys.executable, "-m", "lessor.sandbox.aws", "--instant", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\d.:]+", process.stdout.readline())
        assert found is not None
        yield found[0], process.stdout.readline()
    finally:
        process.send_signal(end)
        assert process.wait(60) == (0 if end is signal.SIGTERM else -end)
        process.stdout.close()


def ec2_at(url: str) -> Any:
    return boto3.client(
        "ec2", region_name="us-east-1", endpoint_url=url, aws_access_key_id="any", aws_secret_access_key="any"
    )


def test_it_runs_as_a_program() -> None:
    with program() as (url, beginning):
        assert beginning == "It begins empty and lives in memory: what you launch is gone when it stops.\n"
        assert ec2_at(url).describe_instances()["Reservations"] == []
        assert SimulatorClient(url).state()["counts"] == {"DescribeInstances": 1}


def test_machines_survive_a_killed_sandbox(client_of: ClientOf, simulator: RunningSimulator, tmp_path: Path) -> None:
    kept = tmp_path / "aws" / "state"
    request = launch_request(image(client_of), ClientToken="t", spot={})
    with program("--state", str(kept), end=signal.SIGKILL) as (url, beginning):
        assert "begins empty" in beginning
        instance = ec2_at(url).run_instances(**request)["Instances"][0]["InstanceId"]
    with program("--state", str(kept)) as (url, beginning):
        assert "with 1 remembered machines" in beginning
        ec2 = ec2_at(url)
        assert state_of(ec2, instance) == "running"
        assert ec2.run_instances(**request)["Instances"][0]["InstanceId"] == instance
        ec2.terminate_instances(InstanceIds=[instance])
        assert SimulatorClient(url).leftovers() == []


def test_an_unreadable_state_file_is_set_aside(simulator: RunningSimulator, tmp_path: Path) -> None:
    kept = tmp_path / "state"
    kept.write_bytes(b"nonsense")
    assert "could not be read" in StateFile(kept).load(simulator.cloud)
    assert not kept.exists()
    assert simulator.controls.instances() == []
    assert (tmp_path / "state.unreadable").read_bytes() == b"nonsense"
