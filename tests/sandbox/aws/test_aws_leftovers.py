"""What termination leaves behind, and what it takes to be rid of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lessor.sandbox.aws.controls import Controls

from .conftest import LEASE, MARKS, error_of, tag_list

Launch = Callable[..., list[dict[str, Any]]]
DISKS = [
    {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 50, "Encrypted": True}},
    {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 500, "Encrypted": True, "DeleteOnTermination": False}},
]


def kinds(controls: Controls, lease: str | None = None) -> list[tuple[str, str]]:
    return sorted((r.kind, r.state) for r in controls.leftovers(lease))


def test_a_plain_launch_leaves_nothing(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch()[0]["InstanceId"]
    assert kinds(controls, LEASE) == [("instance", "running"), ("network-interface", "in-use"), ("volume", "in-use")]
    ec2.terminate_instances(InstanceIds=[instance])
    assert kinds(controls) == []


def test_a_disk_without_delete_on_termination_survives(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch(BlockDeviceMappings=DISKS)[0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance])
    assert kinds(controls, LEASE) == [("volume", "available")]
    volume = ec2.describe_volumes()["Volumes"][0]
    assert (volume["Size"], volume["State"], volume["Attachments"]) == (500, "available", [])
    ec2.delete_volume(VolumeId=volume["VolumeId"])
    assert kinds(controls) == []


def test_the_root_disk_is_there_and_goes_even_when_unmentioned(launch: Launch, administrator: Any) -> None:
    extra = [{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 1, "DeleteOnTermination": False}}]
    instance = launch(on=administrator, BlockDeviceMappings=extra)[0]["InstanceId"]
    shown = administrator.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    flags = {m["DeviceName"]: m["Ebs"]["DeleteOnTermination"] for m in shown["BlockDeviceMappings"]}
    assert flags == {"/dev/sda1": True, "/dev/sdf": False}
    administrator.terminate_instances(InstanceIds=[instance])
    assert [v["Size"] for v in administrator.describe_volumes()["Volumes"]] == [1]


def test_what_users_attach_survives(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch()[0]["InstanceId"]
    volume = controls.attach_volume(instance, 200)
    interface = controls.attach_interface(instance)
    address = controls.associate_address(instance, tags=MARKS)
    attached = {r.id: (r.state, r.attached_to) for r in controls.leftovers()}
    assert attached[volume] == ("in-use", instance)
    assert attached[interface] == ("in-use", instance)
    assert attached[address] == ("associated", instance)
    ec2.terminate_instances(InstanceIds=[instance])
    assert {r.id: (r.state, r.attached_to) for r in controls.leftovers()} == {
        volume: ("available", None),
        interface: ("available", None),
        address: ("free", None),
    }
    assert [r.id for r in controls.leftovers(LEASE)] == [address]


def test_a_free_address_can_be_released_and_a_used_one_cannot(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch()[0]["InstanceId"]
    address = controls.associate_address(instance, tags=MARKS)
    assert error_of(ec2.release_address, AllocationId=address) == ("InvalidIPAddress.InUse", 400)
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.release_address(AllocationId=address)
    assert kinds(controls) == []


def test_a_used_interface_cannot_be_deleted(launch: Launch, ec2: Any, controls: Controls) -> None:
    launch()
    interface = ec2.describe_network_interfaces()["NetworkInterfaces"][0]["NetworkInterfaceId"]
    assert error_of(ec2.delete_network_interface, NetworkInterfaceId=interface)[0] == "InvalidNetworkInterface.InUse"


def test_a_used_volume_cannot_be_deleted(launch: Launch, ec2: Any) -> None:
    launch()
    volume = ec2.describe_volumes()["Volumes"][0]["VolumeId"]
    assert error_of(ec2.delete_volume, VolumeId=volume)[0] == "VolumeInUse"


def test_a_snapshot_stays_until_it_is_deleted(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch()[0]["InstanceId"]
    volume = ec2.describe_volumes()["Volumes"][0]["VolumeId"]
    tags = [{"ResourceType": "snapshot", "Tags": tag_list(MARKS)}]
    snapshot = ec2.create_snapshot(VolumeId=volume, TagSpecifications=tags)["SnapshotId"]
    ec2.terminate_instances(InstanceIds=[instance])
    assert kinds(controls, LEASE) == [("snapshot", "completed")]
    assert [s["SnapshotId"] for s in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]] == [snapshot]
    ec2.delete_snapshot(SnapshotId=snapshot)
    assert kinds(controls) == []


def test_snapshots_take_their_time_and_may_fail(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.freeze_clock()
    controls.slow_snapshots(seconds=300, failures=1)
    launch()
    volume = ec2.describe_volumes()["Volumes"][0]["VolumeId"]
    tags = [{"ResourceType": "snapshot", "Tags": tag_list(MARKS)}]
    made = [ec2.create_snapshot(VolumeId=volume, TagSpecifications=tags) for _ in range(2)]
    assert [s["State"] for s in made] == ["pending", "pending"]
    controls.advance(299)
    assert [s["State"] for s in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]] == ["pending", "pending"]
    controls.advance(1)
    states = {s["SnapshotId"]: s["State"] for s in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]}
    assert [states[s["SnapshotId"]] for s in made] == ["error", "completed"]


def test_an_open_spot_request_is_a_left_over(launch: Launch, ec2: Any, controls: Controls) -> None:
    instance = launch(spot={"SpotInstanceType": "persistent"})[0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance])
    assert kinds(controls, LEASE) == [("spot-request", "open")]
    request = ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]["SpotInstanceRequestId"]
    ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[request])
    assert kinds(controls) == []


def test_creating_a_volume_twice_with_one_token_creates_one(ec2: Any, controls: Controls) -> None:
    asked = {
        "AvailabilityZone": "us-east-1a",
        "Size": 10,
        "Encrypted": True,
        "ClientToken": "v",
        "TagSpecifications": [{"ResourceType": "volume", "Tags": tag_list(MARKS)}],
    }
    first, second = ec2.create_volume(**asked), ec2.create_volume(**asked)
    assert first["VolumeId"] == second["VolumeId"]
    assert error_of(ec2.create_volume, **{**asked, "Size": 11})[0] == "IdempotentParameterMismatch"
    assert kinds(controls) == [("volume", "available")]


def test_tags_go_with_the_resource(ec2: Any, controls: Controls) -> None:
    tags = [{"ResourceType": "volume", "Tags": tag_list(MARKS)}]
    volume = ec2.create_volume(AvailabilityZone="us-east-1a", Size=10, Encrypted=True, TagSpecifications=tags)[
        "VolumeId"
    ]
    assert len(ec2.describe_tags()["Tags"]) == 2
    ec2.delete_volume(VolumeId=volume)
    assert ec2.describe_tags()["Tags"] == []


def test_a_resource_holds_fifty_tags(launch: Launch, administrator: Any) -> None:
    instance = launch()[0]["InstanceId"]
    administrator.create_tags(Resources=[instance], Tags=tag_list({f"k{n}": "v" for n in range(48)}))
    one_more = tag_list({"k48": "v"})
    assert error_of(administrator.create_tags, Resources=[instance], Tags=one_more) == ("TagLimitExceeded", 400)
    administrator.create_tags(Resources=[instance], Tags=tag_list({"k0": "changed"}))
