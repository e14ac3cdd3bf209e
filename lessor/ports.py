"""What the product needs from the world, as Protocols. Adapters implement them; activities and the gateway hold them.

Provider calls are synchronous (the vendors' clients are) and run in threads; directory and notifier are asynchronous.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from lessor.books import (
    AbsenceBook,
    LeaseBook,
    LeaseIdTakenError,
    Ledger,
    LedgerUnavailableError,
    MessageBook,
    MeterBook,
    QuotaBook,
)
from lessor.capabilities import Capacity, Dated, Heartbeat, Keys, Watch
from lessor.contracts import Delivery, Metered, Notice, Observed, OverBudget, OwnerLeft, PageInput
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.people import Person, Presence, Team
from lessor.domain.provisioning import Candidate, Credentials, Order, Provisioned
from lessor.domain.quote import Offer, Quote
from lessor.domain.records import AuditReport, Ended, Intent, LeaseQuery, MessageRef, StoredEvent, Submission
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Resource, Sighting, Tagged
from lessor.domain.usage import Reading, Subject
from lessor.refusals import NoCapacityError, PermanentError, ProviderError, RetryableError, TelemetryError

__all__ = [
    "AbsenceBook",
    "AuditReport",
    "Candidate",
    "Capacity",
    "Credentials",
    "Dated",
    "Directory",
    "DirectoryUnavailableError",
    "Ended",
    "Heartbeat",
    "Intent",
    "Keys",
    "LeaseBook",
    "LeaseIdTakenError",
    "LeaseQuery",
    "LeaseRuns",
    "Ledger",
    "LedgerUnavailableError",
    "MessageBook",
    "MessageRef",
    "MeterBook",
    "NoCapacityError",
    "Notifier",
    "Order",
    "PermanentError",
    "PriceList",
    "Provider",
    "ProviderError",
    "Provisioned",
    "QuotaBook",
    "RetryableError",
    "StoredEvent",
    "Submission",
    "Tagged",
    "Team",
    "Telemetry",
    "TelemetryError",
    "Watch",
]

# --- providers -------------------------------------------------------------------------------------------------------


class Provider(Protocol):
    """One kind of place. Look-ups are by the lease's tag, writes are idempotent, errors are `ProviderError`s only."""

    name: str

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        """Everything that fills `need` in `place`, cheapest first, unknown prices last. Empty when nothing fits."""
        ...

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        """The cheapest offer of the place's first region that has one, with alternatives, also of other regions.

        Raises `PermanentError` when nothing fits, with what is offered.
        """
        ...

    def candidates(self, order: Order) -> Sequence[Candidate]:
        """Ways to fill the order, best first: zones where the type is offered, region by region, then other types;
        none that costs more than the approved price allows.
        """
        ...

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Create it, once per token: what exists of the lease already, by any candidate, is returned instead.

        May answer with less than was ordered; that is recorded first, and `await_usable` then undoes it.

        Raises `NoCapacityError` (this candidate only), `PermanentError` (nothing in its region), `RetryableError` (it
        may exist now).
        """
        ...

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        """Wait until the launched resources run; tag what the launch made. Raises when they end while pending."""
        ...

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        """All that carries the lease's tag, in any condition; `complete` is false if anything was unread.

        What is `known`, was created lately and is not shown is `unknown`: it may not be listed yet (case C08).
        """
        ...

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Stop and see it stopped; the provider's stop time. Stopping what is stopped succeeds."""
        ...

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        """Start and see it running; the time it ran again."""
        ...

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Snapshot the lease's volumes once each; kept snapshots carry the lease's tag and are not left-overs."""
        ...

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """Take down what carries the lease's tag *and* is in `known` or was created under its intents (law 3).

        Raises `PermanentError` with all that was kept and why, after everything else was taken down.
        """
        ...

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        """Write the end date on the resources themselves (law 10)."""
        ...

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        """Write on the resources whose they are and who pays, and let these in where people are let in by name."""
        ...


class PriceList(Protocol):
    """Dated prices, of which `version` names the newest list. `None` is unknown, which is never zero."""

    version: str

    def hourly(self, instance_type: str, region: str, market: Market, at: datetime) -> Money | None: ...

    def disk_monthly(self, region: str, at: datetime) -> Money | None:
        """A GiB of disk for a calendar month."""
        ...


class Telemetry(Protocol):
    """One source of what GPUs and machines do. Synchronous; runs in a thread."""

    name: str

    def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
        """What was measured in (at - length, at], of everything or of these leases, in one query per call.

        Raises `TelemetryError` when there is no whole answer within the source's limit of time.
        """
        ...


# --- people ----------------------------------------------------------------------------------------------------------


class Directory(Protocol):
    """Who people are. Unknown people are `None`, never somebody else."""

    async def person(self, any_id: str) -> Person | None:
        """By any of the person's ids or e-mail addresses."""
        ...

    async def members(self, ref: str) -> tuple[Person, ...]:
        """The people behind `person:ID`, `group:NAME`, `slack-group:HANDLE`, `team:KEY`, `lead:TEAM`,
        `budget-owner:TEAM` or `admins`. Raises `DirectoryUnavailableError` when they have never been read.
        """
        ...

    async def everybody(self) -> tuple[Person, ...]:
        """All people of the configuration, as it has them."""
        ...

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        """Whether the accounts behind `ids` still work, read in a batch."""
        ...

    def team(self, key: str) -> Team | None: ...


class Notifier(Protocol):
    """Tells people. One message per (lease, notice, recipient): posted once, then updated where it stands.
    What is temporary is raised, so that the caller tries again. Without patience the next channel is taken instead.
    """

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
        """Reach somebody: owner, then delegate, team lead, team channel, admins (law 7). Redraws standing cards.

        `revision` is the lease's when the notice was called for (0: as `lease` is): the same for every try of it.
        """
        ...

    async def page(self, wanted: PageInput, now: datetime, *, patient: bool = True) -> Delivery:
        """Reach the administrators about what is not one lease's matter; once for each alarm, subject and day."""
        ...


class DirectoryUnavailableError(Exception):
    """Who belongs to a group could not be read, and is not known from before: unknown is not empty (law 1)."""


# --- Temporal --------------------------------------------------------------------------------------------------------


class LeaseRuns(Protocol):
    """The workflows of leases, each asked for by its id: a list may show what is no longer true (case B23)."""

    async def ended(self, lease_id: str) -> Ended | None:
        """How the lease's workflow ended; `None` while it is open."""
        ...

    async def observed(self, lease_id: str, seen: Observed) -> bool:
        """Tell the lease what was seen of it; false when it has no open workflow."""
        ...

    async def metered(self, lease_id: str, told: Metered) -> bool:
        """Tell the lease what it was found doing; false when it has no open workflow."""
        ...

    async def over_budget(self, lease_id: str, told: OverBudget) -> bool:
        """Tell the lease that the money it takes from is used up; false when it has no open workflow."""
        ...

    async def owner_left(self, lease_id: str, told: OwnerLeft) -> bool:
        """Tell the lease that its owner has left; false when it has no open workflow."""
        ...

    async def restaff(self, lease_id: str) -> bool:
        """Have the lease look up anew whom it asks; false when it has no open workflow."""
        ...

    async def resume(self, lease: Lease, because: str) -> bool:
        """Go on with a lease whose workflow has ended, to take down what is left; false when one is open after all."""
        ...
