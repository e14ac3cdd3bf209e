"""A cloud and a notifier that answer at once and remember next to nothing: the benchmarks measure lessor, not them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from lessor.contracts import Delivery, Notice, PageInput
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.ports import Candidate, Heartbeat, Order, Provisioned

HOURLY = Money(Decimal("2.50"))


class InstantCloud:
    """One instance per lease, whose id is derived from the lease's; only the conditions are kept."""

    name = "aws"

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._conditions: dict[str, Condition] = {}

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        return (Offer("g5.xlarge", need.model or "A10G", need.count, 24, 4 * need.count, market, HOURLY, HOURLY),)

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        return Quote(need, self.offers(need, place, market)[0], now, "catalogue 2026-06-01")

    def candidates(self, order: Order) -> Sequence[Candidate]:
        return [Candidate("g5.xlarge", "us-east-1a", order.request.market, f"{order.lease_id}-a", HOURLY, True)]

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        self._conditions[order.lease_id] = Condition.RUNNING
        return self._resources(order.lease_id)

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        heartbeat("waiting")
        return Provisioned(tuple(resources), f"connect {resources[0].id}", self._clock(), HOURLY, True)

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        return Sighting(self._resources(lease_id), self._clock())

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        self._conditions[lease_id] = Condition.STOPPED
        return self._clock()

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        self._conditions[lease_id] = Condition.RUNNING
        return self._clock()

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        return (Resource(Kind.SNAPSHOT, f"snap-{lease_id}", Condition.RUNNING),)

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        self._conditions[lease_id] = Condition.GONE

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        """Nothing is kept of it."""

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        """Nothing is kept of it."""

    def _resources(self, lease_id: str) -> tuple[Resource, ...]:
        condition = self._conditions.get(lease_id)
        if condition is None:
            return ()
        machine = Resource(Kind.INSTANCE, f"i-{lease_id[4:]}", condition, zone="us-east-1a", token=f"{lease_id}-a")
        return (machine,)


class InstantNotifier:
    """Reaches everybody at once."""

    async def notify(
        self,
        lease: Lease,
        notice: Notice,
        before: timedelta,
        now: datetime,
        *,
        revision: int = 0,
        patient: bool = True,
    ) -> Delivery:
        return Delivery(True, "slack:dm")

    async def page(self, wanted: PageInput, now: datetime, *, patient: bool = True) -> Delivery:
        return Delivery(True, "slack:channel")
