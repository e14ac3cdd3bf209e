"""States over time, who may change them, and what AWS does by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lessor.sandbox.aws.controls import Controls

from .conftest import MARKS, ClientOf, error_of, state_of, tag_list

Launch = Callable[..., list[dict[str, Any]]]


def test_states_take_their_time(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.set_delays(pending=30, stopping=40, shutting_down=50, terminated_visible=3600)
    instance = launch()[0]["InstanceId"]
    seen = [state_of(ec2, instance)]
    for act, seconds in (
        (None, 30),
        (ec2.stop_instances, 40),
        (ec2.start_instances, 30),
        (ec2.terminate_instances, 50),
    ):
        if act:
            act(InstanceIds=[instance])
        controls.advance(seconds - 1)
        seen.append(state_of(ec2, instance))
        controls.advance(1)
        seen.append(state_of(ec2, instance))
    assert seen == [
        "pending", "pending", "running", "stopping", "stopped", "pending", "running", "shutting-down", "terminated",
    ]  # fmt: skip
    controls.advance(3599)
    assert state_of(ec2, instance) == "terminated"
    controls.advance(1)
    assert error_of(ec2.describe_instances, InstanceIds=[instance]) == ("InvalidInstanceID.NotFound", 400)


def test_volumes_and_interfaces_live_until_the_end_of_shutting_down(
    launch: Launch, ec2: Any, controls: Controls
) -> None:
    controls.freeze_clock()
    controls.set_delays(shutting_down=60)
    instance = launch()[0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance])
    assert sorted(r.kind for r in controls.leftovers()) == ["instance", "network-interface", "volume"]
    controls.advance(60)
    assert controls.leftovers() == []
    assert ec2.describe_tags(Filters=[{"Name": "resource-type", "Values": ["volume"]}])["Tags"] == []


def test_terminate_is_idempotent(launch: Launch, ec2: Any) -> None:
    instance = launch()[0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance])
    again = ec2.terminate_instances(InstanceIds=[instance])["TerminatingInstances"][0]
    assert (again["PreviousState"]["Name"], again["CurrentState"]["Name"]) == ("terminated", "terminated")


def test_wrong_states_are_refused(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.set_delays(pending=10, stopping=10)
    instance = launch()[0]["InstanceId"]
    assert error_of(ec2.stop_instances, InstanceIds=[instance]) == ("IncorrectInstanceState", 400)
    controls.advance(10)
    ec2.stop_instances(InstanceIds=[instance])
    assert error_of(ec2.start_instances, InstanceIds=[instance]) == ("IncorrectInstanceState", 400)
    ec2.terminate_instances(InstanceIds=[instance])
    assert error_of(ec2.stop_instances, InstanceIds=[instance]) == ("IncorrectInstanceState", 400)


def test_start_needs_capacity(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch(zone="us-east-1a")[0]["InstanceId"]
    ec2.stop_instances(InstanceIds=[instance])
    controls.refuse_capacity("g5.xlarge", "us-east-1a")
    assert error_of(ec2.start_instances, InstanceIds=[instance]) == ("InsufficientInstanceCapacity", 500)
    assert state_of(ec2, instance) == "stopped"


def test_protection_spares_the_zone_and_ends_the_others(launch: Launch, ec2: Any, controls: Controls) -> None:
    here, beside, there = (launch(zone=f"us-east-1{z}")[0]["InstanceId"] for z in "aab")
    controls.protect(here)
    assert error_of(ec2.terminate_instances, InstanceIds=[here, beside, there]) == ("OperationNotPermitted", 400)
    assert [state_of(ec2, i) for i in (here, beside, there)] == ["running", "running", "terminated"]


def test_protection_asked_for_at_launch_and_lifted(launch: Launch, ec2: Any) -> None:
    instance = launch(DisableApiTermination=True)[0]["InstanceId"]
    assert error_of(ec2.terminate_instances, InstanceIds=[instance])[0] == "OperationNotPermitted"
    ec2.modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": False})
    ec2.terminate_instances(InstanceIds=[instance])
    assert state_of(ec2, instance) == "terminated"


def test_new_instances_are_unknown_for_a_while(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.hide_new_instances(seconds=30)
    instance = launch(ClientToken="t")[0]["InstanceId"]
    everything = (ec2.describe_instances, ec2.describe_volumes, ec2.describe_network_interfaces, ec2.describe_tags)
    lists = [next(v for k, v in call().items() if isinstance(v, list)) for call in everything]
    assert lists == [[], [], [], []]
    for act in (ec2.describe_instances, ec2.terminate_instances, ec2.stop_instances, ec2.describe_instance_status):
        assert error_of(act, InstanceIds=[instance]) == ("InvalidInstanceID.NotFound", 400)
    tag = tag_list({**MARKS, "lessor:ends": "2026-12-01T00:00:00Z"})
    assert error_of(ec2.create_tags, Resources=[instance], Tags=tag)[0] == "InvalidInstanceID.NotFound"
    assert launch(ClientToken="t")[0]["InstanceId"] == instance
    controls.advance(30)
    assert state_of(ec2, instance) == "running"
    ec2.create_tags(Resources=[instance], Tags=tag)


def test_new_instances_are_unknown_for_a_number_of_look_ups(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.hide_new_instances(reads=2)
    instance = launch()[0]["InstanceId"]
    assert error_of(ec2.describe_instances, InstanceIds=[instance])[0] == "InvalidInstanceID.NotFound"
    assert ec2.describe_instances()["Reservations"] == []
    assert state_of(ec2, instance) == "running"


def test_a_launch_can_die_while_pending(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.set_delays(pending=20)
    controls.fail_launches("Client.VolumeLimitExceeded", "Volume limit exceeded")
    dying, living = launch()[0]["InstanceId"], launch()[0]["InstanceId"]
    assert state_of(ec2, dying) == "pending"
    controls.advance(20)
    shown = ec2.describe_instances(InstanceIds=[dying])["Reservations"][0]["Instances"][0]
    assert shown["State"]["Name"] == "terminated"
    assert shown["StateReason"] == {
        "Code": "Client.VolumeLimitExceeded",
        "Message": "Client.VolumeLimitExceeded: Volume limit exceeded",
    }
    assert state_of(ec2, living) == "running"


def test_one_time_spot_cannot_be_stopped(launch: Launch, ec2: Any) -> None:
    instance = launch(spot={})[0]["InstanceId"]
    assert error_of(ec2.stop_instances, InstanceIds=[instance]) == ("UnsupportedOperation", 400)
    ec2.terminate_instances(InstanceIds=[instance])
    request = ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]
    assert (request["State"], request["Status"]["Code"]) == ("closed", "instance-terminated-by-user")


def test_persistent_spot_can_be_stopped_and_started(launch: Launch, ec2: Any) -> None:
    persistent = {"SpotInstanceType": "persistent", "InstanceInterruptionBehavior": "stop"}
    instance = launch(spot=persistent)[0]["InstanceId"]
    ec2.stop_instances(InstanceIds=[instance])
    assert state_of(ec2, instance) == "stopped"
    assert ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]["State"] == "disabled"
    ec2.start_instances(InstanceIds=[instance])
    assert ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]["State"] == "active"


def test_an_uncancelled_persistent_request_starts_another_machine(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    first = launch(spot={"SpotInstanceType": "persistent"})[0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[first])
    controls.advance(60)
    alive = controls.instances(state="running") or controls.instances(state="pending")
    assert [(i["market"], i["tags"]) for i in alive] == [("spot", {})]
    assert alive[0]["id"] != first


def test_a_cancelled_persistent_request_starts_nothing(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    instance = launch(spot={"SpotInstanceType": "persistent"})[0]
    request = controls.instances()[0]["spot_request"]
    cancelled = ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[request])["CancelledSpotInstanceRequests"]
    assert cancelled == [{"SpotInstanceRequestId": request, "State": "cancelled"}]
    assert state_of(ec2, instance["InstanceId"]) == "running"
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    controls.advance(600)
    assert controls.leftovers() == []


def test_spot_interruption(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch(spot={})[0]["InstanceId"]
    controls.interrupt_spot(instance)
    shown = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert shown["State"]["Name"] == "terminated"
    assert shown["StateReason"]["Code"] == "Server.SpotInstanceTermination"
    assert shown["StateTransitionReason"].startswith("Service initiated (")
    request = ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]
    assert (request["State"], request["Status"]["Code"]) == ("closed", "instance-terminated-no-capacity")


def test_spot_interruption_can_stop(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch(spot={"SpotInstanceType": "persistent", "InstanceInterruptionBehavior": "stop"})[0]["InstanceId"]
    controls.interrupt_spot(instance)
    shown = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert (shown["State"]["Name"], shown["StateReason"]["Code"]) == ("stopped", "Server.SpotInstanceShutdown")


def test_only_spot_is_interrupted(launch: Launch, controls: Controls) -> None:
    with pytest.raises(ValueError, match="is not a spot instance"):
        controls.interrupt_spot(launch()[0]["InstanceId"])


@pytest.mark.parametrize("verb", ["stop_instances", "terminate_instances"])
def test_a_group_replaces_the_member_that_leaves(launch: Launch, ec2: Any, controls: Controls, verb: str) -> None:
    controls.freeze_clock()
    member = launch()[0]["InstanceId"]
    controls.join_auto_scaling_group(member, "trainers")
    getattr(ec2, verb)(InstanceIds=[member])
    controls.advance(1)
    controls.advance(60)
    controls.advance(1)
    assert {i["id"]: i["state"] for i in controls.instances()}[member] == "terminated"
    alive = controls.instances(state="running")
    assert [(i["group"], i["tags"]) for i in alive] == [("trainers", {"aws:autoscaling:groupName": "trainers"})]


def test_start_renews_the_launch_time(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    instance = launch()[0]["InstanceId"]
    before = ec2.describe_instances()["Reservations"][0]["Instances"][0]["LaunchTime"]
    ec2.stop_instances(InstanceIds=[instance])
    controls.advance(3600)
    ec2.start_instances(InstanceIds=[instance])
    after = ec2.describe_instances()["Reservations"][0]["Instances"][0]["LaunchTime"]
    assert (after - before).total_seconds() == 3600


def test_status_of_running_instances_only(launch: Launch, ec2: Any, client_of: ClientOf) -> None:
    running, stopped = launch()[0]["InstanceId"], launch()[0]["InstanceId"]
    ec2.stop_instances(InstanceIds=[stopped])
    assert [s["InstanceId"] for s in ec2.describe_instance_status()["InstanceStatuses"]] == [running]
    every = ec2.describe_instance_status(IncludeAllInstances=True)["InstanceStatuses"]
    assert {s["InstanceId"]: s["InstanceState"]["Name"] for s in every} == {running: "running", stopped: "stopped"}
