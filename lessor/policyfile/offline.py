"""A quote from the catalogue alone, for requests that are only tried out: no cloud is asked, nothing is offered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lessor.catalog import Catalogue, load_catalogue
from lessor.catalog.catalogue import GpuType
from lessor.config.model import PlaceConfig
from lessor.domain.money import Money
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need
from lessor.policyfile import rated

PRICE_LIST = "catalogue, tried out"


def quote(need: Need, place: PlaceConfig, region: str, market: Market, at: datetime, currency: str) -> Quote | None:
    """The cheapest way to fill `need` in the region, at the place's own prices or the catalogue's.

    Its price is unknown where neither has one. `None` when nothing in the catalogue fills the need. Places of other
    kinds than AWS have no regions, and rates of their own.
    """
    if place.provider != "aws":
        return rated.quote(need, place, market, at, currency)
    catalogue = load_catalogue()
    prices = _Prices(catalogue, place, region or place.regions[0], market, at, currency)
    offers = [prices.offer(kind, need) for kind in _fitting(need, place, catalogue)]
    if not offers:
        return None
    best = min(offers, key=lambda one: (one.hourly is None, one.hourly.amount if one.hourly else 0, one.instance_type))
    return Quote(need, best, at, PRICE_LIST)


def _fitting(need: Need, place: PlaceConfig, catalogue: Catalogue) -> list[GpuType]:
    """Types that hold what is needed in one machine, or the largest ones if none does."""
    usable = [kind for kind in catalogue.types.values() if kind.name in (place.instance_types or catalogue.types)]
    if need.instance_type:
        return [kind for kind in usable if kind.name == need.instance_type]
    wanted = {one.name for one in catalogue.matching(need.model, need.memory_gib)}
    fitting = [kind for kind in usable if kind.model in wanted]
    largest = max((kind.count for kind in fitting), default=0)
    return [kind for kind in fitting if kind.count >= need.count] or [k for k in fitting if k.count == largest]


@dataclass(frozen=True)
class _Prices:
    catalogue: Catalogue
    place: PlaceConfig
    region: str
    market: Market
    at: datetime
    currency: str

    def offer(self, kind: GpuType, need: Need) -> Offer:
        machines = -(-need.count // kind.count)
        model = self.catalogue.model(kind.model)
        return Offer(
            instance_type=kind.name,
            gpu_model=kind.model,
            gpu_count=kind.count * machines,
            gpu_memory_gib=model.memory_gib if model else 0,
            vcpus=kind.vcpus * machines,
            market=self.market,
            hourly=self._hourly(kind.name, self.market, machines),
            on_demand_hourly=self._hourly(kind.name, Market.ON_DEMAND, machines),
            local_disk=kind.local_disk,
            region=self.region,
        )

    def _hourly(self, instance_type: str, market: Market, machines: int) -> Money | None:
        own = self.place.prices.get(instance_type)
        if own is not None and own.since is not None and own.since > self.at.date():
            own = None
        negotiated = getattr(own, market.value.replace("-", "_")) if own else None
        if negotiated is not None:
            return Money(negotiated, self.currency) * machines
        listed = self.catalogue.hourly(instance_type, self.region, market, self.at)
        return listed * machines if listed else None
