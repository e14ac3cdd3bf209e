"""What a cluster has and who holds it, and whether there is room for what was ordered."""

from __future__ import annotations

from lessor.domain.pools import Census
from lessor.domain.provisioning import Candidate
from lessor.ports import NoCapacityError
from lessor.providers.kubernetes import gpus, pods, promises
from lessor.providers.kubernetes.census import take
from lessor.providers.kubernetes.room import room
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site


def census(site: Site) -> Census:
    """All pools and holders as of now. What cannot be read is unknown and said, never raised as empty."""
    return take(site)


def require_room(
    site: Site,
    shape: GpuShape,
    units: int,
    candidate: Candidate,
    lease_id: str = "",
    *,
    one_node: bool = False,
    newer: bool = False,
) -> None:
    """Raise `NoCapacityError` unless `units` are free, with `one_node` on one node.

    Where the lease has its namespace already, its own promise does not count, nor do those that were made after it,
    unless `newer` ones do. So a second look after the namespace was made lets exactly one of two launches through that
    both saw the same room.
    """
    nodes, seen, others = gpus.read(site), pods.uses(site, pods.live(site)), promises.read(site)
    mine = next((one for one in others if one.lease == lease_id), None)
    before = [one for one in others if mine is None or one.age < mine.age or (newer and one is not mine)]
    found = room(nodes, seen, before, shape, lease_id)
    if units <= (found.largest if one_node else found.free):
        return
    least = f", {found.largest} of them on one node" if one_node else ""
    raise NoCapacityError(
        f"{site} has {found.free} {shape.model} free{least}; {units} are needed and nothing was created. Of "
        f"{found.total} {found.held} are held, {found.promised} more are promised to leases, "
        f"{found.unhealthy} are out of service",
        (str(candidate),),
        "no-room",
    )
