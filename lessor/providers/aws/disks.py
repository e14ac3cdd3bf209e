"""What the disks of a lease's machines hold, so that they are billed for as long as they exist (case F30)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


def priced(volumes: Iterable[Item]) -> bool:
    """Whether the price of gp3 is that of all of them."""
    return all(volume.get("VolumeType") == PRICED for volume in volumes)
