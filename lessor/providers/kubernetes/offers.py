"""From what somebody needs to what a cluster hands out, at the rates that the organisation has set for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal

from lessor.catalog.naming import squeezed
from lessor.domain.money import Money
from lessor.domain.provisioning import Candidate, Order
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import LeaseKind, Market, Need
from lessor.ports import PermanentError
from lessor.providers.kubernetes import claims, gpus, volumes
from lessor.providers.kubernetes.gpus import Nodes
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

MOST_ALTERNATIVES = 7


def offers(site: Site, need: Need, market: Market) -> tuple[Offer, ...]:
    """What fills `need`, cheapest first, unknown rates last. Empty when nothing fits, and for other markets."""
    return _offers(site, gpus.read(site), need, market, site.clock())


def quote(site: Site, need: Need, market: Market, now: datetime) -> Quote:
    """The cheapest offer at the rates in force at `now`, and one other of each resource.

    Raises `PermanentError` ("no-offer") when nothing fits, with what is offered.
    """
    nodes = gpus.read(site)
    found = _offers(site, nodes, need, market, now)
    if not found:
        raise PermanentError(_refusal(site, nodes, need, market), "no-offer")
    best = found[0]
    return Quote(
        need=need,
        offer=best,
        at=now,
        price_list=_price_list(site, best.gpu_model, now),
        alternatives=tuple(_others(found))[:MOST_ALTERNATIVES],
        note="; ".join(filter(None, (best.note, _spread_note(site, nodes, best), _disk_note(site, now)))),
    )


def candidates(site: Site, order: Order) -> tuple[Candidate, ...]:
    """The approved model, one candidate for each resource under which the nodes have it; the approved one first.

    Another model is never taken instead: in a cluster nobody would see that it is another. Raises `PermanentError`
    when no node has it any more, or none that is large enough for a workspace, which is one pod.
    """
    offer, nodes = order.quote.offer, gpus.read(site)
    fitting = [one for one in nodes.shapes if one.model == offer.gpu_model]
    if not fitting:
        gpus.shape(site, offer.instance_type, offer.gpu_model)
    if kind_of(site, order) is LeaseKind.WORKSPACE:
        fitting = _on_one_node(site, nodes, fitting, offer)
    first = sorted(fitting, key=lambda one: (one.resource != offer.instance_type, one.resource))
    return tuple(
        Candidate(
            instance_type=one.resource,
            zone="",
            market=offer.market,
            token=_token(order.lease_id, one, offer.market),
            hourly=rate(site, one.model, site.clock(), offer.gpu_count),
            stoppable=True,
        )
        for one in first
    )


def kind_of(site: Site, order: Order) -> LeaseKind:
    """What is leased: what was asked for, or what the place offers first."""
    return order.request.kind or site.config.kinds[0]


def rate(site: Site, model: str, at: datetime, units: int = 1) -> Money | None:
    """What `units` of a model cost an hour at `at`; `None` is unknown."""
    own = site.config.rates.get(model)
    return own.hourly * units if own is not None and own.holds(at) else None


def _offers(site: Site, nodes: Nodes, need: Need, market: Market, at: datetime) -> tuple[Offer, ...]:
    if market is not Market.ON_DEMAND:
        return ()
    found = [
        Offer(
            instance_type=one.resource,
            gpu_model=one.model,
            gpu_count=need.count,
            gpu_memory_gib=one.memory_gib,
            vcpus=0,
            market=market,
            hourly=rate(site, one.model, at, need.count),
            on_demand_hourly=rate(site, one.model, at, need.count),
            note=_share_note(one),
        )
        for one in nodes.shapes
        if _fits(site, one, need) and need.count <= nodes.total(one)
    ]
    return tuple(sorted(found, key=_cheapest_first))


def _fits(site: Site, shape: GpuShape, need: Need) -> bool:
    if need.instance_type and need.instance_type.casefold() != shape.resource.casefold():
        return False
    return shape.memory_gib >= need.memory_gib and _means(site, shape, need)


def _means(site: Site, shape: GpuShape, need: Need) -> bool:
    """Slices and shared GPUs are meant by their own names only: who asks for a GPU wants all of it."""
    said = squeezed(need.model)
    if said:
        cut = shape.model.rpartition("-")[2] if shape.share != 1 else shape.model
        if said in (squeezed(shape.model), squeezed(cut), f"mig{squeezed(cut)}"):
            return True
        named = {one.name for one in site.catalogue.matching(need.model, need.memory_gib)}
        return shape.share == 1 and shape.model in named
    return bool(need.instance_type) or shape.share == 1


def _others(found: Iterable[Offer]) -> Iterable[Offer]:
    """One offer for each other resource: an answer that takes one of them names it by its resource only."""
    seen: set[str] = set()
    for number, offer in enumerate(found):
        if number and offer.instance_type not in seen:
            yield offer
        seen.add(offer.instance_type)


def _on_one_node(site: Site, nodes: Nodes, fitting: list[GpuShape], offer: Offer) -> list[GpuShape]:
    """Shapes with a node that has all that one pod needs."""
    kept = [one for one in fitting if nodes.largest(one) >= offer.gpu_count]
    if not kept:
        most = max(nodes.largest(one) for one in fitting)
        raise PermanentError(
            f"a workspace is one pod, and no node of {site} has {offer.gpu_count} {offer.gpu_model}: the largest has "
            f"{most}; nothing was created. Ask for at most {most}, or for a namespace",
            "too-large",
        )
    return kept


def _cheapest_first(offer: Offer) -> tuple[bool, str, Decimal, int, str, str]:
    """By rate where there is one; of those without one, the smallest memory first."""
    price = offer.hourly or Money(Decimal())
    memory = offer.gpu_memory_gib
    return offer.hourly is None, price.currency, price.amount, memory, offer.gpu_model, offer.instance_type


def _share_note(shape: GpuShape) -> str:
    return f"each is {shape.share} of a GPU" if shape.share != 1 else ""


def _spread_note(site: Site, nodes: Nodes, offer: Offer) -> str:
    """Said before it is approved: a quote does not know yet whether one pod is to have all of it."""
    most = max(nodes.largest(one) for one in nodes.shapes if one.model == offer.gpu_model)
    if most >= offer.gpu_count or LeaseKind.WORKSPACE not in site.config.kinds:
        return ""
    return f"no node has more than {most}, so it can be a namespace but not a workspace"


def _disk_note(site: Site, now: datetime) -> str:
    """Said before it is approved, as the price of the GPUs is not all that a workspace costs (case C28)."""
    if LeaseKind.WORKSPACE not in site.config.kinds or volumes.gib_month(site, now) is not None:
        return ""
    return "what disks cost here is unknown, so the cost of a workspace will be unknown"


def _price_list(site: Site, model: str, at: datetime) -> str:
    own = site.config.rates.get(model)
    since = own.since if own is not None and own.since != date.min and own.holds(at) else at.astimezone(UTC).date()
    return f"rates of {site.config.name} {since.isoformat()}"


def _refusal(site: Site, nodes: Nodes, need: Need, market: Market) -> str:
    counts = {one.model: nodes.total(one) for one in nodes.shapes}
    there = ", ".join(f"{model} x{counts[model]}" for model in sorted(counts)) if market is Market.ON_DEMAND else ""
    return (
        f"nothing in {site.config.name} fits {need} ({market.value}); nothing was requested. "
        f"Offered there: {there or 'no GPUs in this market'}{_by_claim(site)}"
    )


def _by_claim(site: Site) -> str:
    """Said where there seems to be nothing: nobody can be promised what pods do not ask for by a name."""
    found = claims.spelled(site)
    return f". Handed out by device claims alone, which no lease can hold to a number: {found}" if found else ""


def _token(lease_id: str, shape: GpuShape, market: Market) -> str:
    """64 ASCII characters: the same launch has the same token for ever, another launch never has it."""
    parts = (lease_id, shape.resource, shape.model, market.value)
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()
