"""The tables of the ledger. What a row means is said here once; how it is written and read is in the books.

Whole values (a lease, a request, a place) are JSON text, made in `snapshots`; what is searched by has its own column.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, CheckConstraint, Index, Integer, MetaData, Table, Text, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeEngine

from lessor.ledger.columns import Instant

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[type, TypeEngine[Any]]] = {str: Text(), datetime: Instant()}


class LeaseRow(Base):
    """The latest recorded revision of a lease: `snapshot` is the whole of it, the other columns are copies."""

    __tablename__ = "leases"
    __table_args__ = (Index(None, "owner"), Index(None, "team"), Index(None, "state"), Index(None, "ends_at"))

    id: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int]
    state: Mapped[str]
    owner: Mapped[str]
    team: Mapped[str]
    provider: Mapped[str]
    ends_at: Mapped[datetime | None]
    snapshot: Mapped[str]


_DISPUTED = text("type = 'verdict-disputed'")


class EventRow(Base):
    """One entry of the chain. `snapshot_hash` is the digest of the lease's snapshot recorded together with it.

    `lease_id` is its subject: a lease, or the fleet.
    """

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("lease_id", "revision", "position"),
        Index("ix_events_disputed", "at", sqlite_where=_DISPUTED, postgresql_where=_DISPUTED),
    )

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    lease_id: Mapped[str]
    revision: Mapped[int]
    position: Mapped[int]
    type: Mapped[str]
    at: Mapped[datetime]
    actor: Mapped[str]
    data: Mapped[str]
    snapshot_hash: Mapped[str]
    prev_hash: Mapped[str]
    hash: Mapped[str]


class HeadRow(Base):
    """The one row that says how many entries the chain has and the hash of the last. Locked by whoever appends."""

    __tablename__ = "chain_head"
    __table_args__ = (CheckConstraint("id = 1", "single"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    entries: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str]


class SubmissionRow(Base):
    """A request as it was accepted. Both keys are unique: one interaction, one lease."""

    __tablename__ = "submissions"
    __table_args__ = (UniqueConstraint("lease_id"), Index(None, "started"))

    interaction: Mapped[str] = mapped_column(primary_key=True)
    lease_id: Mapped[str]
    request: Mapped[str]
    at: Mapped[datetime]
    started: Mapped[bool]


class ScopeRow(Base):
    """A team, project, person or cohort for which something is counted; locked by whoever reserves for it."""

    __tablename__ = "quota_scopes"

    scope: Mapped[str] = mapped_column(primary_key=True)


class ReservationRow(Base):
    """GPUs that one lease holds now; gone when they are given back."""

    __tablename__ = "reservations"
    __table_args__ = (
        CheckConstraint("gpus >= 0", "not_negative"),
        *(Index(None, column) for column in ("team", "project", "person")),
    )

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    team: Mapped[str]
    model: Mapped[str]
    gpus: Mapped[int]
    project: Mapped[str] = mapped_column(server_default="")
    person: Mapped[str] = mapped_column(server_default="")


class CommitmentRow(Base):
    """What one lease takes of one month, for one of the accounts that it has had: see `domain.budget.Commitment`.

    Time is in microseconds of one GPU, money in millionths of `currency`, NULL where it is unknown.
    """

    __tablename__ = "commitments"
    __table_args__ = tuple(Index(None, "month", column) for column in ("team", "project", "person"))

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    month: Mapped[str] = mapped_column(primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    team: Mapped[str]
    project: Mapped[str]
    person: Mapped[str]
    model: Mapped[str]
    currency: Mapped[str]
    time: Mapped[int] = mapped_column(BigInteger)
    money: Mapped[int | None] = mapped_column(BigInteger)
    ahead_time: Mapped[int] = mapped_column(BigInteger)
    ahead_money: Mapped[int | None] = mapped_column(BigInteger)
    ahead_from: Mapped[datetime | None]
    ahead_to: Mapped[datetime | None]
    running: Mapped[bool]


class AlertRow(Base):
    """A threshold of a ceiling that was reached in a month, and the record of a lease that reached it."""

    __tablename__ = "budget_alerts"

    scope: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    hard: Mapped[bool] = mapped_column(primary_key=True)
    month: Mapped[str] = mapped_column(primary_key=True)
    threshold: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    lease_id: Mapped[str]
    revision: Mapped[int]


class IntentRow(Base):
    """Something that was about to be created, stored before the call."""

    __tablename__ = "intents"

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(primary_key=True)
    place: Mapped[str]
    what: Mapped[str]
    at: Mapped[datetime]
    confirmed: Mapped[bool]


class ResourceRow(Base):
    """A resource with what was last seen of it. `intent` is the token of the intent that it came of, or empty."""

    __tablename__ = "resources"
    __table_args__ = (UniqueConstraint("lease_id", "kind", "resource_id"),)

    number: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    lease_id: Mapped[str]
    kind: Mapped[str]
    resource_id: Mapped[str]
    intent: Mapped[str]
    condition: Mapped[str]
    region: Mapped[str]
    zone: Mapped[str]
    type: Mapped[str]
    created_at: Mapped[datetime | None]
    reason: Mapped[str]
    token: Mapped[str]


class MessageRow(Base):
    """Where a message stands; `ts` is empty while it is only intended."""

    __tablename__ = "messages"
    __table_args__ = (Index(None, "lease_id"),)

    key: Mapped[str] = mapped_column(primary_key=True)
    lease_id: Mapped[str]
    channel: Mapped[str]
    ts: Mapped[str]


class AbsenceRow(Base):
    """A span in which a person does not decide, and the id of who stands in for them, or empty."""

    __tablename__ = "absences"
    __table_args__ = (Index(None, "until"),)

    person: Mapped[str] = mapped_column(primary_key=True)
    since: Mapped[datetime] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    delegate: Mapped[str]
    source: Mapped[str]


def table(row: type[Base]) -> Table:
    """The table behind a row class, for statements that leave the unit of work out."""
    found = row.__table__
    assert isinstance(found, Table)
    return found


LEASES = table(LeaseRow)
EVENTS = table(EventRow)
HEAD = table(HeadRow)
SUBMISSIONS = table(SubmissionRow)
SCOPES = table(ScopeRow)
RESERVATIONS = table(ReservationRow)
COMMITMENTS = table(CommitmentRow)
ALERTS = table(AlertRow)
INTENTS = table(IntentRow)
RESOURCES = table(ResourceRow)
MESSAGES = table(MessageRow)
ABSENCES = table(AbsenceRow)
