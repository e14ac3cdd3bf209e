"""The Kubernetes provider: the port's methods, each handed to the module that knows how, with the place's `Site`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from lessor.catalog import Catalogue
from lessor.domain.checkup import Checkup
from lessor.domain.guarding import Roll, Strays
from lessor.domain.pools import Census
from lessor.domain.provisioning import Candidate, Credentials, Order, Provisioned
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Resource, Sighting, Tagged
from lessor.domain.usage import Held
from lessor.ports import Heartbeat, PermanentError
from lessor.providers.kubernetes import (
    capacity,
    ends,
    inventory,
    keys,
    launching,
    lifecycle,
    occupancy,
    offers,
    ownership,
    removal,
    snapshots,
    usable,
)
from lessor.providers.kubernetes.api import Api
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.rights import check
from lessor.providers.kubernetes.site import Site, Subjects
from lessor.rendering import manifest_renderer


class KubernetesProvider:
    """Implements `Provider`, `Watch`, `Capacity`, `Occupancy`, `Keys`, `Dated` and `SelfCheck` for clusters.

    Threads may share it.
    `places` is by the name in `lessor.yaml`; `apis` opens the way into one, once and when it is first needed.
    `templates` is the organisation's folder of overriding templates.
    """

    name = "kubernetes"

    def __init__(
        self,
        places: Mapping[str, KubernetesPlace],
        apis: Callable[[KubernetesPlace], Api],
        catalogue: Catalogue,
        subjects: Subjects,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
        templates: Path | None = None,
    ) -> None:
        self._places, self._apis, self._catalogue, self._subjects = places, apis, catalogue, subjects
        self._clock, self._sleep = clock, sleep
        self._renderer = manifest_renderer(templates)
        self._open: dict[str, Api] = {}
        self._opening = threading.Lock()

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        """Everything that fills `need` in `place`, cheapest first, unknown prices last. Empty when nothing fits."""
        return offers.offers(self._site(place), need, market)

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        """The cheapest offer, with the others. Raises `PermanentError` when nothing fits, with what is offered."""
        return offers.quote(self._site(place), need, market, now)

    def candidates(self, order: Order) -> Sequence[Candidate]:
        """Ways to fill the order, the approved one first: what a cluster calls the GPUs, as it has no zones."""
        return offers.candidates(self._site(order.request.place), order)

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Create the lease's namespace and what belongs in it; what exists of it already is completed instead."""
        return launching.launch(self._site(order.request.place), order, candidate, heartbeat)

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        """Wait until quota and role hold, and a workspace's pod is ready. Raises when it is not to be had."""
        return usable.await_usable(self._site(order.request.place), order, resources, heartbeat)

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        """All that is the lease's or says so; `complete` is false if anything was unread."""
        return inventory.look(self._site(place), lease_id, known)

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Scale what keeps pods alive to nothing and see that no GPU is held; when that was, also when repeated."""
        return lifecycle.stop(self._site(place), lease_id, heartbeat)

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Give everything its former size back and see it run; when that was, also when repeated."""
        return lifecycle.start(self._site(place), lease_id, heartbeat)

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Snapshot the lease's volumes once each, where the cluster can."""
        return snapshots.snapshot(self._site(place), lease_id, heartbeat)

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """Take down workloads, claims, namespace and volumes that are proven the lease's (law 3), by their uids."""
        removal.delete(self._site(place), lease_id, known, heartbeat)

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        """Write the end date on the namespace itself (law 10)."""
        ownership.set_end(self._site(place), lease_id, ends)

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        """Write whose it is and who pays, and let them in instead of those before; a second time changes nothing."""
        ownership.set_owner(self._site(place), lease_id, owner, team, cost_center, co_owners)

    def conditions(self, place: Place) -> tuple[Tagged, ...]:
        """Every resource of ours in the place, all pages. Raises `ProviderError` when any page is missing."""
        return inventory.conditions(self._site(place))

    def attribute(self, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Mark what people made in our namespaces as the lease's; returns what was marked (case C10)."""
        return inventory.attribute(self._site(place), heartbeat)

    def census(self, place: Place) -> Census:
        """What GPUs the cluster has and who holds them. What cannot be read is unknown and said."""
        return capacity.census(self._site(place))

    def dated(self, place: Place) -> Roll:
        """Every lease's namespace with the end that stands on it."""
        return ends.dated(self._site(place))

    def unleased(self, place: Place) -> Strays:
        """What holds GPUs in the cluster outside of leases."""
        return ends.unleased(self._site(place))

    def held(self, place: Place, since: datetime, leases: Collection[str]) -> dict[str, Held]:
        """By lease, what pods had of its GPUs after `since`; what was not read whole is a problem, never nothing."""
        return occupancy.held(self._site(place), since, leases)

    def credentials(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> Credentials:
        """A kubeconfig for the lease's namespace that runs out by itself and is stored nowhere."""
        return keys.credentials(self._site(place), lease_id, heartbeat)

    def checkup(self, place: Place) -> Checkup:
        """What the cluster says of our rights; one that gives no answer is a problem of its own (case D15)."""
        site = self._site(place)
        return check(site.api, site.config)

    def _site(self, place: Place) -> Site:
        config = self._places.get(place.name)
        if config is None:
            raise PermanentError(
                f"'{place.name[:40]}' is no cluster that is configured; nothing was changed, known: "
                f"{', '.join(self._places)}",
                "unknown-place",
            )
        return Site(
            self._api(config),
            config,
            place,
            self._catalogue,
            self._renderer,
            self._subjects,
            self._clock,
            self._sleep,
        )

    def _api(self, place: KubernetesPlace) -> Api:
        with self._opening:
            if place.name not in self._open:
                self._open[place.name] = self._apis(place)
            return self._open[place.name]
