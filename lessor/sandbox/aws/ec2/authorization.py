"""What an EC2 call asks of IAM: every resource it touches, with the condition keys that EC2 gives for each.

Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon EC2".
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

from lessor.sandbox.aws.ec2.base import Ec2Actions
from lessor.sandbox.aws.errors import AwsError
from lessor.sandbox.aws.policy import AuthorizationRequest

_KINDS = {
    "i": "instance",
    "vol": "volume",
    "eni": "network-interface",
    "snap": "snapshot",
    "sir": "spot-instances-request",
    "eipalloc": "elastic-ip",
    "ami": "image",
    "sg": "security-group",
    "subnet": "subnet",
}
_ID_PARAMETERS = (
    "InstanceId",
    "InstanceIds",
    "VolumeId",
    "SnapshotId",
    "NetworkInterfaceId",
    "AllocationId",
    "SpotInstanceRequestIds",
    "Resources",
)
_CREATES = {
    "CreateVolume": "volume",
    "CreateSnapshot": "snapshot",
    "CreateNetworkInterface": "network-interface",
    "AllocateAddress": "elastic-ip",
    "CreateSecurityGroup": "security-group",
}


def authorize(call: Ec2Actions) -> None:
    """Raise `UnauthorizedOperation` for the first thing that the caller's policies do not allow."""
    identities = call.state.identities
    if not identities.restricts(call.caller):
        return
    for request in authorization_requests(call):
        if not identities.check(call.caller, request):
            raise unauthorized(call.caller.arn, request)


def authorization_requests(call: Ec2Actions) -> Iterator[AuthorizationRequest]:
    """The questions that EC2 asks IAM about this call, in its order."""
    action = call._get_action()
    if action.startswith("Describe"):
        yield AuthorizationRequest(f"ec2:{action}", "*", {"ec2:region": [call.region]})
    elif action == "RunInstances":
        yield from _launch_requests(call)
    else:
        yield from _resource_requests(call, action)
    for kind, tags in call.tag_specifications().items():
        context = {**_request_tags(tags), "ec2:createaction": [action]}
        yield AuthorizationRequest("ec2:CreateTags", _arn(call, kind, "*"), context)


def unauthorized(caller_arn: str, request: AuthorizationRequest) -> AwsError:
    encoded = base64.urlsafe_b64encode(
        zlib.compress(json.dumps({"action": request.action, "resource": request.resource}).encode())
    ).decode()
    return AwsError(
        "UnauthorizedOperation",
        f"You are not authorized to perform this operation. User: {caller_arn} is not authorized to perform: "
        f"{request.action} on resource: {request.resource} because no identity-based policy allows the "
        f"{request.action} action. Encoded authorization failure message: {encoded}",
        403,
    )


def _launch_requests(call: Ec2Actions) -> Iterator[AuthorizationRequest]:
    tags = call.tag_specifications()
    created: dict[str, list[dict[str, list[str]]]] = {
        "instance": [_instance_keys(call)],
        "volume": [_volume_keys(m.get("Ebs", {})) for m in call._get_param("BlockDeviceMappings", [])]
        or [{"ec2:encrypted": ["false"]}],
        "network-interface": [_interface_keys(i) for i in call._get_param("NetworkInterfaces", [])] or [{}],
    }
    if call._get_param("InstanceMarketOptions.MarketType") == "spot":
        created["spot-instances-request"] = [{}]
    for kind, contexts in created.items():
        for context in contexts:
            yield AuthorizationRequest(
                "ec2:RunInstances", _arn(call, kind, "*"), {**context, **_request_tags(tags.get(kind, {}))}
            )
    for resource in _used_resources(call):
        yield AuthorizationRequest("ec2:RunInstances", _resource_arn(call, resource), _resource_tags(call, resource))
    if call._get_param("KeyName"):
        yield AuthorizationRequest("ec2:RunInstances", _arn(call, "key-pair", call._get_param("KeyName")), {})
    profile = call._get_param("IamInstanceProfile") or {}
    if profile:
        name = (profile.get("Name") or profile.get("Arn", "")).rsplit("/", 1)[-1]
        role = f"arn:aws:iam::{call.current_account}:role/{name}"
        yield AuthorizationRequest("iam:PassRole", role, {"iam:passedtoservice": ["ec2.amazonaws.com"]})


