"""What a launched machine is like: hardened, private, with inert user data."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lessor.config import loads
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import Market, Need
from lessor.placing import ec2_places
from lessor.ports import PermanentError
from lessor.providers.aws import Ec2Place, Ec2Provider
from lessor.providers.aws.image import image
from lessor.providers.aws.place import AMI_PARAMETER
from lessor.providers.aws.site import Site
from tests.builders import LEASE_ID
from tests.config.sample import changed
from tests.providers.aws_world import World, instances, launch_first

G5 = Need("A10G", 1)
OTHER_ACCOUNT = "210987654321"
ARM_IMAGE = "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"


@pytest.fixture
def configured(world: World) -> Callable[..., tuple[Ec2Provider, Order]]:
    """A provider for the place with these settings, and an order in it."""

    def make(market: Market = Market.ON_DEMAND, **settings: Any) -> tuple[Ec2Provider, Order]:
        world.places["research"] = replace(world.places["research"], **settings)
        provider = world.provider()
        return provider, world.order(provider, G5, market)

    return make


def described(world: World, leased: Provisioned) -> dict[str, Any]:
    ids = instances(leased.resources)
    found: dict[str, Any] = world.administrator.describe_instances(InstanceIds=ids)["Reservations"][0]["Instances"][0]
    return found


def test_machines_are_hardened(world: World, provider: Ec2Provider) -> None:
    machine = described(world, world.lease(provider, world.order(provider, G5, disk_gib=321)))
    assert machine["MetadataOptions"]["HttpTokens"] == "required"
    assert machine["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    assert "PublicIpAddress" not in machine
    assert machine["IamInstanceProfile"]["Arn"].endswith("instance-profile/lessor-instance")
    assert [m["Ebs"]["DeleteOnTermination"] for m in machine["BlockDeviceMappings"]] == [True]
    volume = world.administrator.describe_volumes()["Volumes"][0]
    assert (volume["Encrypted"], volume["Size"], volume["VolumeType"]) == (True, 321, "gp3")
    groups = [group["GroupId"] for group in machine["NetworkInterfaces"][0]["Groups"]]
    found = world.administrator.describe_security_groups(GroupIds=groups)["SecurityGroups"]
    assert [(g["GroupName"], g["IpPermissions"]) for g in found] == [("lessor-no-inbound", [])]
    asked = world.administrator.describe_instance_attribute(
        InstanceId=machine["InstanceId"], Attribute="instanceInitiatedShutdownBehavior"
    )
    assert asked["InstanceInitiatedShutdownBehavior"]["Value"] == "stop"


def test_access_is_the_whole_command(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    machine = instances(leased.resources)[0]
    assert leased.access == f"aws ssm start-session --target {machine} --region us-east-1"
    assert leased.stoppable
    assert leased.launched_at == world.now().replace(microsecond=0)


def test_one_closed_group_for_all_leases(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    for lease in (LEASE_ID, "gpu-00000002"):
        world.lease(provider, replace(order, lease_id=lease))
    assert world.controls.calls("CreateSecurityGroup") == 1


def test_a_closed_group_that_was_opened_is_not_used(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.lease(provider, order)
    groups = world.administrator.describe_security_groups(
        Filters=[{"Name": "group-name", "Values": ["lessor-no-inbound"]}]
    )
    world.administrator.authorize_security_group_ingress(
        GroupId=groups["SecurityGroups"][0]["GroupId"],
        IpPermissions=[{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
    )
    with pytest.raises(PermanentError, match="inbound rules"):
        launch_first(provider, replace(order, lease_id="gpu-00000002"))


def test_configured_network(world: World, configured: Callable[..., tuple[Ec2Provider, Order]]) -> None:
    vpc = world.administrator.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    subnet = world.administrator.create_subnet(VpcId=vpc, CidrBlock="10.8.1.0/24", AvailabilityZone="us-east-1b")[
        "Subnet"
    ]["SubnetId"]
    group = world.administrator.create_security_group(GroupName="ml", Description="ml", VpcId=vpc)["GroupId"]
    for name in ("ml", group):
        provider, order = configured(zones=("us-east-1b",), subnets={"us-east-1b": subnet}, security_group=name)
        machine = described(world, world.lease(provider, order))
        assert machine["SubnetId"] == subnet
        assert [g["GroupId"] for g in machine["SecurityGroups"]] == [group]
    provider, order = configured(zones=("us-east-1b",), security_group="no-such-group")
    with pytest.raises(PermanentError, match="no-such-group"):
        launch_first(provider, replace(order, lease_id="gpu-00000002"))


def test_a_zone_without_a_subnet_is_passed_over(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    subnets = world.administrator.describe_subnets(Filters=[{"Name": "availability-zone", "Values": ["us-east-1a"]}])
    world.administrator.delete_subnet(SubnetId=subnets["Subnets"][0]["SubnetId"])
    assert world.lease(provider, order).resources[0].zone == "us-east-1b"


def test_an_image_parameter_that_does_not_exist(configured: Callable[..., tuple[Ec2Provider, Order]]) -> None:
    provider, order = configured(ami_parameter="/aws/service/no/such/image")
    with pytest.raises(PermanentError, match="/aws/service/no/such/image"):
        launch_first(provider, order)


def test_arm_machines_start_from_the_image_that_lessor_yaml_names_for_them(world: World) -> None:
    line = "    zones: [us-east-1a]\n"
    [place] = ec2_places(loads(changed(line, f"{line}    ami_parameter_arm: {ARM_IMAGE}\n"))).values()
    assert (place.ami_parameter, place.ami_parameter_arm) == (AMI_PARAMETER, ARM_IMAGE)
    world.places["research"] = replace(place, role_arn="", account="", regions=("us-east-1",))
    provider = world.provider()
    order = world.order(provider, Need("T4G"))
    machine = described(world, world.lease(provider, order))
    found = world.administrator.describe_images(ImageIds=[machine["ImageId"]])["Images"][0]
    assert (machine["InstanceType"], found["Architecture"]) == ("g5g.xlarge", "arm64")
    assert found["Description"] == f"Simulated image of {ARM_IMAGE}"


@pytest.mark.parametrize(
    ("architecture", "key"), [("x86_64", "ami_parameter of research"), ("arm64", "ami_parameter_arm of research")]
)
def test_an_image_that_is_not_there_is_told_with_the_key_to_correct(architecture: str, key: str) -> None:
    answer = {"Parameter": {"Value": "ami-0123456789abcdef0"}}
    ssm = SimpleNamespace(get_parameter=lambda Name: answer)
    place = Ec2Place("research", ("us-east-1",), ami_parameter_arm=ARM_IMAGE)
    site = SimpleNamespace(place=place, region="us-east-1", client=lambda _: ssm, read=lambda *_, **__: [])
    with pytest.raises(PermanentError, match=f"correct {key} in lessor.yaml"):
        image(cast(Site, site), architecture)


def test_user_data_is_inert_and_the_same_every_time(world: World, provider: Ec2Provider) -> None:
    order = replace(world.order(provider, G5), owner="U1'; rm -rf / #\nLEASE\n$(reboot)", team="{{ 7 * 7 }}`id`")
    machine = instances(world.lease(provider, order).resources)[0]
    asked = world.administrator.describe_instance_attribute(InstanceId=machine, Attribute="userData")
    script = base64.b64decode(asked["UserData"]["Value"]).decode()
    assert "owner=U1 rm -rf / LEASE reboot\n" in script
    assert "team=7 7 id\n" in script
    assert [line for line in script.splitlines() if line == "LEASE"] == ["LEASE"]
    assert f"lease={LEASE_ID}\n" in script


def test_an_organisations_own_user_data(world: World, tmp_path: Path) -> None:
    (tmp_path / "aws").mkdir()
    (tmp_path / "aws" / "user-data.sh.j2").write_text("#!/bin/sh\necho {{ lease_id | shell }}\n", encoding="utf-8")
    provider = world.provider(templates=tmp_path)
    machine = instances(world.lease(provider, world.order(provider, G5)).resources)[0]
    asked = world.administrator.describe_instance_attribute(InstanceId=machine, Attribute="userData")
    assert base64.b64decode(asked["UserData"]["Value"]).decode().strip() == f"#!/bin/sh\necho {LEASE_ID}"


def test_user_data_that_is_too_long_is_refused_here(world: World, tmp_path: Path) -> None:
    (tmp_path / "aws").mkdir()
    (tmp_path / "aws" / "user-data.sh.j2").write_text("#" * 17_000, encoding="utf-8")
    provider = world.provider(templates=tmp_path)
    with pytest.raises(PermanentError, match="17,000 bytes"):
        launch_first(provider, world.order(provider, G5))
    assert world.controls.calls("RunInstances") == 0
