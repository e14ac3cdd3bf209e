"""Everything that a lease's namespace gets, in the order in which it is made: limits first, then access, then the work.

Each step makes what is missing and leaves what is there, so that a second run goes on where the first one stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lessor.catalog.cluster import load_names
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind
from lessor.ports import Heartbeat, RetryableError
from lessor.providers.kubernetes import access, claims, gpus, manifests, queueing, workspace
from lessor.providers.kubernetes.api import (
    CLAIM,
    LIMIT_RANGE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    ApiKind,
    Obj,
)
from lessor.providers.kubernetes.errors import NOT_COUNTED
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

MADE = (
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    NETWORK_POLICY,
    SERVICE_ACCOUNT,
    ROLE_BINDING,
    CLAIM,
    STATEFUL_SET,
)
"""The kinds of what we make in a namespace, besides its queue where there are queues."""


COUNTING_TRIES = 60


@dataclass(frozen=True)
class Piece:
    """One thing to have, and how it is made when it is not there: what only that needs is read only then."""

    kind: ApiKind
    name: str
    make: Callable[[], Obj]


def furnish(site: Site, order: Order, there: Tenancy, heartbeat: Heartbeat) -> None:
    """Make what is missing."""
    for piece in _pieces(site, order, there):
        if site.api.get(piece.kind, piece.name, there.lease_id) is None:
            wanted = piece.make()
            heartbeat(f"creating {piece.kind.kind} {piece.name} in {there.lease_id}")
            _apply(site, wanted, heartbeat)


def promised(site: Site, there: Tenancy) -> bool:
    """Whether the quota stands that promises the GPUs to the lease."""
    return site.api.get(RESOURCE_QUOTA, manifests.QUOTA, there.lease_id) is not None


def _apply(site: Site, wanted: Obj, heartbeat: Heartbeat) -> None:
    """Make it, and wait while the quota that was made just before is still to be counted."""
    for _ in range(COUNTING_TRIES):
        try:
            site.api.apply(wanted)
        except RetryableError as error:
            if error.code != NOT_COUNTED:
                raise
            heartbeat(f"waiting until the quota of {wanted['metadata']['namespace']} is counted")
            site.sleep(1)
        else:
            return
    site.api.apply(wanted)


def _pieces(site: Site, order: Order, there: Tenancy) -> Iterator[Piece]:
    """All that belongs into the namespace."""

    def users() -> tuple[str, ...]:
        return access.holders(site, order.owner, order.team, order.co_owners)

    yield _quota(site, order, there)
    yield Piece(LIMIT_RANGE, manifests.LIMITS, lambda: manifests.limit_range(there))
    yield Piece(NETWORK_POLICY, manifests.POLICY, lambda: manifests.network_policy(there))
    yield Piece(SERVICE_ACCOUNT, access.ACCOUNT, lambda: access.service_account(there))
    yield Piece(ROLE_BINDING, access.BINDING, lambda: access.role_binding(site, there, users()))
    queue = queueing.kind(site) if site.config.cluster_queue else None
    if queue is not None:
        yield Piece(queue, queueing.NAME, lambda: queueing.local_queue(site, there, queue))
    if there.kind is LeaseKind.WORKSPACE:
        yield from _workspace(site, order, there)


def _quota(site: Site, order: Order, there: Tenancy) -> Piece:
    """What promises the GPUs to the lease: the first thing to make, so that nothing can run before it."""

    def make() -> Obj:
        others = _resources(site) - {there.resource}
        return manifests.quota(there, order.request.disk_gib, others, claims.classes(site))

    return Piece(RESOURCE_QUOTA, manifests.QUOTA, make)


def _resources(site: Site) -> set[str]:
    """All names under which pods may ask for GPUs: those of the vendors, of the organisation, and on the nodes."""
    usual = {name for vendor in load_names().vendors for name in (vendor.whole, vendor.shared) if name}
    return usual | set(site.config.resources) | {one.shape.resource for one in gpus.read(site).gpus}


def _workspace(site: Site, order: Order, there: Tenancy) -> Iterator[Piece]:
    """The workload last. When it is there nothing is rendered any more: its template may have changed since."""
    if site.api.get(STATEFUL_SET, workspace.NAME, there.lease_id) is None:
        for kind, obj in workspace.objects(site, order, there):
            yield Piece(kind, obj["metadata"]["name"], lambda made=obj: made)  # type: ignore[misc]
