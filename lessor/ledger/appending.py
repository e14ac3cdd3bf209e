"""Adds entries to the chain, inside the transaction that stores what they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from lessor.domain.errors import instant
from lessor.domain.lease import Event
from lessor.ledger.chain import Entry, canonical, entry_hash
from lessor.ledger.models import EVENTS, HEAD
from lessor.ports import LedgerUnavailableError

_RECORDED = (
    select(func.count())
    .where(EVENTS.c.lease_id == bindparam("subject"), EVENTS.c.revision == bindparam("rev"))
    .scalar_subquery()
    .label("there")
)
_HEAD = select(HEAD.c.entries, HEAD.c.hash, _RECORDED).with_for_update(of=HEAD)
_MOVE_HEAD = update(HEAD).values(entries=bindparam("new_entries"), hash=bindparam("new_hash"))
_ADD_EVENT = EVENTS.insert()


def append(connection: Connection, subject: str, revision: int, events: Sequence[Event], fingerprint: str) -> None:
    """Put the events of a subject's revision on record, those that are there already left out.

    `fingerprint` is the digest of the subject as it is stored with them.
    """
    head = _head(connection, subject, revision)
    _chain(connection, head, subject, revision, events[head.there :], fingerprint)


def append_one(connection: Connection, subject: str, revision: int, event: Event, fingerprint: str) -> None:
    """Put one event more on record behind those of a subject's revision, which is locked and has all of its own."""
    _chain(connection, _head(connection, subject, revision), subject, revision, (event,), fingerprint)


def _head(connection: Connection, subject: str, revision: int) -> Any:
    head = connection.execute(_HEAD, {"subject": subject, "rev": revision}).one_or_none()
    if head is None:
        raise LedgerUnavailableError("the head of the ledger's chain is missing; run `lessor audit verify`")
    return head


def _chain(
    connection: Connection, head: Any, subject: str, revision: int, events: Sequence[Event], fingerprint: str
) -> None:
    seq, last = head.entries, head.hash
    entries = []
    for position, event in enumerate(events, head.there):
        seq += 1
        at = instant("the time of an event", event.at)
        what = (event.type, at, event.actor, canonical(event.data))
        entry = Entry(seq, subject, revision, position, *what, fingerprint, last)
        last = entry_hash(entry)
        entries.append(entry._replace(hash=last))
    if entries:
        connection.execute(_ADD_EVENT, [entry._asdict() for entry in entries])
        connection.execute(_MOVE_HEAD, {"new_entries": seq, "new_hash": last})
