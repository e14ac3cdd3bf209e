"""What the product needs of its record: the books of the ledger, as Protocols. Part of the ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from lessor.contracts import MeterReport
from lessor.domain.absence import Absence
from lessor.domain.alerts import Threshold
from lessor.domain.bookings import Booking
from lessor.domain.budget import Entry, Metering
from lessor.domain.idle import Standing
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, Lease
from lessor.domain.machines import Health
from lessor.domain.quota import Account, Ceiling, Reservation
from lessor.domain.records import AuditReport, Intent, LeaseQuery, MessageRef, StoredEvent, Submission
from lessor.domain.resource import Resource
from lessor.domain.states import State
from lessor.domain.telling import Heard
from lessor.domain.usage import HourUse, Observation


class Submissions(Protocol):
    def accept(self, submission: Submission) -> Submission:
        """Store it, or return what the same interaction stored before (then nothing changes).

        Raises `LeaseIdTakenError` when another interaction has the lease id.
        """
        ...

    def reassign(self, interaction: str, lease_id: str) -> Submission:
        """Give a kept submission another lease id, when a foreign workflow turned out to have the first."""
        ...

    def started(self, lease_id: str, interaction: str) -> None: ...

    def unstarted(self) -> tuple[Submission, ...]: ...


class LeaseBook(Protocol):
    def record(self, lease: Lease, events: Sequence[Event], metering: Metering | None = None) -> None:
        """Append events once each (key: lease, revision, index); store the lease unless a later revision is there.

        What it takes of each month is stored with it, where `metering` says so.
        """
        ...

    def note(self, lease_id: str, event: Event) -> None:
        """Append what happened around a lease and did not change it. Raises `ValueError` without that lease."""
        ...

    def lease(self, lease_id: str) -> Lease | None: ...

    def leases(self, query: LeaseQuery) -> tuple[Lease, ...]: ...

    def revisions(self, *states: State) -> dict[str, int]:
        """At which revision each lease in one of these states stands; cheap, whatever the leases are like."""
        ...

    def events(self, lease_id: str) -> tuple[StoredEvent, ...]: ...

    def happened(self, type: str, since: datetime) -> tuple[StoredEvent, ...]:
        """The latest events of this type since then, of all leases, newest first; no more than a screenful or two."""
        ...

    def verify(self, progress: Callable[[int, int], None] | None = None) -> AuditReport: ...

    def export(self) -> Iterable[StoredEvent]: ...


class QuotaBook(Protocol):
    """What is held of quotas and taken of budgets; every sum is made from the rows of leases, never counted apart."""

    def reserve(self, wanted: Reservation, ceilings: Sequence[Ceiling], metering: Metering | None = None) -> None:
        """Take GPUs and budget in one transaction, once per lease; for another account, move what the lease has to it.

        Raises `Refused` ("quota", "budget") with the numbers; then nothing was changed.
        """
        ...

    def commit(self, lease_id: str, ceilings: Sequence[Ceiling], metering: Metering) -> None:
        """Take budget for a longer lease, until it is recorded next. Raises `Refused` ("budget") with the numbers."""
        ...

    def release(self, lease_id: str) -> None:
        """Give back what is held and what was only planned; a second time changes nothing."""
        ...

    def held(self, team: str = "") -> tuple[Reservation, ...]: ...

    def counted(self, account: Account, ceilings: Sequence[Ceiling], but: str = "") -> tuple[Reservation, ...]:
        """What is held now against any of these ceilings of an account, except by one lease; added up, not by lease."""
        ...

    def taken(self, account: Account, months: Sequence[str], but: str = "") -> tuple[Entry, ...]:
        """What leases take of these months for an account's team, project or person, except one lease."""
        ...

    def reach(self, thresholds: Sequence[Threshold], lease_id: str, revision: int) -> tuple[Threshold, ...]:
        """Note that they are reached; those that were not before this revision of the lease, also when asked again."""
        ...


class IntentLog(Protocol):
    def intend(self, intent: Intent) -> None: ...

    def confirm(self, lease_id: str, token: str, resources: Sequence[Resource]) -> None: ...

    def intents(self, lease_id: str) -> tuple[Intent, ...]: ...

    def resources(self, lease_id: str) -> tuple[Resource, ...]:
        """Every resource ever recorded for the lease."""
        ...

    def seen(self, lease_id: str, resources: Sequence[Resource]) -> None:
        """Store the last seen condition of each, adding what is new; nothing is ever removed."""
        ...


class MessageBook(Protocol):
    def message(self, key: str) -> MessageRef | None: ...

    def save_message(self, ref: MessageRef) -> None: ...

    def messages(self, lease_id: str) -> tuple[MessageRef, ...]: ...


