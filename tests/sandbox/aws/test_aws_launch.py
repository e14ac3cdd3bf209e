"""RunInstances: idempotency, refusals in EC2's words, partial fulfilment, what is created and how it is marked."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lessor.sandbox.aws.controls import Controls

from .conftest import IMAGE_PARAMETER, MARKS, ClientOf, error_of, image, launch_request, message_of, tag_list

Launch = Callable[..., list[dict[str, Any]]]


def test_same_token_and_request_gives_the_same_instance(launch: Launch, controls: Controls) -> None:
    first = launch(ClientToken="lease-1", zone="us-east-1a")
    second = launch(ClientToken="lease-1", zone="us-east-1a")
    assert [i["InstanceId"] for i in first] == [i["InstanceId"] for i in second]
    assert len(controls.instances()) == 1
    assert controls.calls("RunInstances") == 2


def test_token_is_per_zone_when_a_zone_is_named(launch: Launch, controls: Controls) -> None:
    launch(ClientToken="lease-1", zone="us-east-1a")
    launch(ClientToken="lease-1", zone="us-east-1b")
    assert sorted(i["zone"] for i in controls.instances()) == ["us-east-1a", "us-east-1b"]


def test_the_subnet_names_the_zone(launch: Launch, ec2: Any, controls: Controls) -> None:
    subnets = {s["AvailabilityZone"]: s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]}
    for zone in ("us-east-1a", "us-east-1b", "us-east-1a"):
        interface = {"DeviceIndex": 0, "AssociatePublicIpAddress": False, "SubnetId": subnets[zone]}
        launch(ClientToken="lease-1", NetworkInterfaces=[interface])
    assert sorted(i["zone"] for i in controls.instances()) == ["us-east-1a", "us-east-1b"]


def test_token_is_per_region_without_a_zone(launch: Launch, client_of: ClientOf, controls: Controls) -> None:
    launch(ClientToken="lease-1")
    launch(ClientToken="lease-1")
    launch(on=client_of("ec2", "us-west-2"), ClientToken="lease-1")
    assert sorted(i["region"] for i in controls.instances()) == ["us-east-1", "us-west-2"]


@pytest.mark.parametrize("change", [{"InstanceType": "g5.2xlarge"}, {"tags": {**MARKS, "lessor:ends": "later"}}])
def test_other_parameters_under_one_token_are_a_mismatch(
    launch: Launch, controls: Controls, change: dict[str, Any]
) -> None:
    launch(ClientToken="lease-1", zone="us-east-1a")
    assert error_of(launch, ClientToken="lease-1", zone="us-east-1a", **change) == ("IdempotentParameterMismatch", 400)
    assert len(controls.instances()) == 1


def test_a_refused_launch_binds_its_token_too(launch: Launch, controls: Controls) -> None:
    controls.refuse_capacity("p5.48xlarge")
    assert error_of(launch, ClientToken="t", InstanceType="p5.48xlarge")[0] == "InsufficientInstanceCapacity"
    assert error_of(launch, ClientToken="t", InstanceType="p4d.24xlarge")[0] == "IdempotentParameterMismatch"
    controls.restore_capacity("p5.48xlarge")
    assert launch(ClientToken="t", InstanceType="p5.48xlarge")[0]["InstanceType"] == "p5.48xlarge"


def test_the_token_of_a_dead_instance_is_refused(launch: Launch, ec2: Any) -> None:
    instance = launch(ClientToken="t")[0]
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert error_of(launch, ClientToken="t") == ("IdempotentInstanceTerminated", 400)


@pytest.mark.parametrize("token", ["x" * 65, "lease-ä"])
def test_tokens_are_short_and_ascii(launch: Launch, controls: Controls, token: str) -> None:
    assert error_of(launch, ClientToken=token) == ("InvalidParameterValue", 400)
    assert controls.instances() == []


def test_a_token_of_64_characters_is_accepted_and_shown(launch: Launch, ec2: Any) -> None:
    launch(ClientToken="x" * 64)
    shown = ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["x" * 64]}])
    assert [r["Instances"][0]["ClientToken"] for r in shown["Reservations"]] == ["x" * 64]


def test_no_capacity_in_one_zone_names_the_others(launch: Launch, controls: Controls) -> None:
    controls.refuse_capacity("g5.xlarge", "us-east-1a")
    with pytest.raises(ClientError) as caught:
        launch(zone="us-east-1a")
    error = caught.value.response
    assert error["Error"]["Code"] == "InsufficientInstanceCapacity"
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert "(us-east-1a)" in error["Error"]["Message"]
    assert "us-east-1b, us-east-1c, us-east-1d, us-east-1f" in error["Error"]["Message"]
    assert launch(zone="us-east-1b")[0]["Placement"]["AvailabilityZone"] == "us-east-1b"


def test_without_a_zone_the_launch_goes_where_capacity_is(launch: Launch, controls: Controls) -> None:
    controls.refuse_capacity("g5.*", "us-east-1[abc]")
    assert launch()[0]["Placement"]["AvailabilityZone"] == "us-east-1d"
    controls.refuse_capacity("g5.*")
    assert error_of(launch)[0] == "InsufficientInstanceCapacity"


def test_capacity_can_differ_by_market(launch: Launch, controls: Controls) -> None:
    controls.refuse_capacity(market="spot")
    assert "no Spot capacity" in message_of(launch, spot={})
    assert launch()[0]["State"]["Name"] == "pending"


def test_fewer_machines_than_asked(launch: Launch, controls: Controls) -> None:
    controls.limit_capacity(5, "g5.xlarge", "us-east-1a")
    assert len(launch(MinCount=1, MaxCount=8, zone="us-east-1a")) == 5
    assert len(controls.instances()) == 5
    assert error_of(launch, zone="us-east-1a")[0] == "InsufficientInstanceCapacity"


def test_a_minimum_above_the_capacity_launches_nothing(launch: Launch, controls: Controls) -> None:
    controls.limit_capacity(5, "g5.xlarge", "us-east-1a")
    assert error_of(launch, MinCount=8, MaxCount=8, zone="us-east-1a")[0] == "InsufficientInstanceCapacity"
    assert controls.instances() == []


def test_the_maximum_counts_where_capacity_is_unlimited(launch: Launch) -> None:
    assert len(launch(MinCount=1, MaxCount=3)) == 3


def test_type_that_the_zone_does_not_offer(launch: Launch, ec2: Any, controls: Controls) -> None:
    assert error_of(launch, zone="us-east-1e") == ("Unsupported", 400)
    controls.refuse_type("g5.xlarge", "us-east-1a")
    assert "choosing us-east-1b, us-east-1c, us-east-1d, us-east-1f" in message_of(launch, zone="us-east-1a")
    offerings = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["g5.xlarge"]}]
    )["InstanceTypeOfferings"]
    assert sorted(o["Location"][-1] for o in offerings) == ["b", "c", "d", "f"]


def test_vcpu_quota_counts_vcpus_of_the_family(launch: Launch, controls: Controls) -> None:
    controls.set_quota("L-417A185B", 200)
    launch(InstanceType="p5.48xlarge")
    assert error_of(launch, InstanceType="p5.48xlarge") == ("VcpuLimitExceeded", 400)
    assert "vCPU limit of 200" in message_of(launch, InstanceType="p5.48xlarge")
    assert launch(InstanceType="g5.xlarge")[0]["InstanceType"] == "g5.xlarge"


def test_quota_is_freed_by_a_stop(launch: Launch, ec2: Any, controls: Controls) -> None:
    controls.set_quota("L-DB2E81BA", 4)
    first = launch()[0]["InstanceId"]
    assert error_of(launch)[0] == "VcpuLimitExceeded"
    ec2.stop_instances(InstanceIds=[first])
    launch()
    assert error_of(ec2.start_instances, InstanceIds=[first])[0] == "VcpuLimitExceeded"


def test_spot_limits(launch: Launch, controls: Controls) -> None:
    controls.set_quota("L-3819A6DF", 0)
    assert error_of(launch, spot={}) == ("MaxSpotInstanceCountExceeded", 400)
    controls.set_quota("L-3819A6DF", 1000)
    controls.limit_spot_instances(1)
    launch(spot={})
    assert error_of(launch, spot={})[0] == "MaxSpotInstanceCountExceeded"


def test_a_low_spot_price_is_refused(launch: Launch) -> None:
    assert error_of(launch, spot={"MaxPrice": "0.01"}) == ("SpotMaxPriceTooLow", 400)
    assert launch(spot={"MaxPrice": "1.01"})[0]["InstanceLifecycle"] == "spot"


def test_unknown_image_type_and_zone(launch: Launch) -> None:
    assert error_of(launch, ImageId="ami-0123456789abcdef0") == ("InvalidAMIID.NotFound", 400)
    assert error_of(launch, ImageId="debian")[0] == "InvalidAMIID.Malformed"
    assert error_of(launch, InstanceType="p99.huge") == ("InvalidParameterValue", 400)
    assert error_of(launch, zone="us-east-1z") == ("InvalidParameterValue", 400)


def test_user_data_has_a_size_limit(launch: Launch, ec2: Any) -> None:
    assert error_of(launch, UserData="x" * 16385) == ("InvalidParameterValue", 400)
    instance = launch(UserData="#!/bin/sh\necho ä")[0]["InstanceId"]
    kept = ec2.describe_instance_attribute(InstanceId=instance, Attribute="userData")["UserData"]["Value"]
    assert base64.b64decode(kept).decode() == "#!/bin/sh\necho ä"


def test_everything_that_a_launch_creates_is_marked(launch: Launch, ec2: Any) -> None:
    instance = launch(spot={}, zone="us-east-1a")[0]["InstanceId"]
    shown = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    volume = ec2.describe_volumes(VolumeIds=[shown["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]])["Volumes"][0]
    interface = ec2.describe_network_interfaces(
        NetworkInterfaceIds=[shown["NetworkInterfaces"][0]["NetworkInterfaceId"]]
    )["NetworkInterfaces"][0]
    requests = ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[shown["SpotInstanceRequestId"]])
    request = requests["SpotInstanceRequests"][0]
    for tags in (shown["Tags"], volume["Tags"], interface["TagSet"], request["Tags"]):
        assert {tag["Key"]: tag["Value"] for tag in tags} == MARKS
    assert (request["State"], request["Status"]["Code"], request["Type"]) == ("active", "fulfilled", "one-time")
    assert request["InstanceId"] == instance


def test_spot_tags_without_a_spot_request_are_refused(launch: Launch) -> None:
    kinds = ("instance", "volume", "network-interface", "spot-instances-request")
    tags = [{"ResourceType": kind, "Tags": tag_list(MARKS)} for kind in kinds]
    assert error_of(launch, TagSpecifications=tags) == ("InvalidParameterCombination", 400)


def test_hardening_options_are_kept(launch: Launch, ec2: Any) -> None:
    instance = launch()[0]["InstanceId"]
    shown = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert (shown["MetadataOptions"]["HttpTokens"], shown["MetadataOptions"]["HttpPutResponseHopLimit"]) == (
        "required",
        1,
    )
    assert "PublicIpAddress" not in shown
    volume = ec2.describe_volumes(VolumeIds=[shown["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]])["Volumes"][0]
    assert (volume["Encrypted"], volume["Size"], volume["VolumeType"]) == (True, 100, "gp3")


def test_a_default_subnet_gives_a_public_address_unless_told_otherwise(launch: Launch, administrator: Any) -> None:
    instance = launch(on=administrator, NetworkInterfaces=None)[0]["InstanceId"]
    shown = administrator.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert shown["PublicIpAddress"].count(".") == 3


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ({"k" * 129: "v"}, "InvalidParameterValue"),
        ({"k": "v" * 257}, "InvalidParameterValue"),
        ({"AWS:team": "v"}, "InvalidParameterValue"),
        ({"why": "because 🎉"}, "InvalidParameterValue"),
        ({"why": "line\nbreak"}, "InvalidParameterValue"),
        ({f"k{n}": "v" for n in range(51)}, "TagLimitExceeded"),
    ],
)
def test_a_bad_tag_fails_the_whole_launch(
    launch: Launch, administrator: Any, controls: Controls, tags: dict[str, str], code: str
) -> None:
    assert error_of(launch, on=administrator, tags=tags) == (code, 400)
    assert controls.leftovers() == []


def test_bare_ec2_accepts_any_character(launch: Launch, controls: Controls) -> None:
    controls.accept_any_tag_character()
    assert len(launch(tags={**MARKS, "why": "because, 🎉"})) == 1


def test_letters_of_all_scripts_and_the_shared_signs_are_fine(launch: Launch) -> None:
    assert len(launch(tags={**MARKS, "Zweck": "größe 学習 + - = . _ : / @"})) == 1


def test_ec2_resolves_image_parameters_itself(launch: Launch, client_of: ClientOf) -> None:
    named = launch(ImageId=f"resolve:ssm:{IMAGE_PARAMETER}")[0]
    assert named["ImageId"] == image(client_of)


def test_dry_run_changes_nothing(ec2: Any, client_of: ClientOf, controls: Controls) -> None:
    request = launch_request(image(client_of), DryRun=True)
    assert error_of(ec2.run_instances, **request)[0] == "DryRunOperation"
    assert controls.leftovers() == []
