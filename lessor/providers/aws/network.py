"""Where a machine stands in the network: a private subnet of its zone, and a security group that lets nothing in."""

from __future__ import annotations

from typing import Any

from lessor.contracts import MANAGED_BY, TAG_MANAGED_BY
from lessor.ports import Heartbeat, NoCapacityError, PermanentError
from lessor.providers.aws import tags
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.site import Site, by

CLOSED_GROUP = "lessor-no-inbound"


def subnet(site: Site, zone: str, tried: str) -> dict[str, Any]:
    """The subnet for a zone: configured, or the zone's default. Raises `NoCapacityError` when it has none.

    A zone without a subnet cannot be used, another zone can: that is the same to a launch as no capacity.
    """
    configured = site.place.subnets.get(zone)
    if configured:
        found = site.read("describe_subnets", "Subnets", SubnetIds=[configured])
    else:
        found = site.read("describe_subnets", "Subnets", Filters=by(availability_zone=zone, default_for_az="true"))
    if not found:
        raise NoCapacityError(
            f"{zone} has no default subnet and lessor.yaml names none for it in {site.place.name}",
            (tried,),
            "no-subnet",
        )
    return found[0]


def security_group(site: Site, vpc: str, heartbeat: Heartbeat) -> str:
    """The id of the group for machines in `vpc`: the configured one, or one of lessor's own without inbound rules."""
    configured = site.place.security_group
    if configured.startswith("sg-"):
        return configured
    found = site.read(
        "describe_security_groups", "SecurityGroups", Filters=by(group_name=configured or CLOSED_GROUP, vpc_id=vpc)
    )
    if configured and not found:
        raise PermanentError(
            f"{vpc} has no security group named {configured}; nothing was created, "
            f"correct security_group of {site.place.name} in lessor.yaml",
            "no-security-group",
        )
    if not found:
        return _create_closed_group(site, vpc, heartbeat)
    if not configured and found[0].get("IpPermissions"):
        raise PermanentError(
            f"the security group {found[0]['GroupId']} ({CLOSED_GROUP}) in {vpc} has inbound rules that somebody "
            "added; nothing was created, remove the rules or name another group in lessor.yaml",
            "open-security-group",
        )
    return str(found[0]["GroupId"])


def _create_closed_group(site: Site, vpc: str, heartbeat: Heartbeat) -> str:
    heartbeat(f"creating security group {CLOSED_GROUP} in {vpc}")
    try:
        with sorted_errors(f"creating a security group without inbound rules in {vpc}"):
            created = site.ec2.create_security_group(
                GroupName=CLOSED_GROUP,
                Description="Machines leased through lessor: nothing comes in",
                VpcId=vpc,
                TagSpecifications=[
                    {"ResourceType": "security-group", "Tags": tags.pairs({TAG_MANAGED_BY: MANAGED_BY})}
                ],
            )
    except PermanentError as error:
        if error.code != "InvalidGroup.Duplicate":
            raise
        return security_group(site, vpc, heartbeat)
    return created["GroupId"]
