"""Creates, stops, starts and takes down a lease's resources. Intent first, look before every launch and every end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from temporalio import activity

from activities.beating import alive
from activities.errors import as_application_errors
from activities.leases import lease_of
from lessor.contracts import LeaseRef, MoveEnd
from lessor.domain.lease import Lease, State
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.ports import Intent, Ledger, NoCapacityError, PermanentError, Provider, ProviderError, RetryableError


class ProvisioningActivities:
    """Holds one provider per kind of place, and the ledger for intents and what was seen."""

    def __init__(self, providers: Mapping[str, Provider], ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._providers = providers
        self._ledger = ledger
        self._clock = clock

    @activity.defn
    def provision(self, ref: LeaseRef) -> Provisioned:
        """Create what was approved, exactly once, and wait until it is usable.

        Raises `NoCapacity` with all that was tried, `PermanentProviderError`, or a retryable error.
        """
        with as_application_errors():
            lease = lease_of(self._ledger, ref)
            provider, order = self._provider(lease), _order(lease)
            resources = self._existing(provider, lease) or self._launch_first_possible(provider, order)
            provisioned = provider.await_usable(order, resources, alive)
            self._ledger.seen(lease.id, provisioned.resources)
            return provisioned

    @activity.defn
    def stop(self, ref: LeaseRef) -> datetime:
        """Stop the resources and see them stopped; the provider's own stop time."""
        with as_application_errors():
            lease = lease_of(self._ledger, ref)
            if lease.state is not State.ENDING:
                raise PermanentError(
                    f"{lease.id} is {lease.state.value}, not ending; nothing was stopped", "wrong-state"
                )
            return self._provider(lease).stop(lease.id, lease.request.place, alive)

    @activity.defn
    def start(self, ref: LeaseRef) -> datetime:
        """Start stopped resources again and see them running."""
        with as_application_errors():
            lease = lease_of(self._ledger, ref)
            return self._provider(lease).start(lease.id, lease.request.place, alive)

    @activity.defn
    def take_down(self, ref: LeaseRef) -> Sighting:
        """Delete what is left of the lease, then look again: the sighting after the deletion."""
        with as_application_errors():
            lease = lease_of(self._ledger, ref)
            provider, place = self._provider(lease), lease.request.place
            before = provider.look(lease.id, place, self._known(lease.id))
            if before.left or not before.complete:
                if lease.request.snapshot and lease.ready_at is not None:
                    self._ledger.seen(lease.id, provider.snapshot(lease.id, place, alive))
                provider.delete(lease.id, place, self._known(lease.id), alive)
                before = provider.look(lease.id, place, self._known(lease.id))
            self._ledger.seen(lease.id, before.resources)
            return before

    @activity.defn
    def look(self, ref: LeaseRef) -> Sighting:
        """What can be seen of the lease's resources now; changes nothing."""
        with as_application_errors():
            lease = lease_of(self._ledger, ref)
            return self._provider(lease).look(lease.id, lease.request.place, self._known(lease.id))

    @activity.defn
    def set_end(self, move: MoveEnd) -> None:
        """Write the end date on the resources (law 10)."""
        with as_application_errors():
            lease = lease_of(self._ledger, LeaseRef(move.lease_id, 0))
            self._provider(lease).set_end(lease.id, lease.request.place, move.ends)

    def _provider(self, lease: Lease) -> Provider:
        return self._providers[lease.request.place.provider]

    def _existing(self, provider: Provider, lease: Lease) -> tuple[Resource, ...]:
        """What an earlier attempt created: found by tag, kept in the ledger, adopted instead of launched again."""
        sighting = provider.look(lease.id, lease.request.place)
        if not sighting.complete:
            raise RetryableError(f"could not read {lease.request.place}: {sighting.problem}; nothing was launched")
        alive = tuple(
            r
            for r in sighting.left
            if r.kind in (Kind.INSTANCE, Kind.NAMESPACE) and r.condition is not Condition.DELETING
        )
        if alive:
            self._ledger.seen(lease.id, alive)
        return alive

    def _launch_first_possible(self, provider: Provider, order: Order) -> tuple[Resource, ...]:
        tried: list[str] = []
        last: ProviderError | None = None
        for candidate in provider.candidates(order):
            try:
                return self._launch(provider, order, candidate)
            except NoCapacityError as error:
                tried.append(str(candidate))
                last = error
        if last is None:
            raise PermanentError(f"nothing in {order.request.place} can fill {order.request.need}", "no-candidate")
        raise NoCapacityError(f"no capacity now; tried {', '.join(tried)}", tuple(tried), last.code) from last

    def _launch(self, provider: Provider, order: Order, candidate: Candidate) -> tuple[Resource, ...]:
        alive(f"launching {candidate}")
        place = order.request.place
        self._ledger.intend(Intent(order.lease_id, candidate.token, place, str(candidate), self._clock()))
        resources = provider.launch(order, candidate, alive)
        self._ledger.confirm(order.lease_id, candidate.token, resources)
        return resources

    def _known(self, lease_id: str) -> tuple[Resource, ...]:
        """What the ledger knows of: resources seen, and those launched under an intent whose answer never came."""
        recorded = self._ledger.resources(lease_id)
        unanswered = [i for i in self._ledger.intents(lease_id) if not i.confirmed]
        return (*recorded, *(Resource(Kind.INSTANCE, "", token=i.token) for i in unanswered))


def _order(lease: Lease) -> Order:
    if lease.quote is None:
        raise PermanentError(f"{lease.id} has no quote; nothing was launched", "no-quote")
    request = lease.request
    ends = (
        lease.ends_at
        or request.until
        or (lease.approved_at and request.duration and lease.approved_at + request.duration)
    )
    return Order(lease.id, request, lease.quote, lease.owner, request.team, request.cost_center, ends or None)
