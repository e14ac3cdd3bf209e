"""The launch: a namespace that is looked for before it is made, and everything in it.

The server takes a name once. So a second launch, a launch by another candidate or one whose answer was lost finds what
the first one made and completes it.
"""

from __future__ import annotations

from lessor.domain.provisioning import Candidate, Order
from lessor.domain.request import LeaseKind
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import capacity, furnishing, gpus, manifests, offers, queueing, removal, seen, tenancy
from lessor.providers.kubernetes.api import CLAIM, POD, STATEFUL_SET
from lessor.providers.kubernetes.ours import made_by_us
from lessor.providers.kubernetes.owners import Top
from lessor.providers.kubernetes.reopening import patiently
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

UNFIT = frozenset({"bad-quantity", "invalid", "quota", "template", "unknown-type"})
"""What is wrong with the thing itself. Other refusals, such as a right that is missing, say nothing about what is
there: nothing is deleted for them, and the lease is taken down when it has failed.
"""
VANISHED = frozenset({"not-found", "terminating"})
"""Somebody deletes the namespace while it is furnished."""


def launch(site: Site, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
    """The lease's namespace and what is in it, made now or by an earlier attempt.

    Raises `NoCapacityError` when there is no room, `PermanentError` when it can never be made (then nothing of it is
    left), `RetryableError` when it may exist now.
    """
    there = tenancy.find(site, order.lease_id)
    if there is None:
        there = _begin(site, order, candidate, heartbeat)
    complete(site, order, there, heartbeat)
    return made(site, there)


def complete(site: Site, order: Order, there: Tenancy, heartbeat: Heartbeat) -> None:
    """Make what is missing; when that cannot be, take down the attempt and raise the reason.

    Before the quota takes the GPUs it is looked again whether they are free: two launches may have seen the same ones.
    """
    try:
        if not furnishing.promised(site, there) and not queueing.queued(site):
            patiently(site, lambda: _require_still(site, order, there), "", heartbeat)
        furnishing.furnish(site, order, there, heartbeat)
    except NoCapacityError:
        undo(site, there, heartbeat)
        raise
    except PermanentError as error:
        if error.code in VANISHED:
            raise RetryableError(f"{error}; it is begun anew", error.code) from error
        if error.code not in UNFIT:
            raise
        undo(site, there, heartbeat)
        raise PermanentError(f"{error}. What was made of {order.lease_id} was deleted again", error.code) from error


def undo(site: Site, there: Tenancy, heartbeat: Heartbeat) -> None:
    """Delete all of an attempt, and see it gone. Raises `RetryableError` when that takes longer: it is tried again."""
    try:
        removal.delete(site, there.lease_id, made(site, there), heartbeat)
    except PermanentError as error:
        raise RetryableError(f"what was made of {there.lease_id} is not gone yet: {error}", error.code) from error


def made(site: Site, there: Tenancy) -> tuple[Resource, ...]:
    """What the ledger has to know of: the namespace, and of a workspace what runs in it and its volume."""
    space = seen.namespace(there.obj)
    if there.kind is not LeaseKind.WORKSPACE:
        return (space,)
    pods = tuple(site.api.list(POD, there.lease_id))
    work = [one for one in site.api.list(STATEFUL_SET, there.lease_id) if made_by_us(one, there.lease_id)]
    disks = [one for one in site.api.list(CLAIM, there.lease_id) if made_by_us(one, there.lease_id)]
    return (
        space,
        *(seen.workload(Top(STATEFUL_SET, one, pods)) for one in work),
        *(seen.claim(site, one, pods, site.clock()) for one in disks),
    )


def _begin(site: Site, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> Tenancy:
    """Make the namespace, if there is room in the cluster or a queue hands out what there is."""
    kind, offer = offers.kind_of(site, order), order.quote.offer
    if kind not in manifests.SECURITY:
        raise PermanentError(f"{site} has no leases of kind {kind.value}; nothing was created", "kind")
    shape = gpus.shape(site, candidate.instance_type, offer.gpu_model)
    if not queueing.queued(site):
        workspace = kind is LeaseKind.WORKSPACE
        capacity.require_room(site, shape, offer.gpu_count, candidate, one_node=workspace)
    heartbeat(f"creating the namespace {order.lease_id}")
    try:
        return tenancy.read(site.api.create(manifests.namespace(order, kind, shape)))
    except PermanentError as error:
        there = tenancy.find(site, order.lease_id) if error.code == "conflict" else None
        if there is None:
            raise
        return there


def _require_still(site: Site, order: Order, there: Tenancy) -> None:
    """Raise `NoCapacityError` unless there is room for this namespace among those that were made before it."""
    candidate = Candidate(there.resource, "", order.quote.offer.market, "", order.quote.offer.hourly, stoppable=True)
    shape = gpus.shape(site, there.resource, there.model)
    workspace = there.kind is LeaseKind.WORKSPACE
    capacity.require_room(site, shape, there.gpus, candidate, there.lease_id, one_node=workspace)
