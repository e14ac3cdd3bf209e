"""The EC2 provider: the port's methods, each handed to the module that knows how."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import structlog

from lessor.catalog import Catalogue
from lessor.domain.guarding import Roll, Strays
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Condition, Resource, Sighting, Tagged
from lessor.ports import Heartbeat, PermanentError, ProviderError
from lessor.providers.aws import attribution, ends, inventory
from lessor.providers.aws.errors import QUOTA, quota_exceeded
from lessor.providers.aws.launching import Launcher
from lessor.providers.aws.lifecycle import Lifecycle
from lessor.providers.aws.offers import Offers, covered
from lessor.providers.aws.place import Ec2Place
from lessor.providers.aws.prices import Prices
from lessor.providers.aws.quotas import VcpuQuotas
from lessor.providers.aws.removal import Removal
from lessor.providers.aws.rollcall import RollCall
from lessor.providers.aws.sessions import Accounts
from lessor.providers.aws.site import Site
from lessor.providers.aws.tokens import token
from lessor.providers.aws.types import InstanceTypes
from lessor.providers.aws.usable import Usable
from lessor.providers.aws.waiting import Waits, not_shown_yet
from lessor.rendering import Renderer

POLL_EVERY = timedelta(seconds=10)

log = structlog.get_logger(__name__)


class Ec2Provider:
    """Implements `Provider`, `Watch` and `Dated` for EC2. Calls block; it may be shared between threads.

    `places` is by the name in `lessor.yaml`. `poll_every` is how often waiting reads a region, however many wait.
    `templates` is the organisation's folder of overriding templates.
    """

    name = "aws"

    def __init__(
        self,
        places: Mapping[str, Ec2Place],
        catalogue: Catalogue,
        *,
        session_factory: Callable[[], boto3.Session] = boto3.Session,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
        poll_every: timedelta = POLL_EVERY,
        types: InstanceTypes | None = None,
        templates: Path | None = None,
    ) -> None:
        self._places, self._clock = places, clock
        self._accounts = Accounts(session_factory)
        self._types = types or InstanceTypes(catalogue, clock)
        self._quotas = VcpuQuotas(clock)
        self._offers = Offers(catalogue, self._types, Prices(catalogue, clock), self._quotas, clock)
        waits = Waits(RollCall(clock, sleep, poll_every), clock)
        self._launcher = Launcher(Renderer("aws", override=templates), sleep)
        self._usable = Usable(self._launcher, self._offers, waits, clock)
        self._lifecycle = Lifecycle(waits, clock)
        self._removal = Removal(waits, clock)

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        """Everything that fills `need` in `place`, cheapest first, unknown prices last. Empty when nothing fits."""
        priced = self._offers.priced(self._sites(place), need, place.zone, market, self._clock())
        return tuple(one.offer for one in priced)

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        """The cheapest offer of the first region that has one, with others. Raises `PermanentError` if none fits."""
        return self._offers.quote(self._sites(place), need, place.zone, market, now)

    def candidates(self, order: Order) -> Sequence[Candidate]:
        """Zones of the approved type, the one asked for first, then those of alternatives that cost little more.

        Alternatives are the same type in other regions of the place, then other types. A region other than the
        approved one that cannot be read now is left out: it must not keep the others from being tried.
        """
        place, approved = order.request.place, order.quote.offer
        found: list[Candidate] = []
        for offer in covered(order.quote):
            try:
                site = self._site(place, offer.region)
                zones = self._offers.zones(site, offer, place.zone)
                found += [self._candidate(site, order, offer, zone) for zone in zones]
            except ProviderError as error:
                if offer.region == approved.region:
                    raise
                log.warning("region-left-out", lease_id=order.lease_id, region=offer.region, why=str(error))
        return found

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Create it, once per token: what lives of the lease already, in any zone and region, is returned instead.

        The answer can be fewer machines than needed: it is stored first, `await_usable` decides. Raises
        `NoCapacityError` (this candidate only), `PermanentError` (nothing in its region), `RetryableError` (it may
        exist now).
        """
        place = order.request.place
        site = self._site(place, candidate.region)
        facts = self._types.all(site).get(candidate.instance_type)
        if facts is None:
            raise PermanentError(
                f"{candidate.instance_type} is no GPU type of {site.region}; nothing was created", "unknown-type"
            )
        machines = self._offers.machines(site, order.request.need, candidate.instance_type)
        for other in self._sites(place):
            if other.region != site.region and (found := self._launcher.existing(other, order.lease_id, ())):
                return found
        try:
            return self._launcher.launch(site, order, candidate, machines, facts.architecture, heartbeat)
        except PermanentError as error:
            if error.code not in QUOTA:
                raise
            quota = self._quotas.vcpus(site, candidate.instance_type, candidate.market)
            what = f"{machines} x {candidate.instance_type} ({candidate.market.value})"
            raise quota_exceeded(error, site.region, what, facts.vcpus * machines, quota) from error

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        """Wait until the launched machines run, all or none; end any other launch of the lease; tag what came along."""
        return self._usable.await_usable(self._sites(order.request.place), order, resources, heartbeat)

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        """All that carries the lease's tag; `complete` is false if any page or region was unread.

        A machine of `known` that was launched in the last ten minutes and is not shown is `unknown`, not gone.
        """
        found: list[Resource] = []
        problems: list[str] = []
        foreign: list[str] = []
        for site in self._sites(place):
            try:
                there = inventory.of_lease(site, lease_id)
                found += there.resources(self._offers.disk_monthly(site))
                foreign += there.foreign(lease_id, known)
            except ProviderError as error:
                problems.append(str(error))
        late = not_shown_yet(known, found, self._clock())
        found += [replace(one, condition=Condition.UNKNOWN, reason="not shown by EC2 yet") for one in late]
        return Sighting(tuple(found), self._clock(), not problems, "; ".join(problems), tuple(foreign))

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Stop and see it stopped; the provider's stop time. Stopping what is stopped succeeds."""
        return self._lifecycle.stop(self._sites(place), lease_id, heartbeat)

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Start and see it running; the time it ran again."""
        return self._lifecycle.start(self._sites(place), lease_id, heartbeat)

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Snapshot the lease's volumes once each; kept snapshots carry the lease's tag and are not left-overs."""
        return self._lifecycle.snapshot(self._sites(place), lease_id, heartbeat)

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """Take down what carries the lease's tag *and* is in `known` or was created under its intents (law 3)."""
        self._removal.delete(self._sites(place), lease_id, known, heartbeat)

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        """Write the end date on the resources themselves (law 10)."""
        self._lifecycle.set_end(self._sites(place), lease_id, ends)

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        """Write on the resources whose they are and who pays; a second time changes nothing."""
        self._lifecycle.set_owner(self._sites(place), lease_id, owner, team, cost_center)

    def conditions(self, place: Place) -> tuple[Tagged, ...]:
        """Every resource of ours in the place, all pages. Raises `ProviderError` when any page is missing."""
        sites = ((inventory.of_place(site), self._offers.disk_monthly(site)) for site in self._sites(place))
        return tuple(one for there, gib_month in sites for one in there.tagged(gib_month))

    def attribute(self, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Tag what somebody attached to our machines later; returns what was tagged (case C10)."""
        return tuple(r for site in self._sites(place) for r in attribution.attribute(site, heartbeat))

    def dated(self, place: Place) -> Roll:
        """Every lease that shows in the account, region by region, with the end that stands on its machines."""
        return ends.dated(self._sites(place), place)

    def unleased(self, place: Place) -> Strays:
        """Machines with GPUs that run and carry no lease's tag."""
        return ends.unleased(self._sites(place), place, self._types, self._offers)

    def _candidate(self, site: Site, order: Order, offer: Offer, zone: str) -> Candidate:
        machines = self._offers.machines(site, order.request.need, offer.instance_type)
        return Candidate(
            instance_type=offer.instance_type,
            zone=zone,
            market=offer.market,
            token=token(order.lease_id, 0, offer.instance_type, zone, offer.market),
            hourly=self._offers.hourly(site, offer.instance_type, zone, offer.market, machines),
            stoppable=offer.market is Market.ON_DEMAND,
            region=site.region,
        )

    def _site(self, place: Place, region: str) -> Site:
        """In a region of the place; in the one that is asked for, or the first, when `region` is empty."""
        configured = self._configured(place)
        return Site(self._accounts, configured, configured.region_of(replace(place, region=region or place.region)))

    def _sites(self, place: Place) -> tuple[Site, ...]:
        configured = self._configured(place)
        return tuple(Site(self._accounts, configured, region) for region in configured.regions_of(place))

    def _configured(self, place: Place) -> Ec2Place:
        configured = self._places.get(place.name)
        if configured is None:
            raise PermanentError(
                f"'{place.name[:40]}' is no place on EC2; nothing was changed, known: {', '.join(self._places)}",
                "unknown-place",
            )
        return configured
