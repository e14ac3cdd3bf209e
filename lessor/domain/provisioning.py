"""What a provider is told to create, the ways to do it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lessor.domain.money import Money
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Request
from lessor.domain.resource import Resource


@dataclass(frozen=True)
class Order:
    """All that a provider needs to create a lease's resources; the same for every retry.

    `co_owners` are ids of people, or `team:KEY`, with whom it is shared.
    """

    lease_id: str
    request: Request
    quote: Quote
    owner: str
    team: str
    cost_center: str
    ends: datetime | None
    co_owners: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One way to fill an order. `token` depends on lease, index, type, zone and market: ASCII, at most 64 long."""

    instance_type: str
    zone: str
    market: Market
    token: str
    hourly: Money | None
    stoppable: bool
    region: str = ""

    def __str__(self) -> str:
        where = f" in {self.zone}" if self.zone else ""
        return f"{self.instance_type}{where} ({self.market.value})"


@dataclass(frozen=True)
class Provisioned:
    """What was created and is usable: every resource, how to get in, since when it is billed and at what rate.

    `volatile` says that a stop loses what is on its local disks. `disk_gib` are billed at `disk_monthly` for a GiB and
    month, running or not; `None` is an unknown price.
    """

    resources: tuple[Resource, ...]
    access: str
    launched_at: datetime
    hourly: Money | None
    stoppable: bool
    volatile: bool = False
    disk_gib: int = 0
    disk_monthly: Money | None = None


@dataclass(frozen=True)
class Credentials:
    """An access that ends at `until`. `text` is secret: shown to who asked and kept nowhere, such as a kubeconfig."""

    text: str = field(repr=False)
    until: datetime
    file: str = "kubeconfig"
