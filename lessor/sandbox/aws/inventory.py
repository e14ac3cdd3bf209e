"""What exists in the simulated AWS right now, across accounts and regions, for exact assertions and for the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from moto.ec2.models import ec2_backends

from lessor.sandbox.aws.ec2.machines import ALIVE
from lessor.sandbox.aws.state import CloudState

LEASE_TAG = "lessor:lease"
_OPEN_REQUESTS = ("open", "active", "disabled")


@dataclass(frozen=True)
class Resource:
    """One thing that exists and costs, or could; `attached_to` is the instance it hangs on, if any."""

    kind: str
    id: str
    state: str
    account: str
    region: str
    tags: dict[str, str]
    attached_to: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def leftovers(state: CloudState, lease: str | None = None) -> list[Resource]:
    """All that is not gone: instances, volumes, interfaces, addresses, snapshots, spot requests.

    With `lease`, only what carries that lease's tag; without, everything in every account.
    """
    found = [resource for backend in _backends() for resource in _in_backend(state, backend)]
    return [resource for resource in found if lease is None or resource.tags.get(LEASE_TAG) == lease]


def describe_instances(state: CloudState) -> list[dict[str, Any]]:
    """Every instance that is still remembered, the dead ones as well, oldest first."""
    return [
        {
            "id": record.instance.id,
            "state": record.state,
            "reason": record.instance.state_reason.code if record.instance.state_reason else "",
            "type": record.instance.instance_type,
            "zone": record.instance.availability_zone,
            "market": record.market,
            "account": record.account,
            "region": record.region,
            "launched_at": record.launched_at.isoformat(),
            "token": record.instance.client_token,
            "protected": bool(record.instance.disable_api_termination),
            "group": record.group,
            "spot_request": record.instance.spot_instance_request_id,
            "tags": dict(record.instance.ec2_backend.tags.get(record.instance.id, {})),
        }
        for record in state.fleet
    ]


def _backends() -> list[Any]:
    return [backend for regions in ec2_backends.values() for backend in regions.values()]


def _in_backend(state: CloudState, backend: Any) -> Iterator[Resource]:
    for kind, identity, status, attached in (*_machines(state, backend), *_network(backend), *_disks(backend)):
        tags = dict(backend.tags.get(identity, {}))
        yield Resource(kind, identity, status, backend.account_id, backend.region_name, tags, attached)


_Found = tuple[str, str, str, str | None]


def _machines(state: CloudState, backend: Any) -> Iterator[_Found]:
    for record in state.fleet:
        if record.instance.ec2_backend is backend and record.state in ALIVE:
            yield "instance", record.instance.id, record.state, None
    for request in backend.spot_instance_requests.values():
        if request.state in _OPEN_REQUESTS:
            yield "spot-request", request.id, request.state, request.instance_id


def _network(backend: Any) -> Iterator[_Found]:
    for interface in backend.enis.values():
        yield "network-interface", interface.id, interface.status, _instance_id(interface)
    for address in backend.addresses:
        yield (
            "address",
            address.allocation_id,
            "associated" if address.association_id else "free",
            _instance_id(address),
        )


def _disks(backend: Any) -> Iterator[_Found]:
    # moto backs every public image with a volume and a snapshot of its own, which no account would see.
    of_images = {snapshot.volume.id for snapshot in backend.snapshots.values() if snapshot.from_ami}
    for volume in backend.volumes.values():
        if volume.id not in of_images:
            yield "volume", volume.id, volume.status, _instance_id(volume.attachment)
    for snapshot in backend.snapshots.values():
        if not snapshot.from_ami:
            yield "snapshot", snapshot.id, snapshot.status, None


def _instance_id(attached: Any) -> str | None:
    return str(attached.instance.id) if attached and attached.instance else None
