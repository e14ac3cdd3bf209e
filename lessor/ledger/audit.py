"""Reading the chain: what happened to a lease, the whole of it to take away, and the proof that nobody changed it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, bindparam, func, select

from lessor.domain.lease import Event
from lessor.domain.records import FLEET, AuditReport, StoredEvent
from lessor.ledger.book import Book
from lessor.ledger.brake import fingerprint, stored
from lessor.ledger.chain import ChainReader, Entry
from lessor.ledger.leases import columns
from lessor.ledger.meter_models import BRAKES
from lessor.ledger.models import EVENTS, HEAD, LEASES
from lessor.ledger.snapshots import LEASE, UnreadableSnapshotError, digest

PAGE = 1_000
MOST_HAPPENED = 200

_ENTRY = select(*(EVENTS.c[name] for name in Entry._fields))
_OF_LEASE = _ENTRY.where(EVENTS.c.lease_id == bindparam("lease")).order_by(EVENTS.c.seq)
_ENTRIES = (
    _ENTRY.where(EVENTS.c.seq > bindparam("after"), EVENTS.c.seq <= bindparam("last"))
    .order_by(EVENTS.c.seq)
    .limit(PAGE)
)
_END = select(
    select(HEAD.c.entries).scalar_subquery(),
    select(HEAD.c.hash).scalar_subquery(),
    select(func.coalesce(func.max(EVENTS.c.seq), 0)).scalar_subquery(),
    select(func.coalesce(func.min(EVENTS.c.seq), 0)).scalar_subquery(),
)
_LATEST = (
    select(func.max(EVENTS.c.revision)).where(EVENTS.c.lease_id == LEASES.c.id).correlate(LEASES).scalar_subquery()
)
_ITS_ENTRY = and_(EVENTS.c.lease_id == LEASES.c.id, EVENTS.c.revision == LEASES.c.revision, EVENTS.c.position == 0)
_COVERED = (
    select(LEASES, _LATEST.label("latest"), EVENTS.c.snapshot_hash)
    .outerjoin(EVENTS, _ITS_ENTRY)
    .where(LEASES.c.id > bindparam("after"))
    .order_by(LEASES.c.id)
    .limit(PAGE)
)
_ORPHANS = (
    select(EVENTS.c.lease_id)
    .distinct()
    .outerjoin(LEASES, LEASES.c.id == EVENTS.c.lease_id)
    .where(LEASES.c.id.is_(None), EVENTS.c.lease_id != FLEET)
    .order_by(EVENTS.c.lease_id)
    .limit(PAGE)
)
_HAPPENED = (
    _ENTRY.where(EVENTS.c.type == bindparam("kind"), EVENTS.c.at >= bindparam("since"))
    .order_by(EVENTS.c.at.desc(), EVENTS.c.seq.desc())
    .limit(MOST_HAPPENED)
)
_FLEET = select(func.max(EVENTS.c.revision)).where(EVENTS.c.lease_id == FLEET)
_BRAKE = (
    select(BRAKES, _FLEET.scalar_subquery().label("latest"), EVENTS.c.snapshot_hash)
    .outerjoin(EVENTS, and_(EVENTS.c.lease_id == BRAKES.c.subject, EVENTS.c.revision == BRAKES.c.revision))
    .where(BRAKES.c.subject == FLEET)
)


class SqlChain(Book):
    """The events of `ports.LeaseBook` in SQL."""

    def events(self, lease_id: str) -> tuple[StoredEvent, ...]:
        """What happened to a lease, in order of the chain."""
        with self._db.read() as connection:
            rows = connection.execute(_OF_LEASE, {"lease": lease_id}).all()
        return tuple(_stored(Entry(*row)) for row in rows)

    def happened(self, type: str, since: datetime) -> tuple[StoredEvent, ...]:
        """The latest events of this type since then, newest first."""
        with self._db.read() as connection:
            rows = connection.execute(_HAPPENED, {"kind": type, "since": since}).all()
        return tuple(_stored(Entry(*row)) for row in rows)

    def export(self) -> Iterable[StoredEvent]:
        """Every event in order of the chain, as it was when the export began, a page at a time."""
        _, _, last, first = self._end()
        return (_stored(entry) for entry in self._entries(first, last))

    def verify(self, progress: Callable[[int, int], None] | None = None) -> AuditReport:
        """Read the whole chain, then compare every lease with it; entries that are appended meanwhile are left out.

        `progress` gets the entries read so far and their number. `problems` are sentences, the first twenty.
        """
        count, head, last, first = self._end()
        reader = ChainReader()
        for entry in self._entries(first, last):
            reader.follow(entry)
            if progress and reader.read % PAGE == 0:
                progress(reader.read, last)
        if head is None:
            reader.report("the head of the chain is missing, so that nobody can say how many entries were written")
        else:
            reader.finish(count, head)
        for problem in self._uncovered():
            reader.report(problem)
        if progress:
            progress(reader.read, reader.read)
        return AuditReport(reader.read, reader.last_hash, tuple(reader.problems))

    def _end(self) -> tuple[int, str | None, int, int]:
        """How many entries were written, the hash of the last, and the highest and lowest place there is."""
        with self._db.read() as connection:
            count, head, last, first = connection.execute(_END).one()
        return count or 0, head, last, first

    def _entries(self, first: int, last: int) -> Iterator[Entry]:
        after = min(first, 1) - 1
        while True:
            with self._db.read() as connection:
                rows = connection.execute(_ENTRIES, {"after": after, "last": last}).all()
            yield from (Entry(*row) for row in rows)
            if len(rows) < PAGE:
                return
            after = rows[-1].seq

    def _uncovered(self) -> Iterator[str]:
        """Leases that the chain does not vouch for, in words."""
        after = ""
        while True:
            with self._db.read() as connection:
                rows = connection.execute(_COVERED, {"after": after}).all()
            for row in rows:
                problem = _against_chain(row)
                if problem:
                    yield f"lease {row.id} {problem}"
            if len(rows) < PAGE:
                break
            after = rows[-1].id
        with self._db.read() as connection:
            orphans = connection.scalars(_ORPHANS).all()
        yield from (f"lease {lease_id} is missing, although the chain speaks of it" for lease_id in orphans)
        yield from self._brake_against_chain()

    def _brake_against_chain(self) -> Iterator[str]:
        with self._db.read() as connection:
            row = connection.execute(_BRAKE).one_or_none()
            latest = connection.scalar(_FLEET) if row is None else row.latest
        if row is None and latest:
            yield "the brake is missing, although the chain speaks of it"
        elif row is not None and row.revision != latest:
            yield f"the brake stands at revision {row.revision}, although the chain has revision {latest or 0}"
        elif row is not None and fingerprint(row.revision, stored(row)) != row.snapshot_hash:
            yield "the brake is not as it was recorded: it was changed"


def _against_chain(row: Row[Any]) -> str:
    if row.snapshot_hash is None:
        return f"stands at revision {row.revision}, which the chain knows nothing of"
    if row.latest > row.revision:
        return f"stands at revision {row.revision}, although the chain has revision {row.latest}: it was put back"
    if digest(row.snapshot) != row.snapshot_hash:
        return f"is not as it was recorded at revision {row.revision}: it was changed"
    try:
        copies = columns(LEASE.load(row.snapshot), row.snapshot)
    except UnreadableSnapshotError as error:
        return f"cannot be compared: {error}"
    wrong = [name for name, value in copies.items() if row._mapping[name] != value]
    return f"has a changed {' and '.join(wrong)}, which is not what its record says" if wrong else ""


def _stored(entry: Entry) -> StoredEvent:
    event = Event(entry.type, entry.at, entry.actor, json.loads(entry.data))
    return StoredEvent(
        entry.seq,
        entry.lease_id,
        event,
        entry.prev_hash,
        entry.hash,
        entry.revision,
        entry.position,
        entry.snapshot_hash,
    )
