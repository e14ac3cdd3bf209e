"""What pods hold of the GPUs that leases are promised: the cluster's own word, which no metric can give.

A pod holds from the moment it has a node until it has ended, whatever it does. What was not read whole is told as a
problem, lease by lease, and never as nothing (law 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lessor.contracts import LABEL_LEASE
from lessor.domain.holding import PodUse
from lessor.domain.request import LeaseKind
from lessor.domain.usage import Held
from lessor.ports import ProviderError
from lessor.providers.kubernetes import claims, pods, queued, tenancy
from lessor.providers.kubernetes.api import NAMESPACE, POD, Obj
from lessor.providers.kubernetes.claims import Claims
from lessor.providers.kubernetes.ours import ending, made_by_us
from lessor.providers.kubernetes.queued import Queue
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy


def held(site: Site, since: datetime, leases: Collection[str]) -> dict[str, Held]:
    """By lease, what its pods had of its GPUs at some time after `since`.

    A workspace is left out: its pod is ours, and people do not choose whether it runs.
    """
    try:
        spaces = {one["metadata"]["name"]: one for one in site.api.list(NAMESPACE, labels=LABEL_LEASE)}
        seen = _read(site, leases, spaces)
    except ProviderError as error:
        return {lease: Held(problem=str(error)) for lease in leases}
    found = ((lease, _of_lease(site, lease, spaces.get(lease), seen, since)) for lease in leases)
    return {lease: one for lease, one in found if one is not None}


@dataclass(frozen=True)
class _Seen:
    """Pods with GPUs that have not ended, those of `unread` namespaces missing; claims; and what waits in queues."""

    uses: Sequence[PodUse]
    gated: frozenset[str]
    unread: dict[str, str]
    claims: Claims
    queue: Queue


def _read(site: Site, leases: Collection[str], spaces: Collection[str]) -> _Seen:
    by_space, unread = pods.by_namespace(site, [one for one in leases if one in spaces])
    live = [pod for some in by_space.values() for pod in some]
    uses = pods.uses(site, live)
    gated = frozenset(pod["metadata"]["uid"] for pod in live if queued.gated(pod))
    return _Seen(uses, gated, unread, claims.read(site), queued.read(site, live, uses))


def _of_lease(site: Site, lease: str, space: Obj | None, seen: _Seen, since: datetime) -> Held | None:
    """`None` for a lease whose pods are not people's."""
    try:
        if space is None or not made_by_us(space, lease) or ending(space):
            return Held(problem=f"{site} shows no namespace {lease} that lessor made and nobody deletes")
        there = tenancy.read(space)
        if there.kind is not LeaseKind.NAMESPACE:
            return None
        return Held(problem=seen.unread[lease]) if lease in seen.unread else _counted(site, there, seen, since)
    except ProviderError as error:
        return Held(problem=str(error))


def _counted(site: Site, there: Tenancy, seen: _Seen, since: datetime) -> Held:
    mine = [one for one in seen.uses if one.namespace == there.lease_id]
    has = sum(one.held(there.resource) for one in mine) + seen.claims.units(there.lease_id)
    if has < there.gpus:
        # One that began and ended between two looks was never seen alive.
        has += sum(one.units.get(there.resource, 0) for one in _ended(site, there.lease_id, since))
    waiting = (one for one in mine if one.waits and one.uid not in seen.gated)
    wants = sum(one.units.get(there.resource, 0) for one in waiting) + _in_queue(there, seen.queue)
    return Held(has, wants)


def _ended(site: Site, namespace: str, since: datetime) -> Iterable[PodUse]:
    for one in pods.uses(site, site.api.list(POD, namespace)):
        until = one.ended_at or one.since
        if one.ended and one.node and until is not None and until > since:
            yield one


def _in_queue(there: Tenancy, queue: Queue) -> int:
    """Units that its workloads wait for, or that the queue keeps for pods that are still to come."""
    mine = [one for one in queue.workloads if one.namespace == there.lease_id]
    return sum(one.wanted.get(there.resource, 0) + one.kept(there.resource) for one in mine)
