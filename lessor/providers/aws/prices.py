"""What a machine costs: AWS's own price list while it can be reached, else the dated catalogue; spot from its history.

Unknown stays unknown: no price, two candidates or a price of zero never become a number (case C28).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from lessor.domain.money import Money
from lessor.domain.request import Market
from lessor.ports import PriceList, ProviderError
from lessor.providers.aws.errors import sorted_errors
from lessor.providers.aws.site import Site
from lessor.providers.aws.types import Remembered

PRICE_REGION = "us-east-1"
"""Where the price list of all regions is served; it is in a few regions only."""
LISTED_FOR, UNREACHABLE_FOR, SPOT_FOR = timedelta(hours=12), timedelta(minutes=10), timedelta(minutes=5)
SPOT_WINDOW = timedelta(days=7)
OWN_LIST = "lessor.yaml"
CHOSEN = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "preInstalledSw": "NA",
    "marketoption": "OnDemand",
}


@dataclass(frozen=True)
class Listed:
    """A price and the list that it is from; `problem` says why AWS's own list was not used."""

    hourly: Money | None
    version: str
    problem: str = ""


@dataclass(frozen=True)
class SpotRange:
    """Spot prices of one type: the latest by zone, and the range of the last days."""

    current: Mapping[str, Money]
    low: Money | None
    high: Money | None
    until: datetime

    def cheapest(self, zones: Iterable[str]) -> Money | None:
        known = [self.current[zone] for zone in zones if zone in self.current]
        return min(known, default=None)


class PriceProblem(Exception):
    """AWS's price list gave something that must not become a price."""


class Prices:
    """Prices by site. Implements no port itself: a price needs the account that may ask for it."""

    def __init__(self, dated: PriceList, clock: Callable[[], datetime]) -> None:
        """`dated` is what counts where AWS cannot be asked."""
        self._dated, self._clock = dated, clock
        self._listed: Remembered[tuple[datetime, Money] | str] = Remembered(LISTED_FOR, clock)
        self._down: dict[tuple[str, str], tuple[datetime, str]] = {}
        self._spot: Remembered[SpotRange] = Remembered(SPOT_FOR, clock)

    def on_demand(self, site: Site, instance_type: str, at: datetime) -> Listed:
        """The on-demand price of one machine an hour at `at`: agreed, else AWS's, else the catalogue's."""
        own = site.place.prices.get(instance_type)
        if own is not None and own.on_demand is not None and own.holds(at):
            return Listed(own.on_demand, OWN_LIST)
        problem = self._outage(site)
        if not problem:
            try:
                found = self._listed.get((site.key, instance_type), lambda: self._ask(site, instance_type))
                if not isinstance(found, str):
                    since, listed = found
                    if at >= since:
                        return Listed(listed, f"aws price api {self._clock():%Y-%m-%d}")
                problem = found if isinstance(found, str) else ""
            except ProviderError as error:
                problem = f"AWS's price list could not be read ({error.code})"
                self._down[site.key] = (self._clock(), problem)
        price = self._dated.hourly(instance_type, site.region, Market.ON_DEMAND, at)
        return Listed(price, self._dated.version, problem)

    def disk_monthly(self, site: Site, at: datetime) -> Money | None:
        """What a GiB of a machine's disks costs for a calendar month at `at`: agreed, else the catalogue's."""
        own = site.place.disks
        if own is not None and own.holds(at):
            return own.gib_month
        return self._dated.disk_monthly(site.region, at)

    def spot(self, site: Site, instance_type: str) -> SpotRange:
        """The spot market of one type in the zones of the region; empty where AWS has no history."""
        return self._spot.get((site.key, instance_type), lambda: self._read_spot(site, instance_type))

    def _outage(self, site: Site) -> str:
        since, problem = self._down.get(site.key, (None, ""))
        return problem if since is not None and self._clock() - since < UNREACHABLE_FOR else ""

    def _ask(self, site: Site, instance_type: str) -> tuple[datetime, Money] | str:
        wanted = {**CHOSEN, "instanceType": instance_type, "regionCode": site.region}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
        with sorted_errors(f"reading the price of {instance_type}"):
            pages = site.client("pricing", PRICE_REGION).get_paginator("get_products")
            answer = pages.paginate(ServiceCode="AmazonEC2", Filters=filters)
            products = [json.loads(text) for page in answer for text in page["PriceList"]]
        try:
            return only_price(products, wanted)
        except PriceProblem as problem:
            return f"AWS's price list for {instance_type} in {site.region} {problem}"

    def _read_spot(self, site: Site, instance_type: str) -> SpotRange:
        now = self._clock()
        entries = site.read(
            "describe_spot_price_history",
            "SpotPriceHistory",
            InstanceTypes=[instance_type],
            ProductDescriptions=["Linux/UNIX"],
            StartTime=now - SPOT_WINDOW,
            EndTime=now,
        )
        prices = [(entry["Timestamp"], entry["AvailabilityZone"], Decimal(entry["SpotPrice"])) for entry in entries]
        priced = sorted((at, zone, Money(amount)) for at, zone, amount in prices if amount > 0)
        amounts = [money for _, _, money in priced]
        latest = {zone: money for _, zone, money in priced}
        return SpotRange(latest, min(amounts, default=None), max(amounts, default=None), now)


def only_price(products: list[dict[str, Any]], wanted: dict[str, str]) -> tuple[datetime, Money]:
    """The one on-demand hourly price among products of the price list, with the instant from which it holds.

    Raises `PriceProblem` for none, for several, and for zero.
    """
    chosen = [product for product in products if _has(product, wanted)]
    prices = [price for product in chosen for price in _hourly(product)]
    if not prices:
        raise PriceProblem("has no on-demand price")
    if len(prices) > 1:
        raise PriceProblem(f"has {len(prices)} candidates for one price; none was taken")
    since, amount = prices[0]
    if amount <= 0:
        raise PriceProblem(f"says {amount}, which no GPU costs")
    return since, Money(amount)


def _has(product: dict[str, Any], wanted: dict[str, str]) -> bool:
    attributes = product.get("product", {}).get("attributes", {})
    return all(attributes.get(field, value) == value for field, value in wanted.items())


def _hourly(product: dict[str, Any]) -> list[tuple[datetime, Decimal]]:
    found = []
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        since = datetime.fromisoformat(term["effectiveDate"].replace("Z", "+00:00"))
        for dimension in term.get("priceDimensions", {}).values():
            if dimension.get("unit") == "Hrs" and "USD" in dimension.get("pricePerUnit", {}):
                found.append((since, _decimal(dimension["pricePerUnit"]["USD"])))
    return found


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text).normalize()
    except InvalidOperation as error:
        raise PriceProblem(f"says {text!r}, which is no number") from error
