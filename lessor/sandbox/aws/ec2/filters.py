"""EC2's filters on instances: all must match, any of a filter's values, with * and ? as wildcards."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from lessor.sandbox.aws.errors import AwsError

_INSTANCE: dict[str, Callable[[Any], list[Any]]] = {
    "architecture": lambda i: [i.architecture],
    "availability-zone": lambda i: [i.availability_zone],
    "client-token": lambda i: [i.client_token],
    "iam-instance-profile.arn": lambda i: [profile["Arn"]] if (profile := i.iam_instance_profile) else [],
    "image-id": lambda i: [i.image_id],
    "instance-id": lambda i: [i.id],
    "instance-lifecycle": lambda i: [i.instance_lifecycle],
    "instance-state-code": lambda i: [i.state_code],
    "instance-state-name": lambda i: [i.state],
    "instance-type": lambda i: [i.instance_type],
    "instance.group-id": lambda i: [group.id for group in i.security_groups],
    "ip-address": lambda i: [i.public_ip],
    "key-name": lambda i: [i.key_name],
    "launch-time": lambda i: [f"{i.launch_time:%Y-%m-%dT%H:%M:%S}.000Z"],
    "owner-id": lambda i: [i.owner_id],
    "private-ip-address": lambda i: [i.private_ip],
    "spot-instance-request-id": lambda i: [i.spot_instance_request_id],
    "state-reason-code": lambda i: [i.state_reason.code] if i.state_reason else [],
    "subnet-id": lambda i: [i.subnet_id],
    "vpc-id": lambda i: [i.vpc_id],
    "block-device-mapping.volume-id": lambda i: [device.volume_id for device in i.block_device_mapping.values()],
    "network-interface.network-interface-id": lambda i: [interface.id for interface in i.nics.values()],
}


def check_names(filters: Mapping[str, list[str]]) -> None:
    """Refuse an unknown filter as EC2 refuses it, however few instances there are."""
    for name in filters:
        if not name.startswith("tag:") and name != "tag-key" and name not in _INSTANCE:
            raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")


def matches(instance: Any, filters: Mapping[str, list[str]]) -> bool:
    """Whether the instance passes all filters; their names were checked before."""
    tags = instance.ec2_backend.tags.get(instance.id, {})
    return all(_any_matches(_values(instance, tags, name), wanted) for name, wanted in filters.items())


def _values(instance: Any, tags: Mapping[str, str], name: str) -> list[Any]:
    if name.startswith("tag:"):
        value = tags.get(name[4:])
        return [] if value is None else [value]
    if name == "tag-key":
        return list(tags)
    return _INSTANCE[name](instance)


def _any_matches(values: list[Any], wanted: list[str]) -> bool:
    texts = [str(value) for value in values if value is not None]
    return any(_pattern(pattern).fullmatch(text) for pattern in wanted for text in texts)


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(c) or re.escape(c) for c in pattern), re.DOTALL)
