"""What EC2 shows, as our resources: one function per kind, all states named, none guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from lessor.domain.resource import Condition, Kind, Resource

INSTANCE_STATES = {
    "pending": Condition.PENDING,
    "running": Condition.RUNNING,
    "stopping": Condition.STOPPING,
    "stopped": Condition.STOPPED,
    "shutting-down": Condition.DELETING,
    "terminated": Condition.GONE,
}
VOLUME_STATES = {
    "creating": Condition.PENDING,
    "available": Condition.STOPPED,
    "in-use": Condition.RUNNING,
    "deleting": Condition.DELETING,
    "deleted": Condition.GONE,
}
INTERFACE_STATES = {
    "pending": Condition.PENDING,
    "available": Condition.STOPPED,
    "attaching": Condition.PENDING,
    "associated": Condition.RUNNING,
    "in-use": Condition.RUNNING,
    "detaching": Condition.STOPPING,
}
SPOT_STATES = {
    "open": Condition.PENDING,
    "active": Condition.RUNNING,
    "disabled": Condition.STOPPED,
    "closed": Condition.GONE,
    "cancelled": Condition.GONE,
    "failed": Condition.GONE,
}
SNAPSHOT_STATES = {
    "pending": Condition.PENDING,
    "completed": Condition.STOPPED,
    "recoverable": Condition.GONE,
}
CHANGED_AT = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")


def machines(reservations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The instances of reservations."""
    return [machine for reservation in reservations for machine in reservation["Instances"]]


def instance(item: Mapping[str, Any], region: str) -> Resource:
    """An instance; `reason` is EC2's own for its state, empty while there is none."""
    return Resource(
        Kind.INSTANCE,
        item["InstanceId"],
        INSTANCE_STATES.get(item.get("State", {}).get("Name", ""), Condition.UNKNOWN),
        region,
        item.get("Placement", {}).get("AvailabilityZone", ""),
        item.get("InstanceType", ""),
        utc(item.get("LaunchTime")),
        reason(item),
        item.get("ClientToken", ""),
    )


def launched(reservation: Mapping[str, Any], region: str, token: str) -> tuple[Resource, ...]:
    """What a launch answered: its instances and their spot requests."""
    found: list[Resource] = []
    for item in reservation["Instances"]:
        machine = instance({**item, "ClientToken": token}, region)
        found.append(machine)
        if item.get("SpotInstanceRequestId"):
            request = Resource(
                Kind.SPOT_REQUEST,
                item["SpotInstanceRequestId"],
                Condition.RUNNING,
                region,
                machine.zone,
                machine.type,
                machine.created_at,
                token=token,
            )
            found.append(request)
    return tuple(found)


def volume(item: Mapping[str, Any], region: str) -> Resource:
    """A volume; `type` carries its size, `reason` what it is attached to."""
    state = VOLUME_STATES.get(item.get("State", ""), Condition.UNKNOWN)
    size = f"{item.get('Size', '?')} GiB {item.get('VolumeType', '')}".strip()
    attached = ", ".join(a["InstanceId"] for a in item.get("Attachments", []) if a.get("InstanceId"))
    why = f"attached to {attached}" if attached else ""
    return Resource(
        Kind.VOLUME, item["VolumeId"], state, region, item["AvailabilityZone"], size, utc(item.get("CreateTime")), why
    )


def interface(item: Mapping[str, Any], region: str) -> Resource:
    """A network interface."""
    state = INTERFACE_STATES.get(item.get("Status", ""), Condition.UNKNOWN)
    return Resource(Kind.INTERFACE, item["NetworkInterfaceId"], state, region, item.get("AvailabilityZone", ""))


def address(item: Mapping[str, Any], region: str) -> Resource:
    """An elastic address: it costs as long as it is allocated."""
    state = Condition.RUNNING if item.get("AssociationId") else Condition.STOPPED
    return Resource(Kind.ADDRESS, item["AllocationId"], state, region, type=item.get("PublicIp", ""))


def spot_request(item: Mapping[str, Any], region: str) -> Resource:
    """A spot request; `reason` is its status code."""
    return Resource(
        Kind.SPOT_REQUEST,
        item["SpotInstanceRequestId"],
        SPOT_STATES.get(item.get("State", ""), Condition.UNKNOWN),
        region,
        item.get("LaunchedAvailabilityZone", ""),
        item.get("LaunchSpecification", {}).get("InstanceType", ""),
        utc(item.get("CreateTime")),
        item.get("Status", {}).get("Code", ""),
    )


def snapshot(item: Mapping[str, Any], region: str) -> Resource:
    """A snapshot; `reason` names the volume that it is of."""
    return Resource(
        Kind.SNAPSHOT,
        item["SnapshotId"],
        SNAPSHOT_STATES.get(item.get("State", ""), Condition.UNKNOWN),
        region,
        type=f"{item.get('VolumeSize', '?')} GiB",
        created_at=utc(item.get("StartTime")),
        reason=f"of {item.get('VolumeId', '?')}",
    )


def reason(item: Mapping[str, Any]) -> str:
    """EC2's words for why an instance is in its state."""
    why = item.get("StateReason", {})
    code, message = str(why.get("Code", "")), str(why.get("Message", ""))
    return message if message.startswith(code) else f"{code}: {message}".strip(": ")


def changed_at(item: Mapping[str, Any]) -> datetime | None:
    """When the instance entered its state, as EC2 says; `None` where it does not say."""
    said = CHANGED_AT.search(item.get("StateTransitionReason", ""))
    return datetime.strptime(said[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) if said else None


def utc(at: datetime | None) -> datetime | None:
    """The same instant in UTC; boto3 gives instants in the host's zone."""
    return at.astimezone(UTC) if at else None


def launched_at(item: Mapping[str, Any]) -> datetime:
    """When the machine was launched or last started, as EC2 says."""
    at: datetime = item["LaunchTime"]
    return at.astimezone(UTC)
