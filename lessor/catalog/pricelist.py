"""Dated on-demand prices by region: the price of an instant is that of the latest list before it (case F28)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal

from lessor.domain.money import Money
from lessor.domain.request import Market


@dataclass(frozen=True)
class DatedList:
    """Prices an hour of instance types in some regions, in force from the start of a day in UTC."""

    since: date
    regions: tuple[str, ...]
    prices: Mapping[str, Decimal]


@dataclass(frozen=True)
class DatedDisks:
    """Prices by region of a GiB of disk (EBS gp3) for a calendar month, in force from the start of a day in UTC."""

    since: date
    prices: Mapping[str, Decimal]


class DatedPrices:
    """Implements `PriceList` from dated lists. Raises ValueError for a price that is not above zero."""

    def __init__(self, lists: Iterable[DatedList], currency: str = "USD", disks: Iterable[DatedDisks] = ()) -> None:
        self._currency = currency
        self._disks: dict[str, list[tuple[datetime, Decimal]]] = {}
        for storage in sorted(disks, key=lambda one: one.since):
            self._add_disks(storage)
        self._history: dict[tuple[str, str], list[tuple[datetime, Decimal]]] = {}
        newest = date.min
        for dated in sorted(lists, key=lambda one: one.since):
            newest = max(newest, dated.since)
            self._add(dated)
        self.version = f"catalogue {newest.isoformat()}"

    def hourly(self, instance_type: str, region: str, market: Market, at: datetime) -> Money | None:
        """The on-demand price in force at `at`; `None` (unknown) for other markets, types, regions and times."""
        if market is not Market.ON_DEMAND:
            return None
        return self._in_force(self._history.get((region, instance_type), []), at)

    def disk_monthly(self, region: str, at: datetime) -> Money | None:
        """The price of a GiB of disk for a calendar month in force at `at`; `None` is unknown, never free."""
        return self._in_force(self._disks.get(region, []), at)

    def _in_force(self, history: list[tuple[datetime, Decimal]], at: datetime) -> Money | None:
        position = bisect_right(history, at, key=lambda entry: entry[0])
        return Money(history[position - 1][1], self._currency) if position else None

    def _add_disks(self, dated: DatedDisks) -> None:
        start = datetime.combine(dated.since, time.min, UTC)
        for region, price in dated.prices.items():
            if price <= 0:
                raise ValueError(f"a GiB of disk in {region} costs {price} from {dated.since}; it is never free")
            self._disks.setdefault(region, []).append((start, price))

    def _add(self, dated: DatedList) -> None:
        start = datetime.combine(dated.since, time.min, UTC)
        for instance_type, price in dated.prices.items():
            if price <= 0:
                raise ValueError(f"{instance_type} costs {price} from {dated.since}; a GPU is never free")
            for region in dated.regions:
                self._history.setdefault((region, instance_type), []).append((start, price))
