"""The shipped least-privilege policy, enforced: what lessor may do, and what it may not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.identity import administrator_key, shipped_file

from .conftest import IMAGE_PARAMETER, MARKS, ClientOf, error_of, message_of, state_of, tag_list

Launch = Callable[..., list[dict[str, Any]]]
DENIED = ("UnauthorizedOperation", 403)
ROOT = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 100, "Encrypted": True}}


@pytest.mark.parametrize(
    "change",
    [
        {"tags": {"lessor:lease": MARKS["lessor:lease"]}},
        {"tags": {**MARKS, "lessor:managed-by": "somebody"}},
        {"tags": {**MARKS, "lessor:lease": "mine"}},
        {"TagSpecifications": None},
        {"MetadataOptions": {"HttpTokens": "optional"}},
        {"MetadataOptions": None},
        {"BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 100}}]},
        {"BlockDeviceMappings": None},
        {"BlockDeviceMappings": [ROOT, {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 1, "Encrypted": False}}]},
        {"NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}]},
        {"NetworkInterfaces": None},
        {"KeyName": "backdoor"},
        {"IamInstanceProfile": {"Name": "administrator"}},
    ],
)
def test_a_launch_that_is_not_marked_or_hardened_is_denied(
    launch: Launch, controls: Controls, change: dict[str, Any]
) -> None:
    assert error_of(launch, **change) == DENIED
    assert controls.leftovers() == []


def test_a_proper_launch_with_the_instance_role_is_allowed(launch: Launch, ec2: Any) -> None:
    instances = launch(IamInstanceProfile={"Name": "lessor-instance"}, MinCount=2, MaxCount=2)
    shown = ec2.describe_instances(InstanceIds=[i["InstanceId"] for i in instances])["Reservations"][0]["Instances"]
    assert [i["IamInstanceProfile"]["Arn"].rsplit("/", 1)[-1] for i in shown] == ["lessor-instance"] * 2


def test_a_volume_without_encryption_is_denied_and_said_so(launch: Launch) -> None:
    unencrypted = [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 100}}]
    message = message_of(launch, BlockDeviceMappings=unencrypted)
    assert (
        "is not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-east-1:123456789012:volume/*"
        in message
    )
    assert "Encoded authorization failure message: " in message


@pytest.mark.parametrize("verb", ["stop_instances", "terminate_instances", "start_instances"])
def test_machines_of_others_are_out_of_reach(launch: Launch, ec2: Any, administrator: Any, verb: str) -> None:
    foreign = launch(on=administrator, tags={"team": "somebody"})[0]["InstanceId"]
    assert error_of(getattr(ec2, verb), InstanceIds=[foreign]) == DENIED
    assert state_of(ec2, foreign) == "running"


def test_own_and_foreign_machines_in_one_call_are_denied_together(launch: Launch, ec2: Any, administrator: Any) -> None:
    own = launch()[0]["InstanceId"]
    foreign = launch(on=administrator, tags={"team": "somebody"})[0]["InstanceId"]
    assert error_of(ec2.terminate_instances, InstanceIds=[own, foreign]) == DENIED
    assert state_of(ec2, own) == "running"


def test_foreign_things_cannot_be_made_own_by_tagging(launch: Launch, ec2: Any, administrator: Any) -> None:
    foreign = launch(on=administrator, tags={"team": "somebody"})[0]["InstanceId"]
    assert error_of(ec2.create_tags, Resources=[foreign], Tags=tag_list(MARKS)) == DENIED
    volume = administrator.create_volume(AvailabilityZone="us-east-1a", Size=1)["VolumeId"]
    assert error_of(ec2.create_tags, Resources=[volume], Tags=tag_list(MARKS)) == DENIED


def test_a_volume_attached_by_a_user_can_be_attributed_but_not_deleted(
    launch: Launch, ec2: Any, controls: Controls
) -> None:
    instance = launch()[0]["InstanceId"]
    volume = controls.attach_volume(instance)
    ec2.create_tags(Resources=[volume], Tags=tag_list({"lessor:lease": MARKS["lessor:lease"]}))
    ec2.terminate_instances(InstanceIds=[instance])
    assert error_of(ec2.delete_volume, VolumeId=volume) == DENIED
    assert [r.id for r in controls.leftovers(MARKS["lessor:lease"])] == [volume]


def test_own_marks_can_be_renewed_but_not_given_away(launch: Launch, ec2: Any) -> None:
    instance = launch()[0]["InstanceId"]
    ec2.create_tags(Resources=[instance], Tags=tag_list({"lessor:ends": "2026-12-01T00:00:00Z"}))
    assert error_of(ec2.create_tags, Resources=[instance], Tags=tag_list({"lessor:managed-by": "me"})) == DENIED
    assert error_of(ec2.create_tags, Resources=[instance], Tags=tag_list({"team": "x"})) == DENIED
    assert error_of(ec2.delete_tags, Resources=[instance], Tags=[{"Key": "lessor:managed-by"}]) == DENIED


def test_other_apis_are_denied(ec2: Any, client_of: ClientOf, controls: Controls) -> None:
    assert error_of(ec2.create_security_group, GroupName="open", Description="open") == DENIED
    assert error_of(ec2.create_vpc, CidrBlock="10.9.0.0/16") == DENIED
    assert error_of(client_of("ssm").get_parameter, Name="/prod/password") == ("AccessDeniedException", 400)
    assert error_of(client_of("iam").list_users) == ("AccessDenied", 403)


def test_a_marked_group_may_be_created_but_never_opened(ec2: Any) -> None:
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    marks = [{"ResourceType": "security-group", "Tags": tag_list({"lessor:managed-by": "lessor"})}]
    group = ec2.create_security_group(GroupName="closed", Description="closed", VpcId=vpc, TagSpecifications=marks)
    assert ec2.describe_security_groups(GroupIds=[group["GroupId"]])["SecurityGroups"][0]["IpPermissions"] == []
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    assert error_of(ec2.authorize_security_group_ingress, GroupId=group["GroupId"], IpPermissions=[rule]) == DENIED


def test_what_is_not_there_is_not_found_rather_than_denied(ec2: Any) -> None:
    unknown = "i-0123456789abcdef0"
    assert error_of(ec2.terminate_instances, InstanceIds=[unknown]) == ("InvalidInstanceID.NotFound", 400)
    assert error_of(ec2.delete_volume, VolumeId="vol-0123456789abcdef0") == ("InvalidVolume.NotFound", 400)


def test_enforcement_can_be_switched_off(launch: Launch, controls: Controls) -> None:
    controls.enforce_iam(False)
    assert len(launch(MetadataOptions={"HttpTokens": "optional"})) == 1


def test_a_single_denial_on_top(launch: Launch, controls: Controls) -> None:
    controls.deny("ec2:RunInstances")
    assert error_of(launch) == DENIED
    controls.allow_again()
    assert len(launch()) == 1


def test_another_policy_file(launch: Launch, ec2: Any, controls: Controls, tmp_path: Any) -> None:
    policy = tmp_path / "read-only.json"
    statement = {"Effect": "Allow", "Action": ["ec2:Describe*", "ssm:GetParameter"], "Resource": "*"}
    policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    controls.enforce_iam(policies=[str(policy)])
    assert ec2.describe_instances()["Reservations"] == []
    assert error_of(launch) == DENIED


def test_another_account_by_assumed_role(launch: Launch, client_of: ClientOf, controls: Controls) -> None:
    role = controls.add_account("210987654321", "lessor-7f3a")
    sts = client_of("sts")
    given = sts.assume_role(RoleArn=role, RoleSessionName="lessor", ExternalId="lessor-7f3a")["Credentials"]
    as_role = {"key": given["AccessKeyId"], "token": given["SessionToken"]}
    assert client_of("sts", **as_role).get_caller_identity()["Arn"] == (
        "arn:aws:sts::210987654321:assumed-role/lessor/lessor"
    )
    there = client_of("ec2", **as_role)
    launch(on=there)
    assert [(i["account"], i["region"]) for i in controls.instances()] == [("210987654321", "us-east-1")]
    assert client_of("ec2").describe_instances()["Reservations"] == []
    assert error_of(launch, on=there, MetadataOptions={"HttpTokens": "optional"}) == DENIED


@pytest.mark.parametrize("external_id", [None, "wrong"])
def test_the_external_id_must_fit(client_of: ClientOf, controls: Controls, external_id: str | None) -> None:
    role = controls.add_account("210987654321", "lessor-7f3a")
    asked = {"RoleArn": role, "RoleSessionName": "lessor"} | ({"ExternalId": external_id} if external_id else {})
    assert error_of(client_of("sts").assume_role, **asked) == ("AccessDenied", 403)


def test_unknown_roles_and_roles_of_another_name(client_of: ClientOf, controls: Controls) -> None:
    assume = client_of("sts").assume_role
    unknown = "arn:aws:iam::210987654321:role/lessor"
    assert error_of(assume, RoleArn=unknown, RoleSessionName="lessor", ExternalId="yy")[0] == "AccessDenied"
    other = controls.add_account("210987654321", "yy", role_name="billing")
    assert error_of(assume, RoleArn=other, RoleSessionName="lessor", ExternalId="yy")[0] == "AccessDenied"


def test_administrators_of_another_account(launch: Launch, client_of: ClientOf, controls: Controls) -> None:
    controls.add_account("210987654321", "yy")
    launch(on=client_of("ec2", key=administrator_key("210987654321")), MetadataOptions=None, TagSpecifications=None)
    assert [i["account"] for i in controls.instances()] == ["210987654321"]


def test_member_accounts_get_the_same_policy_without_the_way_onwards() -> None:
    home, member = (
        json.loads(shipped_file(name).read_text(encoding="utf-8"))["Statement"]
        for name in ("lessor-policy.json", "member-account-policy.json")
    )
    assert [s for s in home if s["Sid"] != "BecomeLessorInOtherAccounts"] == member
    assert all("sts:AssumeRole" not in json.dumps(s) for s in member)


READ_ONLY = ("ec2:Describe", "pricing:", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics")
"""What AWS grants on everything or not at all, and what changes nothing."""


def test_no_statement_is_wide_open() -> None:
    statements = json.loads(shipped_file("lessor-policy.json").read_text(encoding="utf-8"))["Statement"]
    for statement in statements:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert all("*" not in action for action in actions)
        if any(not a.startswith(READ_ONLY) for a in actions) and statement["Resource"] == "*":
            assert statement["Condition"]["StringEquals"] == {"aws:ResourceTag/lessor:managed-by": "lessor"}


def test_public_image_parameters_are_readable(client_of: ClientOf) -> None:
    assert client_of("ssm").get_parameter(Name=IMAGE_PARAMETER)["Parameter"]["Value"].startswith("ami-")
