"""All that carries a lease's tag at one site, read whole, and the same for everything of ours at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lessor.contracts import MANAGED_BY, TAG_LEASE
from lessor.domain.money import Money
from lessor.domain.resource import Condition, Resource, Tagged
from lessor.providers.aws import disks, seen, tags
from lessor.providers.aws.ownership import Proof
from lessor.providers.aws.site import Site, by

Item = dict[str, Any]


@dataclass(frozen=True)
class Inventory:
    """EC2's own answers for what was asked for, all pages. `kept` snapshots are those that lessor made to keep."""

    site: Site
    machines: list[Item] = field(default_factory=list)
    volumes: list[Item] = field(default_factory=list)
    interfaces: list[Item] = field(default_factory=list)
    addresses: list[Item] = field(default_factory=list)
    spot_requests: list[Item] = field(default_factory=list)
    snapshots: list[Item] = field(default_factory=list)

    def resources(self, gib_month: Money | None = None) -> tuple[Resource, ...]:
        """Everything but kept snapshots, which are no left-overs; `gib_month` is the price of disks in the region."""
        return tuple(resource for _, resource in self._pairs(gib_month))

    def tagged(self, gib_month: Money | None = None) -> tuple[Tagged, ...]:
        """The same, each with the lease whose tag it carries and since when its machine is in its state."""
        return tuple(
            Tagged(**vars(resource), lease=tags.read(item).get(TAG_LEASE, ""), changed_at=seen.changed_at(item))
            for item, resource in self._pairs(gib_month)
        )

    def foreign(self, lease_id: str, known: Sequence[Resource]) -> tuple[str, ...]:
        """Refs of what carries the lease's tag and nothing shows to be ours; what has ended is nobody's any more."""
        proof = Proof.of(lease_id, known, self.machines)
        ours = {one["InstanceId"] for one in self.machines if proof.covers_machine(one)}
        ours |= {one["VolumeId"] for one in self.volumes if proof.covers(one, one["VolumeId"], _attached(one))}
        ours |= {i for one in self.interfaces if proof.covers(one, i := one["NetworkInterfaceId"], _attached(one))}
        ours |= {i for one in self.addresses if proof.covers(one, i := one["AllocationId"])}
        ours |= {one["SpotInstanceRequestId"] for one in self.spot_requests if proof.covers_spot(one)}
        there = (one for one in self.resources() if one.condition is not Condition.GONE)
        return tuple(one.ref for one in there if one.id not in ours | proof.ids)

    def _pairs(self, gib_month: Money | None) -> Iterator[tuple[Item, Resource]]:
        read: tuple[tuple[list[Item], Callable[[Item, str], Resource]], ...] = (
            (self.machines, seen.instance),
            (self.volumes, lambda item, region: self._volume(item, region, gib_month)),
            (self.interfaces, seen.interface),
            (self.addresses, seen.address),
            (self.spot_requests, seen.spot_request),
            ([item for item in self.snapshots if not _kept(item)], seen.snapshot),
        )
        return ((item, show(item, self.site.region)) for items, show in read for item in items)

    def _volume(self, item: Item, region: str, gib_month: Money | None) -> Resource:
        return replace(seen.volume(item, region), disk=disks.added(item, self.machines, gib_month))


def of_lease(site: Site, lease_id: str) -> Inventory:
    """What carries the lease's tag at the site, in any state. Raises `ProviderError` if anything was unread."""
    wanted = by(tag__lease=lease_id)
    return _read(site, wanted, wanted)


def of_place(site: Site) -> Inventory:
    """Everything at the site that lessor has launched, and volumes that were attributed to leases.

    Raises `ProviderError` if anything was unread.
    """
    return _read(site, by(tag__managed_by=MANAGED_BY), by(tag_key=TAG_LEASE))


def machines_of(site: Site, lease_id: str) -> list[Item]:
    """The lease's instances alone, in any state."""
    return seen.machines(site.read("describe_instances", "Reservations", Filters=by(tag__lease=lease_id)))


def _read(site: Site, filters: list[dict[str, Any]], of_volumes: list[dict[str, Any]]) -> Inventory:
    return Inventory(
        site,
        seen.machines(site.read("describe_instances", "Reservations", Filters=filters)),
        site.read("describe_volumes", "Volumes", Filters=of_volumes),
        site.read("describe_network_interfaces", "NetworkInterfaces", Filters=filters),
        site.read("describe_addresses", "Addresses", Filters=filters),
        site.read("describe_spot_instance_requests", "SpotInstanceRequests", Filters=filters),
        site.read("describe_snapshots", "Snapshots", OwnerIds=["self"], Filters=filters),
    )


def _attached(item: Mapping[str, Any]) -> list[Item]:
    """To which machines a volume or an interface is attached."""
    one = item.get("Attachment")
    return [one] if one else list(item.get("Attachments") or ())


def _kept(item: Mapping[str, Any]) -> bool:
    return tags.TAG_VOLUME in tags.read(item)
