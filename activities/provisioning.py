"""Creates, stops, starts and takes down a lease's resources. Intent first, look before every launch and every end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from activities.attempts import Attempts
from activities.beating import alive, beating_beside, blocking
from activities.errors import as_application_errors
from activities.leases import lease_of
from lessor.contracts import NOT_STOPPABLE, QUEUED, LeaseRef, MoveEnd
from lessor.domain import suspension
from lessor.domain.lease import Lease, State
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.resource import LEASED, Condition, Kind, Resource, Sighting
from lessor.ports import Intent, Ledger, NoCapacityError, PermanentError, Provider, RetryableError


class ProvisioningActivities:
    """Holds one provider per kind of place, and the ledger for intents and what was seen."""

    def __init__(self, providers: Mapping[str, Provider], ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._providers = providers
        self._ledger = ledger
        self._clock = clock

    @blocking
    def provision(self, ref: LeaseRef) -> Provisioned:
        """Create what was approved, exactly once, and wait until it is usable.

        Raises `NoCapacity` with all that was tried, `PermanentProviderError`, or a retryable error.
        """
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            provider = self._provider(lease)
            sighting = provider.look(lease.id, lease.request.place)
            existing = self._existing(lease, sighting)
            provisioned = self._first_usable(provider, _order(lease), existing, sighting.complete)
            self._ledger.seen(lease.id, provisioned.resources)
            return provisioned

    @blocking
    def stop(self, ref: LeaseRef) -> datetime:
        """Stop the resources and see them stopped; the provider's own stop time."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            if lease.state is not State.ENDING and not suspension.stopping(lease):
                raise PermanentError(
                    f"{lease.id} is {lease.state.value}, not ending; nothing was stopped", "wrong-state"
                )
            provider, place = self._provider(lease), lease.request.place
            try:
                return provider.stop(lease.id, place, alive)
            except PermanentError as error:
                if error.code != NOT_STOPPABLE or lease.state is not State.ENDING:
                    raise
                # Given back early: what can only be ended waits for the end that is written on it.
                provider.set_end(lease.id, place, lease.ends_at or self._clock())
                return provider.stop(lease.id, place, alive)

    @blocking
    def start(self, ref: LeaseRef) -> datetime:
        """Start stopped resources again and see them running. Nothing is started that has ended meanwhile."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            if lease.state not in (State.PROVISIONING, State.SUSPENDED) or lease.pause is not None:
                found = "stopped until somebody starts it" if lease.pause else lease.state.value
                raise PermanentError(
                    f"{lease.id} is {found}, so it is not started again; nothing was changed", "wrong-state"
                )
            return self._provider(lease).start(lease.id, lease.request.place, alive)

    @blocking
    def take_down(self, ref: LeaseRef) -> Sighting:
        """Delete what is left of the lease, then look again: the sighting after the deletion."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            provider, place = self._provider(lease), lease.request.place
            sighting = provider.look(lease.id, place, self._known(lease.id))
            if sighting.left or not sighting.complete:
                self._see(lease, sighting)
                problem = self._delete(provider, lease)
                sighting = provider.look(lease.id, place, self._known(lease.id))
                sighting = replace(sighting, problem=problem or sighting.problem)
            self._see(lease, sighting)
            return sighting.cut()

    @blocking
    def look(self, ref: LeaseRef) -> Sighting:
        """What can be seen of the lease's resources now; changes nothing."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            return self._provider(lease).look(lease.id, lease.request.place, self._known(lease.id)).cut()

    @blocking
    def set_end(self, move: MoveEnd) -> None:
        """Write the end on the resources (law 10): the one that holds now, also while people decide on a later one."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, LeaseRef(move.lease_id, 0))
            self._provider(lease).set_end(lease.id, lease.request.place, lease.runs_until or move.ends)

    @blocking
    def set_owner(self, ref: LeaseRef) -> None:
        """Write on the resources whose they are and who pays: those who hold now, who may have changed again."""
        with as_application_errors(), beating_beside():
            lease = lease_of(self._ledger, ref)
            request = lease.request
            shared = tuple(one.id for one in lease.co_owners)
            self._provider(lease).set_owner(
                lease.id, request.place, lease.owner, request.team, request.cost_center, shared
            )

    def _provider(self, lease: Lease) -> Provider:
        return self._providers[lease.request.place.provider]

    def _see(self, lease: Lease, sighting: Sighting) -> None:
        """Record what is the lease's. What only carries its mark is not: on record it would count as proof (law 3)."""
        self._ledger.seen(lease.id, [one for one in sighting.resources if one.ref not in sighting.foreign])

    def _delete(self, provider: Provider, lease: Lease) -> str:
        """Delete what can be deleted; the words for what can not, since the look afterwards shows what is left."""
        place = lease.request.place
        try:
            if lease.request.snapshot and lease.ready_at is not None:
                self._ledger.seen(lease.id, provider.snapshot(lease.id, place, alive))
            provider.delete(lease.id, place, self._known(lease.id), alive)
        except PermanentError as error:
            return str(error)
        return ""

    def _existing(self, lease: Lease, sighting: Sighting) -> tuple[Resource, ...]:
        """What an earlier attempt created: found by tag, kept in the ledger, adopted instead of launched again.

        Nothing new is launched where not all can be read: it could never be proven gone.
        """
        ours = (r for r in sighting.left if r.ref not in sighting.foreign)
        found = tuple(r for r in ours if r.kind in LEASED and r.condition is not Condition.DELETING)
        if not sighting.complete and not found:
            raise RetryableError(f"could not read {lease.request.place}: {sighting.problem}; nothing was launched")
        if found:
            self._ledger.seen(lease.id, found)
        return found

    def _first_usable(
        self, provider: Provider, order: Order, existing: tuple[Resource, ...], whole: bool
    ) -> Provisioned:
        """What exists already if it becomes usable, else the first candidate that has capacity and does.

        Where what exists is not the `whole` of it, nothing takes its place: the next try looks again.
        """
        attempts = Attempts()
        if existing:
            try:
                return provider.await_usable(order, existing, alive)
            except NoCapacityError as error:
                if error.code == QUEUED or not whole:
                    raise
                attempts.ended(error)
        for candidate in provider.candidates(order):
            if attempts.pointless(candidate):
                continue
            try:
                return provider.await_usable(order, self._launch(provider, order, candidate), alive)
            except (NoCapacityError, PermanentError) as error:
                if error.code == QUEUED:
                    raise
                attempts.refused(candidate, error)
        raise attempts.conclusion(order)

    def _launch(self, provider: Provider, order: Order, candidate: Candidate) -> tuple[Resource, ...]:
        """Intended, launched, confirmed. A definite no confirms that nothing came of it; an unclear answer does not."""
        alive(f"launching {candidate}")
        place = order.request.place
        self._ledger.intend(Intent(order.lease_id, candidate.token, place, str(candidate), self._clock()))
        try:
            resources = provider.launch(order, candidate, alive)
        except (NoCapacityError, PermanentError):
            self._ledger.confirm(order.lease_id, candidate.token, ())
            raise
        self._ledger.confirm(order.lease_id, candidate.token, resources)
        return resources

    def _known(self, lease_id: str) -> tuple[Resource, ...]:
        """What the ledger knows of: resources seen, and those launched under an intent whose answer never came."""
        recorded = self._ledger.resources(lease_id)
        unanswered = [i for i in self._ledger.intents(lease_id) if not i.confirmed]
        return (*recorded, *(Resource(Kind.INSTANCE, "", token=i.token, created_at=i.at) for i in unanswered))


def _order(lease: Lease) -> Order:
    if lease.quote is None:
        raise PermanentError(f"{lease.id} has no quote; nothing was launched", "no-quote")
    request = lease.request
    begins = max(lease.approved_at, request.start or lease.approved_at) if lease.approved_at else None
    ends = lease.ends_at or request.until or (begins and request.duration and begins + request.duration)
    shared = tuple(one.id for one in lease.co_owners)
    return Order(lease.id, request, lease.quote, lease.owner, request.team, request.cost_center, ends or None, shared)
