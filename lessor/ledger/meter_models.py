"""The tables of the meter: what every lease did in every tick for a while, sums by hour for good, and what followed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Float, Index
from sqlalchemy.orm import Mapped, mapped_column

from lessor.ledger.columns import Seconds
from lessor.ledger.models import Base, table


class TickRow(Base):
    """One tick of the meter that is on record, with what it came to as JSON; `summed` once its hour is added up."""

    __tablename__ = "meter_ticks"

    at: Mapped[datetime] = mapped_column(Seconds(), primary_key=True, autoincrement=False)
    report: Mapped[str]
    summed: Mapped[bool]


class ReadingRow(Base):
    """What one lease was seen doing in one tick, and where it stood then: both whole in `packing`'s words.

    The figures beside them are what the sums by hour are made of; `working` is the share of its GPUs that worked.
    """

    __tablename__ = "meter_readings"
    __table_args__ = ({"sqlite_with_rowid": False},)

    at: Mapped[datetime] = mapped_column(Seconds(), primary_key=True, autoincrement=False)
    lease_id: Mapped[str] = mapped_column(primary_key=True)
    verdict: Mapped[str]
    whole: Mapped[bool]
    working: Mapped[float] = mapped_column(Float(53))
    engine: Mapped[float | None] = mapped_column(Float(53))
    util: Mapped[float | None] = mapped_column(Float(53))
    memory: Mapped[float | None] = mapped_column(Float(53))
    power: Mapped[float | None] = mapped_column(Float(53))
    cpu: Mapped[float | None] = mapped_column(Float(53))
    observation: Mapped[str]
    standing: Mapped[str]


class HourRow(Base):
    """What one lease did in one hour: see `domain.usage.HourUse`."""

    __tablename__ = "meter_hours"

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    hour: Mapped[datetime] = mapped_column(Seconds(), primary_key=True, autoincrement=False)
    ticks: Mapped[int]
    busy: Mapped[int]
    idle: Mapped[int]
    unknown: Mapped[int]
    gpu_busy: Mapped[float] = mapped_column(Float(53))
    peak_engine: Mapped[float | None] = mapped_column(Float(53))
    peak_util: Mapped[float | None] = mapped_column(Float(53))
    peak_memory: Mapped[float | None] = mapped_column(Float(53))
    peak_power: Mapped[float | None] = mapped_column(Float(53))
    peak_cpu: Mapped[float | None] = mapped_column(Float(53))


class HeardRow(Base):
    """What a lease heard last of what it does, in `packing`'s words, so that what it has not heard is told again."""

    __tablename__ = "meter_heard"

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    standing: Mapped[str]
    terms: Mapped[str]
    at: Mapped[datetime]


class BrakeRow(Base):
    """Whether stops for being idle are held back, as the latest entry of the chain for this subject says."""

    __tablename__ = "brakes"

    subject: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int]
    held: Mapped[bool]
    actor: Mapped[str]
    at: Mapped[datetime | None]
    reason: Mapped[str]
    doubt: Mapped[bool]


class StopClaimRow(Base):
    """A lease that was allowed to stop for being idle, and when: so many in an hour, and no more."""

    __tablename__ = "stop_claims"
    __table_args__ = (Index(None, "at"),)

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)


TICKS = table(TickRow)
READINGS = table(ReadingRow)
HOURS = table(HourRow)
HEARD = table(HeardRow)
BRAKES = table(BrakeRow)
STOP_CLAIMS = table(StopClaimRow)