class AbsenceBook(Protocol):
    def go_away(self, absence: Absence) -> None:
        """Store it; whatever else is on record for the person ends when it begins."""
        ...

    def come_back(self, person: str, at: datetime) -> None:
        """End what is on record for the person; a second time changes nothing."""
        ...

    def absences(self, at: datetime) -> tuple[Absence, ...]:
        """All that hold at that instant, by person."""
        ...


class MeterBook(Protocol):
    """What leases were seen doing: a row for each lease and tick, kept for a while, and sums by hour, kept for good."""

    def last_tick(self) -> datetime | None:
        """The latest tick on record."""
        ...

    def standings(self) -> tuple[Standing, ...]:
        """Where each lease stood after the latest tick."""
        ...

    def standing(self, lease_id: str) -> Standing | None:
        """Where one lease stood after the latest tick in which it was judged."""
        ...

    def last_report(self) -> MeterReport | None:
        """What the latest tick on record came to."""
        ...

    def meter(
        self, at: datetime, found: Sequence[tuple[Observation, Standing]], report: MeterReport | None = None
    ) -> bool:
        """Store a tick in one bulk insert; false when it, or a later one, is on record: then nothing changes."""
        ...

    def heard(self) -> dict[str, Heard]:
        """What each lease heard last of what it does; those that have nothing to remember are not among them."""
        ...

    def hear(self, heard: Mapping[str, Heard | None], at: datetime) -> None:
        """Store what leases have heard; with `None` there is nothing to remember of one."""
        ...

    def observations(self, since: datetime, until: datetime, lease_id: str = "") -> Iterator[Observation]:
        """What was seen in [since, until), in order of time, of one lease or of all."""
        ...

    def roll_up(self, until: datetime) -> int:
        """Add what was seen up to the hour of `until` up by hour, once; how many hours of leases were added."""
        ...

    def usage(self, lease_id: str, since: datetime, until: datetime) -> tuple[HourUse, ...]:
        """A lease's sums by hour."""
        ...

    def forget_before(self, at: datetime) -> int:
        """Drop what was seen before and is rolled up; the sums by hour stay."""
        ...


class BrakeBook(Protocol):
    """What holds stops for being idle back, everywhere at once (law 5)."""

    def brake(self) -> Brake: ...

    def set_brake(self, brake: Brake) -> None:
        """Put it on or take it off, on record with who and why."""
        ...

    def claim_stop(self, lease_id: str, at: datetime, since: datetime, most: int) -> str:
        """Take one of `most` stops since then, once per lease and time; why not, or empty.

        One transaction, so that two leases never both take the last. Refuses while the brake is on.
        """
        ...


class BookingBook(Protocol):
    """Which of the organisation's own machines is whose from when to when, and how they are."""

    def bookings(self, place: str, since: datetime, lease_id: str = "") -> tuple[Booking, ...]:
        """All of a place that are not over or ended since then, and all that a lease ever had, by their begin."""
        ...

    def settle(
        self,
        place: str,
        since: datetime,
        decide: Callable[[tuple[Booking, ...]], Sequence[Booking]],
        lease_id: str = "",
    ) -> tuple[Booking, ...]:
        """Store what `decide` makes of the place's bookings, in one transaction; what it raises leaves all as it was.

        One decides at a time, over all processes, so that no two leases get the same GPU.
        """
        ...

    def unbook(self, lease_id: str) -> None:
        """Give up what is only booked; what is or was held stays."""
        ...

    def health(self, place: str) -> tuple[Health, ...]: ...

    def checked(self, place: str, found: Iterable[Health]) -> None: ...


class Ledger(
    Submissions,
    LeaseBook,
    QuotaBook,
    IntentLog,
    MessageBook,
    AbsenceBook,
    MeterBook,
    BrakeBook,
    BookingBook,
    Protocol,
):
    """The SQL record, whole. Calls are short and synchronous; they raise `LedgerUnavailableError` when it is down."""


class Bookings(Protocol):
    """Keeps what a place has for leases ahead of time, for places where things are booked."""

    def book(self, lease: Lease, at: datetime) -> bool:
        """Keep something for an approved lease from its start on, and whether it was; what it has already stays.

        Raises `Refused` ("booked") when a lease with a start cannot have anything then. One without a start waits.
        """
        ...

    def prolong(self, lease: Lease, at: datetime) -> None:
        """Take the time until `lease.ends_at` for a lease that has something. Raises `Refused` ("booked")."""
        ...

    def follow(self, lease: Lease, at: datetime) -> None:
        """Bring what is kept in line with a lease as it is now; never raises for what is somebody else's."""
        ...


class LeaseIdTakenError(Exception):
    """Another interaction has this lease id: the caller salts and tries again."""


class LedgerUnavailableError(Exception):
    """The database cannot be reached or is locked; nothing was stored by this call."""
