"""The provider for pools of the organisation's own machines: the ports' methods, each handed to who knows how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from lessor.books import BookingBook
from lessor.catalog import Catalogue
from lessor.domain.bookings import TAKEN, Booking
from lessor.domain.checkup import Checkup
from lessor.domain.guarding import Roll, Strays
from lessor.domain.lease import Lease
from lessor.domain.machines import Fitness, Health
from lessor.domain.pools import Census
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Condition, Kind, Resource, Sighting, Tagged
from lessor.ports import Heartbeat, PermanentError, ProviderError, RetryableError
from lessor.providers.machines import census, checking, ends, seen
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.health import HealthLooks
from lessor.providers.machines.hooks import Access, Hooks, Runner
from lessor.providers.machines.launching import Launcher
from lessor.providers.machines.letting import Letting, People, hooks_gone
from lessor.providers.machines.lifecycle import Lifecycle
from lessor.providers.machines.offers import Offers
from lessor.providers.machines.pool import Pool
from lessor.providers.machines.removal import Removal
from lessor.providers.machines.reserving import Reserving
from lessor.providers.machines.running import run
from lessor.providers.machines.usable import Usable


class MachinesProvider:
    """Implements `Provider`, `Watch`, `Capacity`, `Doors`, `Dated` and `Bookings`. Calls block; threads may share it.

    `pools` is by the name in `lessor.yaml`. Whose a machine is stands in `book`; `people` says who is let in for a
    lease and its owner.
    """

    name = "machines"

    def __init__(
        self,
        pools: Mapping[str, Pool],
        book: BookingBook,
        catalogue: Catalogue,
        people: People,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        runner: Runner = run,
    ) -> None:
        self._pools, self._clock = pools, clock
        hooks = Hooks(runner)
        self._diary = Diary(book, clock)
        self._offers = Offers(catalogue)
        self._letting = Letting(hooks, people, self._diary)
        self._health = HealthLooks(self._diary, hooks, clock)
        self._launcher = Launcher(self._diary, self._offers, self._health, clock)
        self._removal = Removal(self._diary, self._letting, clock)
        self._usable = Usable(self._diary, self._letting, self._removal, clock)
        self._lifecycle = Lifecycle(self._diary, self._letting)
        self._reserving = Reserving(self._diary, self._offers)

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        """Everything that fills `need`, cheapest first, unknown prices last, whether or not it is free now."""
        return self._offers.offers(self._pool(place), need, market, self._clock())

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        """The cheapest offer, with others. Raises `PermanentError` if none fits."""
        return self._offers.quote(self._pool(place), need, market, now)

    def candidates(self, order: Order) -> Sequence[Candidate]:
        """One for each form of machine that the approved quote allows."""
        return self._launcher.candidates(self._pool(order.request.place), order)

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Take what is booked, or else free: once, whatever is retried. Nobody is let in yet."""
        return self._launcher.launch(self._pool(order.request.place), order, candidate, heartbeat)

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        """Let the lease's people in, and see that they can get in."""
        return self._usable.await_usable(self._pool(order.request.place), order, resources, heartbeat)

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        """What the lease has and had, with who gets in; `complete` is false if that could not be seen."""
        pool = self._pool(place)
        try:
            bookings = [one for one in self._diary.of(pool, lease_id) if one.phase in TAKEN or one.fresh_at]
            health = self._diary.health(pool)
        except ProviderError as error:
            return Sighting((), self._clock(), False, str(error))
        access = self._letting.everywhere(pool, bookings, _silent)
        silent = seen.unread(pool, bookings, access)
        unread = f"who gets into {', '.join(silent)} could not be seen" if silent else ""
        problems = [access.problem, unread, *(hooks_gone(pool, one) for one in bookings)]
        strangers = seen.foreign(access, bookings, lease_id)
        late = seen.not_shown_yet(known, bookings, self._clock())
        found = (
            *(seen.resource(pool, one, access, health) for one in bookings),
            *strangers,
            *(replace(one, condition=Condition.UNKNOWN, reason="not on record as taken yet") for one in late),
        )
        problem = "; ".join(one for one in problems if one)
        return Sighting(found, self._clock(), not problem, problem, tuple(one.ref for one in strangers))

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Lock its people out and see that; the machine stays the lease's. Stopping what is stopped succeeds."""
        return self._lifecycle.stop(self._pool(place), lease_id, heartbeat)

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Let its people in again and see that; since when it is so."""
        return self._lifecycle.start(self._pool(place), lease_id, heartbeat)

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Nothing: disks of the organisation's own machines are not touched, so that nothing is lost with a lease."""
        self._pool(place)
        return ()

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """Lock people out of all that the lease has, see that, and give it back."""
        self._removal.delete(self._pool(place), lease_id, known, heartbeat)

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        """Let people in until then, so that the machine itself knows the end (law 10)."""
        self._lifecycle.set_end(self._pool(place), lease_id, ends)

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        """Let in those whose it is now, and nobody else; a second time changes nothing.

        Those who share it are read from the ledger, as with each grant, so that no grant forgets them.
        """
        self._lifecycle.set_owner(self._pool(place), lease_id, owner, team, cost_center)

    def conditions(self, place: Place) -> tuple[Tagged, ...]:
        """All machines that are somebody's or unfit, and who gets in besides. Checks those whose turn it is.

        Raises `ProviderError` when the record or the executable that sees who gets in gives no answer; a machine that
        gives none alone is unknown.
        """
        pool = self._pool(place)
        machines = pool.inventory()
        health = self._health.round(pool, machines, _silent)
        bookings = [one for one in self._diary.calendar(pool).bookings if one.phase in TAKEN]
        access = self._letting.everywhere(pool, bookings, _silent)
        if access.problem:
            raise RetryableError(access.problem, "unread")
        mine = (self._tagged(pool, one, access, health) for one in bookings)
        idle = {one.name for one in machines} - {one.machine for one in bookings}
        ill = (_unfit(one) for one in health.values() if one.fitness is Fitness.UNFIT and one.machine in idle)
        return (*mine, *self._strangers(pool, bookings, access), *ill)

    def attribute(self, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Let in those who share a lease by now, and nobody who does not any more; where that was amiss."""
        return self._lifecycle.attribute(self._pool(place), heartbeat)

    def census(self, place: Place) -> Census:
        """What the pool has and who holds it, by the record."""
        return census.census(self._pool(place), place, self._diary, self._clock)

    def dated(self, place: Place) -> Roll:
        """Every machine that is a lease's with its end, by the record; without the ledger nothing is known."""
        return ends.dated(self._pool(place), place, self._diary)

    def unleased(self, place: Place) -> Strays:
        """Nothing: a machine of the organisation's own is whose its booking says, and nobody's without one."""
        self._pool(place)
        return Strays()

    def checkup(self, place: Place) -> Checkup:
        """Whether the pool's inventory can be read, its executables are there, and its machines answer."""
        return checking.check(self._pool(place), self._letting, self._diary, _silent)

    def unseen(self, lease_id: str, place: Place) -> tuple[str, ...]:
        """Machines that people of the lease were let into, where no hook is there any more to see who gets in."""
        return tuple(one.machine for one in self._letting.unseen(self._pool(place), lease_id))

    def confirm_closed(self, lease_id: str, place: Place) -> None:
        """Believe that nobody gets into these any more."""
        self._letting.believe_closed(self._pool(place), lease_id)

    def book(self, lease: Lease, at: datetime) -> bool:
        """Keep a machine for an approved lease. Raises `Refused` ("booked") when one with a start cannot have any."""
        return self._reserving.book(self._pool(lease.request.place), lease, at)

    def prolong(self, lease: Lease, at: datetime) -> None:
        """Take the time until the lease's end. Raises `Refused` ("booked") when that is somebody else's."""
        self._reserving.prolong(self._pool(lease.request.place), lease)

    def follow(self, lease: Lease, at: datetime) -> None:
        """Bring what is kept in line with the lease; never raises."""
        self._reserving.follow(self._pools.get(lease.request.place.name), lease)

    def _tagged(self, pool: Pool, booking: Booking, access: Access, health: Mapping[str, Health]) -> Tagged:
        found = seen.resource(pool, booking, access, health)
        return Tagged(**vars(found), lease=booking.lease_id, changed_at=booking.since)

    def _strangers(self, pool: Pool, bookings: Sequence[Booking], access: Access) -> tuple[Tagged, ...]:
        """Who gets in for leases that have a machine no more, which are ours to end, or never had it, which are not."""
        open_ones = {(one.machine, one.lease_id) for one in bookings}
        found = [
            (name, lease)
            for name in sorted(access.machines)
            for lease in sorted(access.leases(name))
            if (name, lease) not in open_ones
        ]
        return tuple(self._stranger(pool, name, lease) for name, lease in found)

    def _stranger(self, pool: Pool, name: str, lease: str) -> Tagged:
        before = next((one for one in self._diary.of(pool, lease) if one.machine == name and one.fresh_at), None)
        token, why = (before.token, "somebody was let in again") if before else ("", seen.NOT_OURS)
        fault = "" if before else f"people get in for {lease[:63]}, but nothing shows that lessor let them in"
        return Tagged(Kind.MACHINE, name, Condition.RUNNING, reason=why, token=token, lease=lease, fault=fault)

    def _pool(self, place: Place) -> Pool:
        pool = self._pools.get(place.name)
        if pool is None:
            raise PermanentError(
                f"'{place.name[:40]}' is no pool of machines; nothing was changed, known: {', '.join(self._pools)}",
                "unknown-place",
            )
        return pool


def _unfit(health: Health) -> Tagged:
    """A machine that is nobody's now and that nobody gets."""
    words = health.words or "it did not pass its health check"
    return Tagged(Kind.MACHINE, health.machine, Condition.STOPPED, fault=words, changed_at=health.since)


def _silent(_: str) -> None:
    """For looks, which change nothing and may end at any time."""
