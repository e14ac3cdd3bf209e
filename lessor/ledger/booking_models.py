"""The tables of the organisation's own machines: who has which from when to when, and how they are."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from lessor.ledger.models import Base, table


class BookingRow(Base):
    """GPUs of one machine for one lease: see `domain.bookings.Booking`. `gpus` are numbers, with commas between them.

    `keep` is in seconds. What is over stays, so that whoever looks later knows what was whose.
    """

    __tablename__ = "bookings"
    __table_args__ = (Index(None, "lease_id"), Index(None, "place", "phase"))

    place: Mapped[str] = mapped_column(primary_key=True)
    lease_id: Mapped[str] = mapped_column(primary_key=True)
    machine: Mapped[str] = mapped_column(primary_key=True)
    gpus: Mapped[str]
    begins: Mapped[datetime]
    ends: Mapped[datetime]
    keep: Mapped[int]
    phase: Mapped[str]
    since: Mapped[datetime | None]
    token: Mapped[str]
    address: Mapped[str]
    owner: Mapped[str]
    team: Mapped[str]
    cost_center: Mapped[str]
    fresh_at: Mapped[datetime | None]
    granted_at: Mapped[datetime | None]
    open_until: Mapped[datetime | None]
    let_in_at: Mapped[datetime | None]


class HealthRow(Base):
    """What the latest health check of a machine found: see `domain.machines.Health`."""

    __tablename__ = "machine_health"

    place: Mapped[str] = mapped_column(primary_key=True)
    machine: Mapped[str] = mapped_column(primary_key=True)
    fitness: Mapped[str]
    at: Mapped[datetime]
    since: Mapped[datetime]
    words: Mapped[str]


BOOKINGS = table(BookingRow)
HEALTH = table(HealthRow)
