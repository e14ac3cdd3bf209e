"""Who holds how much. The domain judges; this module makes sure that it judges numbers nobody else is changing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, Text, bindparam, delete, exists, func, or_, select, text

from lessor.domain import budget, quota
from lessor.domain.alerts import Threshold
from lessor.domain.budget import Entry, Metering
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL
from lessor.domain.quota import Account, Ceiling, Kind, Reservation
from lessor.ledger.book import Book
from lessor.ledger.commitments import IF_CONCERNED, CommitmentTable, concerning, if_concerned
from lessor.ledger.models import ALERTS, COMMITMENTS, LEASES, RESERVATIONS, SCOPES
from lessor.ports import LedgerUnavailableError

_NAMES = ("lease_id", "team", "model", "gpus", "project", "person")
_ALL = select(*(RESERVATIONS.c[name] for name in _NAMES)).order_by(RESERVATIONS.c.lease_id)
_OF_TEAM = _ALL.where(RESERVATIONS.c.team == bindparam("wanted"))
_COUNTS = or_(
    RESERVATIONS.c.team.in_(bindparam("teams", expanding=True)),
    RESERVATIONS.c.project == bindparam("of_project"),
    RESERVATIONS.c.person == bindparam("of_person"),
)
_SUMS = (
    select(RESERVATIONS.c.team, RESERVATIONS.c.model, func.sum(RESERVATIONS.c.gpus), *if_concerned(RESERVATIONS))
    .where(_COUNTS, RESERVATIONS.c.lease_id != bindparam("but"))
    .group_by(RESERVATIONS.c.team, RESERVATIONS.c.model, *IF_CONCERNED)
)
_ASKED = select(bindparam("lease", type_=Text).label("id")).subquery("asked")
_COUNTED = exists().where(COMMITMENTS.c.lease_id == _ASKED.c.id)
_OF_LEASE = select(LEASES.c.state, _COUNTED, *(RESERVATIONS.c[name] for name in _NAMES)).select_from(
    _ASKED.outerjoin(LEASES, LEASES.c.id == _ASKED.c.id).outerjoin(RESERVATIONS, RESERVATIONS.c.lease_id == _ASKED.c.id)
)
_RELEASE = delete(RESERVATIONS).where(RESERVATIONS.c.lease_id == bindparam("lease"))
_NOTED = (
    select(ALERTS)
    .where(ALERTS.c.lease_id == bindparam("lease"), ALERTS.c.revision == bindparam("rev"))
    .order_by(*ALERTS.primary_key.columns)
)
_LOCK = text(
    "SELECT scope FROM quota_scopes WHERE scope = ANY(CAST(:scopes AS text[])) OR scope IN (SELECT v.scope FROM "
    "reservations, LATERAL (VALUES ('team:' || team), ('project:' || project), ('person:' || person)) AS v(scope) "
    "WHERE lease_id = :lease) ORDER BY scope FOR UPDATE"
)
"""Locks the scopes that are asked for and those that the lease counts for already, in one order for everybody.

