"""The price of a request at an instant. Unknown is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.domain.money import Money
from lessor.domain.request import Market, Need


@dataclass(frozen=True)
class Offer:
    """One way to fill a need: an instance type with what it holds and costs an hour in one market.

    `region` is where the price holds; empty for kinds of place without regions.
    """

    instance_type: str
    gpu_model: str
    gpu_count: int
    gpu_memory_gib: int
    vcpus: int
    market: Market
    hourly: Money | None
    on_demand_hourly: Money | None = None
    local_disk: bool = False
    note: str = ""
    region: str = ""

    def __str__(self) -> str:
        """`g5.12xlarge (4 x A10G)`; the GPUs alone where the type only says them again, as in clusters and pools."""
        gpus = f"{self.gpu_count} x {self.gpu_model}"
        again = "/" in self.instance_type or self.instance_type == f"{self.gpu_count}x{self.gpu_model}"
        return gpus if again else f"{self.instance_type} ({gpus})"


@dataclass(frozen=True)
class Quote:
    """The offer that was chosen, and what else would have fitted, cheapest first.

    `price_list` names the version of the prices (`catalogue 2026-11-01`, `aws price api 2026-11-27`).
    `spot_low` and `spot_high` are the range seen lately in the market's history, when the market is spot.
    """

    need: Need
    offer: Offer
    at: datetime
    price_list: str
    alternatives: tuple[Offer, ...] = ()
    spot_low: Money | None = None
    spot_high: Money | None = None
    vcpu_quota: int | None = None
    note: str = ""

    @property
    def known(self) -> bool:
        return self.offer.hourly is not None

    @property
    def judged_hourly(self) -> Money | None:
        """The price that approval limits apply to: on-demand for spot, since spot prices move; unknown if that is."""
        return self.offer.on_demand_hourly if self.offer.market is Market.SPOT else self.offer.hourly

    def total(self, length: timedelta) -> Money | None:
        """What `length` costs at today's price; `None` when the price is unknown."""
        return None if self.offer.hourly is None else self.offer.hourly.for_time(length).rounded()
