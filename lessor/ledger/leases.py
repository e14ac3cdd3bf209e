"""Leases as they stand now, written together with what happened to them: the snapshot to read, the chain to prove."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Row, Select, bindparam, select

from lessor.domain.budget import Metering
from lessor.domain.lease import Event, Lease, State
from lessor.domain.records import LeaseQuery
from lessor.ledger.appending import append, append_one
from lessor.ledger.book import Book
from lessor.ledger.commitments import CommitmentTable
from lessor.ledger.models import LEASES
from lessor.ledger.snapshots import LEASE, UnreadableSnapshotError, digest

log = logging.getLogger(__name__)

_ONE = select(LEASES.c.snapshot).where(LEASES.c.id == bindparam("lease"))
_LOCKED = select(LEASES.c.revision, LEASES.c.snapshot).where(LEASES.c.id == bindparam("lease")).with_for_update()
_REVISIONS = select(LEASES.c.id, LEASES.c.revision).where(LEASES.c.state.in_(bindparam("states", expanding=True)))


class SqlLeaseBook(Book):
    """The leases of `ports.LeaseBook` in SQL."""

    def record(self, lease: Lease, events: Sequence[Event], metering: Metering | None = None) -> None:
        """Append the events and store the lease, and what it takes of each month, in one transaction.

        A repetition changes nothing, and what comes late overwrites nothing newer.
        Raises `ValueError` without events: a lease that changed without a trace would break the audit.
        """
        if not events:
            raise ValueError(f"{lease.id}: a lease is recorded together with at least one event")
        snapshot = LEASE.dump(lease)
        with self._db.write() as connection:
            # First of all: it locks the lease, so that nobody else adds to this revision until the end.
            stored = connection.execute(self._store, columns(lease, snapshot)).rowcount == 1
            if stored and metering is not None:
                self._months.write(connection, self._months.settled(connection, lease.id, metering))
            append(connection, lease.id, lease.revision, events, digest(snapshot))

    def note(self, lease_id: str, event: Event) -> None:
        """Append one event more to the revision that the lease stands at. Raises `ValueError` without that lease."""
        with self._db.write() as connection:
            stored = connection.execute(_LOCKED, {"lease": lease_id}).one_or_none()
            if stored is None:
                raise ValueError(f"{lease_id} is not on record, so nothing can have happened to it")
            append_one(connection, lease_id, stored.revision, event, digest(stored.snapshot))

    def lease(self, lease_id: str) -> Lease | None:
        """The latest recorded revision. Raises `UnreadableSnapshotError` rather than let it pass for unknown."""
        with self._db.read() as connection:
            snapshot = connection.scalar(_ONE, {"lease": lease_id})
        return None if snapshot is None else LEASE.load(snapshot)

    def leases(self, query: LeaseQuery) -> tuple[Lease, ...]:
        """A page in order of id. What is in another place, or cannot be read, is left out; the page is filled up."""
        found: list[Lease] = []
        after = query.after
        while (room := query.limit - len(found)) > 0:
            # Places are no column: of what is read only a part may fit, so that a whole page is read at a time.
            room = query.limit if query.places else room
            with self._db.read() as connection:
                rows = connection.execute(_matching(query).where(LEASES.c.id > after).limit(room)).all()
            found += (one for one in _readable(rows) if not query.places or one.request.place.name in query.places)
            if len(rows) < room:
                break
            after = rows[-1].id
        return tuple(found[: query.limit])

    def revisions(self, *states: State) -> dict[str, int]:
        """At which revision each lease in one of these states stands."""
        with self._db.read() as connection:
            rows = connection.execute(_REVISIONS, {"states": [state.value for state in states]}).all()
        return {row.id: row.revision for row in rows}

    @cached_property
    def _months(self) -> CommitmentTable:
        return CommitmentTable(self._db)

    @cached_property
    def _store(self) -> Any:
        insert = self._db.insert(LEASES)
        new = {c.name: insert.excluded[c.name] for c in LEASES.c if c.name != "id"}
        later = LEASES.c.revision < insert.excluded.revision
        upsert = insert.on_conflict_do_update(index_elements=[LEASES.c.id], set_=new, where=later)
        return upsert.execution_options(preserve_rowcount=True)


def columns(lease: Lease, snapshot: str) -> dict[str, object]:
    """The row of a lease: its snapshot, and the copies that are searched by."""
    return {
        "id": lease.id,
        "revision": lease.revision,
        "state": lease.state.value,
        "owner": lease.owner,
        "team": lease.request.team,
        "provider": lease.request.place.provider,
        "ends_at": lease.ends_at,
        "snapshot": snapshot,
    }


def _matching(query: LeaseQuery) -> Select[Any]:
    statement = select(LEASES.c.id, LEASES.c.snapshot).order_by(LEASES.c.id)
    filters = (
        (LEASES.c.owner, query.owner_ids),
        (LEASES.c.team, query.teams),
        (LEASES.c.state, query.states),
        (LEASES.c.id, query.ids),
    )
    for column, wanted in filters:
        if wanted:
            statement = statement.where(column.in_(wanted))
    return statement.where(LEASES.c.id != query.but) if query.but else statement


def _readable(rows: Sequence[Row[Any]]) -> Iterator[Lease]:
    for row in rows:
        try:
            yield LEASE.load(row.snapshot)
        except UnreadableSnapshotError as error:
            log.error("%s is left out of a list: %s", row.id, error)