The rows are locked and never written: a waiter would have to look for each new version of a row, as all others do.
"""


class SqlQuotaBook(Book):
    """`ports.QuotaBook` in SQL."""

    def reserve(self, wanted: Reservation, ceilings: Sequence[Ceiling], metering: Metering | None = None) -> None:
        """Take GPUs, and what they take of each month, in one transaction. The same reservation again changes nothing,
        another one for the same lease replaces the first if it fits: with another team, project or person it moves to
        them, and what was used before stays with those who had it.

        Raises `Refused`: "quota" or "budget" with the numbers, or "wrong-state" when the ledger knows that the lease is
        over, so that an attempt that comes late takes GPUs that nobody would give back.
        """
        with self._locked(wanted.lease_id, wanted.account, ceilings) as connection:
            found = _holding(connection, wanted.lease_id)
            if found.reservation == wanted:
                return
            _refuse_if_over(wanted.lease_id, found.state)
            self._check(connection, wanted, ceilings)
            if metering is not None:
                self._commit(connection, wanted.lease_id, ceilings, metering, fresh=not found.counted)
            connection.execute(self._take, _row(wanted))

    def commit(self, lease_id: str, ceilings: Sequence[Ceiling], metering: Metering) -> None:
        """Take more of coming months for a lease that goes on longer. Raises `Refused` ("budget") with the numbers.

        What is taken holds until the lease is recorded next: then its record says what it takes.
        """
        with self._locked(lease_id, metering.account, ceilings) as connection:
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
        """What is held now against any of the ceilings of an account, except by one lease; added up, not by lease."""
        with self._db.read() as connection:
            return self._counted(connection, account, ceilings, but)

    def taken(self, account: Account, months: Sequence[str], but: str = "") -> tuple[Entry, ...]:
        """What leases take of these months for the account's team, project or person, except one lease."""
        with self._db.read() as connection:
            return self._commitments.entries(connection, account, months, but)

    def reach(self, thresholds: Sequence[Threshold], lease_id: str, revision: int) -> tuple[Threshold, ...]:
        """Note that they are reached; those that were not before this revision of the lease, also when asked again."""
        # In one order for everybody: two that note the same thresholds never wait for each other.
        rows = sorted((_noted(one, lease_id, revision) for one in thresholds), key=lambda row: list(row.values()))
        with self._db.write() as connection:
            connection.execute(self._note, rows)
            found = connection.execute(_NOTED, {"lease": lease_id, "rev": revision}).all()
        return tuple(Threshold(r.scope, Kind(r.kind), r.model, r.hard, r.month, r.threshold) for r in found)

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

    @contextmanager
    def _locked(self, lease_id: str, account: Account, ceilings: Iterable[Ceiling]) -> Iterator[Connection]:
        """A transaction in which nobody else changes what counts against these ceilings, or for the lease so far."""
        scopes = sorted({*account.scopes, *(c.scope for c in ceilings)})
        self._prepare(scopes)
        with self._db.write() as connection:
            # SQLite's writers have the database to themselves.
            if not self._db.is_sqlite:
                found = connection.scalars(_LOCK, {"scopes": scopes, "lease": lease_id}).all()
                if not set(found).issuperset(scopes):
                    self._prepared.clear()
                    raise LedgerUnavailableError("the rows that quotas are locked by have gone; nothing was stored")
            yield connection

    def _prepare(self, scopes: list[str]) -> None:
        """Make the rows that are locked, once, and in a transaction of its own: made in between they could deadlock."""
        if not self._db.is_sqlite and not self._prepared.issuperset(scopes):
            with self._db.write() as connection:
                connection.execute(self._db.insert(SCOPES).on_conflict_do_nothing(), [{"scope": s} for s in scopes])
            self._prepared.update(scopes)

    @cached_property
    def _prepared(self) -> set[str]:
        return set()

    def _check(self, connection: Connection, wanted: Reservation, ceilings: Sequence[Ceiling]) -> None:
        if any(c.kind is Kind.GPUS and c.hard for c in ceilings):
            quota.check(wanted, ceilings, self._counted(connection, wanted.account, ceilings, wanted.lease_id))

    def _commit(
        self,
        connection: Connection,
        lease_id: str,
        ceilings: Sequence[Ceiling],
        metering: Metering,
        *,
        fresh: bool = False,
    ) -> None:
        """Check the months of which the lease takes more, then write what it takes of all of them.

        A `fresh` lease has nothing on record that would have to be looked up.
        """
        found = self._commitments.settled(connection, lease_id, metering, fresh=fresh)
        monthly = [c for c in ceilings if c.kind is not Kind.GPUS and c.hard]
        more = found.more(metering)
        months = sorted({c.month for c in more.commitments})
        if monthly and months:
            others = self._commitments.sums(connection, metering.account, months, lease_id)
            budget.check(budget.budget_rooms(monthly, months, others, more))
        self._commitments.write(connection, found)

    def _counted(
        self, connection: Connection, account: Account, ceilings: Iterable[Ceiling], but: str
    ) -> tuple[Reservation, ...]:
        teams = sorted({account.team, *(team for c in ceilings for team in c.teams)} - {""})
        found = connection.execute(_SUMS, {**concerning(account), "teams": teams, "but": but})
        return tuple(
            Reservation("", team, model, int(gpus), project, person) for team, model, gpus, project, person in found
        )


def _noted(one: Threshold, lease_id: str, revision: int) -> dict[str, Any]:
    named = {"scope": one.scope, "kind": one.kind.value, "model": one.model, "hard": one.hard, "month": one.month}
    return {**named, "threshold": one.percent, "lease_id": lease_id, "revision": revision}


class _Holding(NamedTuple):
    """What the ledger has of a lease: its state, whether anything is counted for it, and what it holds."""

    state: str | None
    counted: bool
    reservation: Reservation | None


def _holding(connection: Connection, lease_id: str) -> _Holding:
    state, counted, *row = connection.execute(_OF_LEASE, {"lease": lease_id}).one()
    return _Holding(state, bool(counted), None if row[0] is None else Reservation(*row))


def _refuse_if_over(lease_id: str, state: str | None) -> None:
    if state in FINAL:
        raise Refused("wrong-state", f"{lease_id} is {state}: no GPUs were reserved for it; request a new lease")


def _row(wanted: Reservation) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in _NAMES}
