"""Volumes, interfaces and addresses that somebody attached later get the lease's tags, so that they are seen (C10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessor.contracts import TAG_COST_CENTER, TAG_ENDS, TAG_LEASE, TAG_OWNER, TAG_PURPOSE, TAG_TEAM
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat
from lessor.providers.aws import inventory, seen, tags
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.site import Site, by

ATTRIBUTION = (TAG_LEASE, TAG_OWNER, TAG_TEAM, TAG_COST_CENTER, TAG_PURPOSE, TAG_ENDS)
"""Not the mark of our launches: what others attach is attributed to the lease and never deleted with it."""
IDS_AT_ONCE = 200


def attribute(site: Site, heartbeat: Heartbeat) -> tuple[Resource, ...]:
    """Tag what is attached to our machines and carries no lease's tag; returns what was tagged."""
    machines = {m["InstanceId"]: m for m in inventory.of_place(site).machines if m["State"]["Name"] != "terminated"}
    tagged: list[Resource] = []
    ids = sorted(machines)
    for begin in range(0, len(ids), IDS_AT_ONCE):
        for machine_id, resource in _bare(site, ids[begin : begin + IDS_AT_ONCE]):
            _tag(site, resource, machines[machine_id], heartbeat)
            tagged.append(resource)
    return tuple(tagged)


def _bare(site: Site, ids: list[str]) -> list[tuple[str, Resource]]:
    """Attached things without a lease's tag, each with the machine that it hangs on."""
    attached, region = by(attachment__instance_id=ids), site.region
    volumes = site.read("describe_volumes", "Volumes", Filters=attached)
    interfaces = site.read("describe_network_interfaces", "NetworkInterfaces", Filters=attached)
    addresses = site.read("describe_addresses", "Addresses", Filters=by(instance_id=ids))
    found = [
        *((v["Attachments"][0]["InstanceId"], v, seen.volume(v, region)) for v in volumes),
        *((i["Attachment"]["InstanceId"], i, seen.interface(i, region)) for i in interfaces),
        *((a["InstanceId"], a, seen.address(a, region)) for a in addresses),
    ]
    return [(machine_id, resource) for machine_id, item, resource in found if TAG_LEASE not in tags.read(item)]


def _tag(site: Site, resource: Resource, machine: Mapping[str, Any], heartbeat: Heartbeat) -> None:
    wanted = {key: value for key, value in tags.read(machine).items() if key in ATTRIBUTION}
    heartbeat(f"tagging {resource.id}")
    with sorted_errors(f"tagging {resource.id}"):
        site.ec2.create_tags(Resources=[resource.id], Tags=tags.pairs(wanted))
