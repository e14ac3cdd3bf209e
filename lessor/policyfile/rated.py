"""A quote of a place with rates of the organisation's own, for requests that are only tried out: nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from lessor.catalog import Catalogue, load_catalogue
from lessor.catalog.cluster import load_names
from lessor.config.model import PlaceConfig
from lessor.domain.money import Money
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need

PRICE_LIST = "rates, tried out"


def quote(need: Need, place: PlaceConfig, market: Market, at: datetime, currency: str) -> Quote | None:
    """The cheapest way to fill `need` in a cluster or a pool of machines as far as lessor.yaml tells what is there.

    A cluster may have models that have no rate: such a model of the catalogue has an unknown price. `None` when nothing
    fills the need, or the market is not that of such places.
    """
    if market is not Market.ON_DEMAND:
        return None
    catalogue = load_catalogue()
    fitting = [one for one in _kinds(place, need, catalogue) if _fits(one, need, catalogue)]
    offers = [one.offer(need, at, currency) for one in fitting]
    if not offers:
        return None
    return Quote(need, min(offers, key=_cheapest_first), at, PRICE_LIST)


@dataclass(frozen=True)
class _Kind:
    """One kind of GPU in the place: a lease takes `alone` of them, or what it needs if that is 0, at most `most`."""

    name: str
    model: str
    memory_gib: int
    hourly: Decimal | None
    since: date | None
    alone: int = 0
    most: int = 0

    def offer(self, need: Need, at: datetime, currency: str) -> Offer:
        count = self.alone or need.count
        holds = self.hourly is not None and (self.since is None or at.date() >= self.since)
        hourly = Money(self.hourly, currency) * count if holds and self.hourly is not None else None
        return Offer(self.name, self.model, count, self.memory_gib, 0, Market.ON_DEMAND, hourly, hourly)


def _kinds(place: PlaceConfig, need: Need, catalogue: Catalogue) -> Iterator[_Kind]:
    if place.kubernetes is not None:
        rates = place.kubernetes.rates
        for model, rate in rates.items():
            yield _Kind(_resource(model), model, _memory(catalogue, model), rate.hourly, rate.since)
        meant = catalogue.canonical(need.model)
        if meant is not None and meant not in rates:
            yield _Kind(_resource(meant), meant, _memory(catalogue, meant), None, None)
    for one in place.machines.machines if place.machines is not None else ():
        alone = one.gpus if one.lease == "machine" else 0
        memory = one.memory_gib or _memory(catalogue, one.model)
        yield _Kind(one.name, one.model, memory, one.hourly, one.since, alone, one.gpus)


def _fits(kind: _Kind, need: Need, catalogue: Catalogue) -> bool:
    if kind.most and kind.most < need.count:
        return False
    if need.instance_type:
        return need.instance_type.strip().casefold() == kind.name.casefold()
    named = {one.name for one in catalogue.matching(need.model, need.memory_gib)} | {catalogue.canonical(need.model)}
    means = not need.model or kind.model in named or kind.model.casefold() == need.model.casefold()
    return means and kind.memory_gib >= need.memory_gib


def _resource(model: str) -> str:
    """What pods would ask for, as far as the name of the model tells: slices are made by one vendor only."""
    names = load_names()
    vendor = next(one for one in names.vendors if (one.name == "AMD") == model.upper().startswith("MI"))
    cut = model.rpartition("-")[2]
    return f"{vendor.sliced}{cut}" if vendor.sliced and "g." in cut else vendor.whole


def _memory(catalogue: Catalogue, model: str) -> int:
    known = catalogue.model(model)
    return known.memory_gib if known else 0


def _cheapest_first(offer: Offer) -> tuple[bool, Decimal, int, str]:
    price = offer.hourly.amount if offer.hourly is not None else Decimal()
    return offer.hourly is None, price, offer.gpu_count, offer.gpu_model
