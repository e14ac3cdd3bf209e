"""One reading of a cluster: its GPUs by model and whatever holds them. What was not read is unknown, and said.

Each kind is read by itself, so that one refusal does not hide the rest; a number that needs what is missing is `None`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TypeVar

from lessor.domain.holding import PodUse
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder, Pool
from lessor.ports import ProviderError
from lessor.providers.kubernetes import claims, gpus, pods, promises, queued
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, Obj
from lessor.providers.kubernetes.claims import Claims
from lessor.providers.kubernetes.errors import together
from lessor.providers.kubernetes.gpus import NO_MODEL, Nodes
from lessor.providers.kubernetes.misplaced import elsewhere
from lessor.providers.kubernetes.offers import rate
from lessor.providers.kubernetes.ours import made_by_us
from lessor.providers.kubernetes.owned import Owners
from lessor.providers.kubernetes.promises import Tenant
from lessor.providers.kubernetes.queued import Queue
from lessor.providers.kubernetes.room import room
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

T = TypeVar("T")


def take(site: Site) -> Census:
    """What the cluster has and who holds it. Raises nothing that a cluster can answer."""
    seen = _read(site)
    found = _Count(site, seen)
    notes = (
        *(seen.nodes.notes if seen.nodes else ()),
        *promises.unenforced(site, seen.quotas or ()),
        *(seen.queue.empty(site.clock()) if seen.queue else ()),
        *([seen.claims.problem] if seen.claims and seen.claims.problem else ()),
    )
    return Census(
        place=site.place,
        at=site.clock(),
        pools=tuple(found.pools()),
        holders=tuple(sorted(found.holders(), key=lambda one: (one.model, one.ref))),
        problem=together(seen.problems),
        notes=notes,
    )


@dataclass
class _Seen:
    """What was read; `None` is what was not. `uses` are pods with GPUs, of all namespaces only if `live` is known."""

    nodes: Nodes | None = None
    live: tuple[Obj, ...] | None = None
    uses: tuple[PodUse, ...] = ()
    spaces: Sequence[Obj] | None = None
    quotas: Sequence[Obj] | None = None
    tenants: tuple[Tenant, ...] | None = None
    claims: Claims | None = None
    queue: Queue | None = None
    problems: list[str] = field(default_factory=list)

    def attempt(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except ProviderError as error:
            self.problems.append(str(error))
            return None


def _read(site: Site) -> _Seen:
    seen = _Seen()
    seen.nodes = seen.attempt(lambda: gpus.read(site))
    seen.spaces = seen.attempt(lambda: site.api.list(NAMESPACE))
    seen.quotas = seen.attempt(lambda: site.api.list(RESOURCE_QUOTA))
    if seen.spaces is not None and seen.quotas is not None:
        seen.tenants = promises.of(seen.spaces, seen.quotas)
    seen.live = seen.attempt(lambda: pods.live(site))
    found = seen.live if seen.live is not None else tuple(_one_by_one(site, seen))
    seen.uses = pods.uses(site, found)
    seen.claims = seen.attempt(lambda: claims.read(site))
    if seen.live is not None:
        live, uses = seen.live, seen.uses
        seen.queue = seen.attempt(lambda: queued.read(site, live, uses))
    return seen


def _one_by_one(site: Site, seen: _Seen) -> Iterator[Obj]:
    """The pods of leases, where those of all namespaces may not be read: each refusal is said by itself (case D15)."""
    for space in seen.spaces or ():
        name = space["metadata"]["name"]
        if made_by_us(space, name):
            yield from seen.attempt(partial(pods.live, site, name)) or ()


class _Count:
    """Makes pools and holders of what was read."""

    def __init__(self, site: Site, seen: _Seen) -> None:
        self._site, self._seen = site, seen
        self._leases = frozenset(one.lease for one in seen.tenants or ())
        self._raw: Mapping[str, Obj] = {pod["metadata"]["uid"]: pod for pod in seen.live or ()}
        nodes = seen.nodes
        self._shapes = {(one.node, one.shape.resource): one.shape for one in (nodes.gpus if nodes else ())}

    def pools(self) -> Iterator[Pool]:
        """One pool for each model, those of which nothing is known among them."""
        site, nodes = self._site, self._seen.nodes
        if nodes is None:
            yield from (Pool(site.place, model) for model in sorted(site.config.rates))
        else:
            yield from _by_model([self._pool(nodes, shape) for shape in nodes.shapes])
            yield from self._nameless(nodes)
        if self._seen.claims is not None:
            yield from self._seen.claims.pools(site)

    def holders(self) -> Iterator[Holder]:
        """Every pod with a node and GPUs, by model, and every claim."""
        owners = Owners(self._seen.spaces)
        for use in self._seen.uses:
            if use.holds and (self._seen.nodes is None or use.node in self._seen.nodes.names):
                for resource in sorted(use.units):
                    yield self._holder(use, resource, owners)
        if self._seen.claims is not None:
            live = self._raw if self._seen.live is not None else None
            yield from self._seen.claims.holders(self._site, live, self._leases, owners.of)

    def _pool(self, nodes: Nodes, shape: GpuShape) -> Pool:
        seen, site = self._seen, self._site
        found = room(nodes, seen.uses, seen.tenants or (), shape)
        kept = seen.queue.reserved(shape, nodes.shapes) if seen.queue else None
        # What the queue keeps for others is taken only where leases stand in the queue themselves.
        taken = seen.queue.reserved(shape, nodes.shapes, self._leases) if seen.queue else None
        in_queue = taken if site.config.cluster_queue else 0
        known = seen.live is not None and seen.tenants is not None and in_queue is not None
        free = max(found.free - (in_queue or 0), 0)
        return Pool(
            place=site.place,
            model=shape.model,
            unit="GPU" if shape.share == 1 else "slice",
            share=shape.share,
            total=found.total,
            free=free if known else None,
            held=found.held if seen.live is not None else None,
            promised=found.promised if seen.live is not None and seen.tenants is not None else None,
            reserved=kept,
            unhealthy=found.unhealthy,
            largest=min(found.largest, free) if known else None,
            queued=self._queued(shape),
            hourly=rate(site, shape.model, site.clock()),
        )

    def _nameless(self, nodes: Nodes) -> Iterator[Pool]:
        """GPUs of nodes that do not say what they are: they exist, and nobody can be promised one."""
        here = [one for one in nodes.gpus if one.shape.model == NO_MODEL]
        if here:
            at = {(one.node, one.shape.resource) for one in here}
            held = sum(
                use.held(resource) for use in self._seen.uses for resource in use.units if (use.node, resource) in at
            )
            yield Pool(
                self._site.place,
                NO_MODEL,
                total=sum(one.total for one in here),
                held=held if self._seen.live is not None else None,
                unhealthy=sum(one.total if one.out else one.total - one.allocatable for one in here),
            )

    def _queued(self, shape: GpuShape) -> int | None:
        """How many workloads and pods wait for the shape; those of which it is not known for which count for each."""
        queue = self._seen.queue
        if queue is None:
            return None
        waiting = [
            use
            for use in self._seen.uses
            if use.waits and use.units.get(shape.resource) and not queued.gated(self._raw[use.uid])
        ]
        return queue.waiting(shape) + sum(1 for use in waiting if self._may_be(use, shape))

    def _may_be(self, use: PodUse, shape: GpuShape) -> bool:
        tenant = next((one for one in self._seen.tenants or () if one.lease == use.namespace), None)
        if tenant is not None and tenant.model:
            return tenant.model == shape.model
        return pods.may_go(self._raw[use.uid], shape.nodes)

    def _holder(self, use: PodUse, resource: str, owners: Owners) -> Holder:
        site, now = self._site, self._site.clock()
        shape = self._shapes.get((use.node, resource), GpuShape(NO_MODEL, resource))
        lease = use.namespace if use.namespace in self._leases else ""
        return Holder(
            place=site.place,
            ref=use.ref,
            model=shape.model,
            units=use.units[resource],
            share=shape.share,
            lease=lease,
            who=owners.of(self._raw.get(use.uid, {"metadata": {}}), use.namespace),
            since=use.since,
            flag=use.flag(now) or self._away(use, resource),
            cost=None if lease else self._cost(use, resource, shape.model),
        )

    def _away(self, use: PodUse, resource: str) -> str:
        """What a pod of a lease holds instead of what the lease is for; no quota keeps it from that."""
        tenant = next((one for one in self._seen.tenants or () if one.lease == use.namespace), None)
        wrong = elsewhere(use, resource, tenant.model, self._shapes) if tenant and resource in tenant.promised else None
        return f"holds {wrong.model}, its lease is for {tenant.model}" if wrong and tenant else ""

    def _cost(self, use: PodUse, resource: str, model: str) -> Money | None:
        """What it has held so far, at the rate that held all the while; `None` where that is not known."""
        now, since = self._site.clock(), use.since
        hourly = rate(self._site, model, since) if since is not None else None
        hours = use.hours(resource, since, now) if since is not None else None
        if hourly is None or hours is None:
            return None
        return Money.of(Fraction(hourly.amount) * hours, hourly.currency)


def _by_model(found: Iterable[Pool]) -> Iterator[Pool]:
    """One pool for each model, also where nodes hand it out under several names; unknown and known make unknown."""
    merged: dict[str, Pool] = {}
    for one in found:
        merged[one.model] = _merged(merged[one.model], one) if one.model in merged else one
    yield from merged.values()


def _merged(one: Pool, other: Pool) -> Pool:
    largest = None if one.largest is None or other.largest is None else max(one.largest, other.largest)
    return replace(
        one,
        total=_sum(one.total, other.total),
        free=_sum(one.free, other.free),
        held=_sum(one.held, other.held),
        promised=_sum(one.promised, other.promised),
        reserved=_sum(one.reserved, other.reserved),
        unhealthy=_sum(one.unhealthy, other.unhealthy),
        largest=largest,
        queued=_sum(one.queued, other.queued),
        hourly=one.hourly if one.hourly == other.hourly else None,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