def _used_resources(call: Ec2Actions) -> list[str]:
    interfaces = call._get_param("NetworkInterfaces", [])
    groups = list(call._get_param("SecurityGroupIds", [])) + [g for i in interfaces for g in i.get("Groups", [])]
    subnets = [call._get_param("SubnetId"), *(i.get("SubnetId") for i in interfaces)]
    # An image that is no id yet (malformed, or a parameter that EC2 resolves) is left to the launch itself.
    images = [image for image in [call._get_param("ImageId")] if str(image).startswith("ami-")]
    return [*images, *filter(None, subnets), *groups]


def _instance_keys(call: Ec2Actions) -> dict[str, list[str]]:
    metadata = call._get_param("MetadataOptions") or {}
    return {
        "ec2:instancetype": [call._get_param("InstanceType", "m1.small")],
        "ec2:metadatahttptokens": [metadata.get("HttpTokens", "optional")],
        "ec2:metadatahttpputresponsehoplimit": [str(metadata.get("HttpPutResponseHopLimit", 1))],
        "ec2:instancemarkettype": [call._get_param("InstanceMarketOptions.MarketType") or "on-demand"],
        "ec2:region": [call.region],
    }


def _volume_keys(ebs: dict[str, Any]) -> dict[str, list[str]]:
    return {
        "ec2:encrypted": [str(bool(ebs.get("Encrypted"))).lower()],
        "ec2:volumesize": [str(ebs.get("VolumeSize", 8))],
    }


def _interface_keys(interface: dict[str, Any]) -> dict[str, list[str]]:
    public = interface.get("AssociatePublicIpAddress")
    return {} if public is None else {"ec2:associatepublicipaddress": [str(bool(public)).lower()]}


def _resource_requests(call: Ec2Actions, action: str) -> Iterator[AuthorizationRequest]:
    asked = False
    if action in _CREATES:
        asked, kind = True, _CREATES[action]
        context = _request_tags(call.tag_specifications().get(kind, {}))
        if action == "CreateVolume":
            context["ec2:encrypted"] = [str(bool(call._get_param("Encrypted"))).lower()]
        yield AuthorizationRequest(f"ec2:{action}", _arn(call, kind, "*"), context)
    tags = {tag["Key"]: tag.get("Value", "") for tag in call._get_param("Tags", [])} if action.endswith("Tags") else {}
    for resource in _named_resources(call):
        asked = True
        # What does not exist (or not yet) is left to the action, which answers that it is not found.
        if resource in call.ec2_backend.tags or _exists(call, resource):
            context = {**_resource_tags(call, resource), **_request_tags(tags)}
            yield AuthorizationRequest(f"ec2:{action}", _resource_arn(call, resource), context)
    if not asked:
        yield AuthorizationRequest(f"ec2:{action}", "*", {"ec2:region": [call.region]})


def _named_resources(call: Ec2Actions) -> Iterator[str]:
    for parameter in _ID_PARAMETERS:
        value = call._get_param(parameter)
        yield from [value] if isinstance(value, str) else value or []


def _exists(call: Ec2Actions, resource: str) -> bool:
    backend = call.ec2_backend
    allocations = {address.allocation_id for address in backend.addresses}
    return (
        resource in call.state.fleet.records
        or resource in allocations
        or any(
            resource in held
            for held in (backend.volumes, backend.snapshots, backend.enis, backend.spot_instance_requests)
        )
    )


def _request_tags(tags: dict[str, str]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {f"aws:requesttag/{key.lower()}": [value] for key, value in tags.items()}
    return {**keys, "aws:tagkeys": list(tags)} if tags else keys


def _resource_tags(call: Ec2Actions, resource: str) -> dict[str, list[str]]:
    tags = call.ec2_backend.tags.get(resource, {})
    context = {f"aws:resourcetag/{key.lower()}": [value] for key, value in tags.items()}
    return {**context, **{f"ec2:resourcetag/{key.lower()}": [value] for key, value in tags.items()}}


def _resource_arn(call: Ec2Actions, resource: str) -> str:
    return _arn(call, _KINDS.get(resource.split("-", maxsplit=1)[0], "resource"), resource)


def _arn(call: Ec2Actions, kind: str, name: str) -> str:
    # Images and snapshots are named without the account, since they may belong to another one.
    account = "" if kind in ("image", "snapshot") else call.current_account
    return f"arn:aws:ec2:{call.region}:{account}:{kind}/{name}"
