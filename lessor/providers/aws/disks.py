"""What the disks of a lease's machines hold, so that they are billed for as long as they exist (case F30)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any

from lessor.contracts import TAG_LEASE, TAG_MANAGED_BY
from lessor.domain.money import Money
from lessor.domain.resource import Disk
from lessor.providers.aws import tags
from lessor.providers.aws.ownership import launched_for

Item = Mapping[str, Any]
PRICED = "gp3"
"""The kind of volume that a launch creates, and the only one whose price is known."""


def size_of(machines: Sequence[Item], volumes: Iterable[Item], ordered_gib: int) -> int:
    """GiB of all volumes of the machines; what EC2 does not show yet of a machine is as large as it was ordered."""
    sizes: dict[str, list[int]] = {machine["InstanceId"]: [] for machine in machines}
    for volume in volumes:
        for user in {one["InstanceId"] for one in volume.get("Attachments", []) if one.get("InstanceId") in sizes}:
            sizes[user].append(int(volume["Size"]))
    return sum(sum(found) if found else ordered_gib for found in sizes.values())


def added(volume: Item, machines: Iterable[Item], gib_month: Money | None) -> Disk | None:
    """What a volume is charged for that somebody attached to a machine of ours and that was attributed (case C10).

    It is the lease's since it was attached. `None` of those of the launch, of detached ones, and of those on machines
    that only carry the lease's tag; `gib_month` is the price of the region, and only of the kind that it is for.
    """
    found = tags.read(volume)
    lease = found.get(TAG_LEASE, "")
    if not lease or TAG_MANAGED_BY in found:
        return None
    ours = {m["InstanceId"] for m in machines if tags.read(m).get(TAG_LEASE) == lease and launched_for(m, lease)}
    since = [one["AttachTime"] for one in volume.get("Attachments", []) if one.get("InstanceId") in ours]
    if not since:
        return None
    price = gib_month if priced([volume]) else None
    return Disk(max(volume["CreateTime"], min(since)).astimezone(UTC), int(volume["Size"]), price, volume["VolumeId"])


def priced(volumes: Iterable[Item]) -> bool:
    """Whether the price of gp3 is that of all of them."""
    return all(volume.get("VolumeType") == PRICED for volume in volumes)
