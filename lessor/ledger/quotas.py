"""Who holds how much. The domain judges; this module makes sure that it judges numbers nobody else is changing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, bindparam, delete, or_, select, text

from lessor.domain import budget, quota
from lessor.domain.alerts import Threshold
from lessor.domain.budget import Entry, Metering
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL
from lessor.domain.quota import Account, Ceiling, Kind, Reservation
from lessor.ledger.book import Book
from lessor.ledger.commitments import CommitmentTable, concerning
from lessor.ledger.models import ALERTS, LEASES, RESERVATIONS

_NAMES = ("lease_id", "team", "model", "gpus", "project", "person")
_ALL = select(*(RESERVATIONS.c[name] for name in _NAMES)).order_by(RESERVATIONS.c.lease_id)
_OF_TEAM = _ALL.where(RESERVATIONS.c.team == bindparam("wanted"))
_CONCERNED = _ALL.where(
    or_(
        RESERVATIONS.c.team.in_(bindparam("teams", expanding=True)),
        RESERVATIONS.c.project == bindparam("of_project"),
        RESERVATIONS.c.person == bindparam("of_person"),
    )
)
_OF_LEASE = select(*(RESERVATIONS.c[name] for name in _NAMES)).where(RESERVATIONS.c.lease_id == bindparam("lease"))
_RELEASE = delete(RESERVATIONS).where(RESERVATIONS.c.lease_id == bindparam("lease"))
_STATE = select(LEASES.c.state).where(LEASES.c.id == bindparam("lease"))
_NOTED = (
    select(ALERTS)
    .where(ALERTS.c.lease_id == bindparam("lease"), ALERTS.c.revision == bindparam("rev"))
    .order_by(*ALERTS.primary_key.columns)
)
_LOCK = text(
    "INSERT INTO quota_scopes (scope) SELECT s FROM unnest(CAST(:scopes AS text[])) WITH ORDINALITY AS t(s, n) "
    "ORDER BY n ON CONFLICT (scope) DO UPDATE SET scope = excluded.scope"
)


class SqlQuotaBook(Book):
    """`ports.QuotaBook` in SQL."""

    def reserve(self, wanted: Reservation, ceilings: Sequence[Ceiling], metering: Metering | None = None) -> None:
        """Take GPUs, and what they take of each month, in one transaction. The same reservation again changes nothing,
        another one for the same lease replaces the first if it fits: with another team, project or person it moves to
        them, and what was used before stays with those who had it.

        Raises `Refused`: "quota" or "budget" with the numbers, or "wrong-state" when the ledger knows that the lease is
        over, so that an attempt that comes late takes GPUs that nobody would give back.
        """
        with self._db.write() as connection:
            before = self._locked(connection, wanted, ceilings)
            if before == wanted:
                return
            _refuse_if_over(connection, wanted.lease_id)
            self._check(connection, wanted, ceilings)
            if metering is not None:
                self._commit(connection, wanted.lease_id, ceilings, metering)
            connection.execute(self._take, _row(wanted))

    def commit(self, lease_id: str, ceilings: Sequence[Ceiling], metering: Metering) -> None:
        """Take more of coming months for a lease that goes on longer. Raises `Refused` ("budget") with the numbers.

        What is taken holds until the lease is recorded next: then its record says what it takes.
        """
        with self._db.write() as connection:
            self._lock(connection, metering.account, ceilings)
            self._commit(connection, lease_id, ceilings, metering)

    def release(self, lease_id: str) -> None:
        """Give back what is held and only planned; a second time changes nothing."""
        with self._db.write() as connection:
            connection.execute(_RELEASE, {"lease": lease_id})
            self._commitments.forget(connection, lease_id)

    def held(self, team: str = "") -> tuple[Reservation, ...]:
        """What is held now, by lease id; of one team, or of all when `team` is empty."""
        with self._db.read() as connection:
            rows = connection.execute(_OF_TEAM, {"wanted": team}) if team else connection.execute(_ALL)
            return tuple(Reservation(*row) for row in rows)

    def counted(self, account: Account, ceilings: Sequence[Ceiling], but: str = "") -> tuple[Reservation, ...]:
        """What is held now against any of the ceilings of an account, except by one lease."""
        with self._db.read() as connection:
            found = self._counted(connection, account, ceilings)
        return tuple(r for r in found if r.lease_id != but)

    def taken(self, account: Account, months: Sequence[str], but: str = "") -> tuple[Entry, ...]:
        """What leases take of these months for the account's team, project or person, except one lease."""
        with self._db.read() as connection:
            return self._commitments.entries(connection, account, months, but)

    def reach(self, thresholds: Sequence[Threshold], lease_id: str, revision: int) -> tuple[Threshold, ...]:
        """Note that they are reached; those that were not before this revision of the lease, also when asked again."""
        rows = [{**_reached(one), "lease_id": lease_id, "revision": revision} for one in thresholds]
        with self._db.write() as connection:
            connection.execute(self._note, rows)
            found = connection.execute(_NOTED, {"lease": lease_id, "rev": revision}).all()
        return tuple(Threshold(row.scope, Kind(row.kind), row.model, row.month, row.threshold) for row in found)

    @cached_property
    def _note(self) -> Any:
        return self._db.insert(ALERTS).on_conflict_do_nothing()

    @cached_property
    def _commitments(self) -> CommitmentTable:
        return CommitmentTable(self._db)

    @cached_property
    def _take(self) -> Any:
        insert = self._db.insert(RESERVATIONS)
        new = {name: insert.excluded[name] for name in _NAMES if name != "lease_id"}
        return insert.on_conflict_do_update(index_elements=[RESERVATIONS.c.lease_id], set_=new)

    def _locked(self, connection: Connection, wanted: Reservation, ceilings: Sequence[Ceiling]) -> Reservation | None:
        """What the lease holds already, read when nobody else can change what counts for it or for `wanted`."""
        before = _holding(connection, wanted.lease_id)
        if self._db.is_sqlite:
            return before
        self._lock(connection, wanted.account, ceilings, before)
        return _holding(connection, wanted.lease_id)

    def _lock(
        self, connection: Connection, account: Account, ceilings: Iterable[Ceiling], before: Reservation | None = None
    ) -> None:
        # SQLite's writers have the database to themselves. Sorted: two that meet never wait for each other.
        if not self._db.is_sqlite:
            scopes = {*account.scopes, *(c.scope for c in ceilings), *(before.account.scopes if before else ())}
            connection.execute(_LOCK, {"scopes": sorted(scopes)})

    def _check(self, connection: Connection, wanted: Reservation, ceilings: Sequence[Ceiling]) -> None:
        if any(c.kind is Kind.GPUS and c.hard for c in ceilings):
            quota.check(wanted, ceilings, self._counted(connection, wanted.account, ceilings))

    def _commit(self, connection: Connection, lease_id: str, ceilings: Sequence[Ceiling], metering: Metering) -> None:
        """Check the months of which the lease takes more, then write what it takes of all of them."""
        found = self._commitments.settled(connection, lease_id, metering)
        monthly = [c for c in ceilings if c.kind is not Kind.GPUS and c.hard]
        more = found.more(metering)
        months = sorted({c.month for c in more.commitments})
        if monthly and months:
            others = self._commitments.sums(connection, metering.account, months, lease_id)
            budget.check(budget.budget_rooms(monthly, months, others, more))
        self._commitments.write(connection, found)

    def _counted(
        self, connection: Connection, account: Account, ceilings: Iterable[Ceiling]
    ) -> tuple[Reservation, ...]:
        teams = sorted({account.team, *(team for c in ceilings for team in c.teams)})
        return tuple(
            Reservation(*row) for row in connection.execute(_CONCERNED, {**concerning(account), "teams": teams})
        )


def _reached(one: Threshold) -> dict[str, object]:
    named = {"scope": one.scope, "kind": one.kind.value, "model": one.model, "month": one.month}
    return {**named, "threshold": one.percent}


def _holding(connection: Connection, lease_id: str) -> Reservation | None:
    row = connection.execute(_OF_LEASE, {"lease": lease_id}).one_or_none()
    return None if row is None else Reservation(*row)


def _refuse_if_over(connection: Connection, lease_id: str) -> None:
    state = connection.scalar(_STATE, {"lease": lease_id})
    if state in FINAL:
        raise Refused("wrong-state", f"{lease_id} is {state}: no GPUs were reserved for it; request a new lease")


def _row(wanted: Reservation) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in _NAMES}
