"""What leases were seen doing: one bulk insert for each tick of the meter, sums by hour made where the rows are.

A row is found by tick and lease. What one lease did over time is looked up tick by tick: the ticks are on record too,
and a second index over many million rows would cost each tick more than that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, and_, bindparam, case, delete, func, insert, select, update

from lessor.contracts import MeterReport
from lessor.domain.idle import Standing, Verdict
from lessor.domain.telling import Heard
from lessor.domain.usage import HourUse, Observation
from lessor.ledger.book import Book
from lessor.ledger.meter_models import HEARD, HOURS, READINGS, STOP_CLAIMS, TICKS
from lessor.ledger.packing import Packed
from lessor.ledger.reading_rows import OBSERVATION, STANDING, Reading, reading_row

log = logging.getLogger(__name__)

TICK_LOCK = 7_236_003
HOUR = timedelta(hours=1)

REPORT = TypeAdapter(MeterReport)

T = TypeVar("T")

_NAMES = [column.name for column in READINGS.c]
_LAST = select(func.max(TICKS.c.at))
_REPORT = select(TICKS.c.at, TICKS.c.report).order_by(TICKS.c.at.desc()).limit(1)
_STANDINGS = select(READINGS.c.standing).where(READINGS.c.at == _LAST.scalar_subquery())
_STANDING = (
    select(READINGS.c.standing)
    .select_from(TICKS)
    .join(READINGS, and_(READINGS.c.at == TICKS.c.at, READINGS.c.lease_id == bindparam("lease")))
    .order_by(TICKS.c.at.desc())
    .limit(1)
)
_TICKS = (
    select(TICKS.c.at).where(TICKS.c.at >= bindparam("since"), TICKS.c.at < bindparam("until")).order_by(TICKS.c.at)
)
_OF_TICK = select(READINGS.c.observation).where(READINGS.c.at == bindparam("tick")).order_by(READINGS.c.lease_id)
_OF_LEASE = _OF_TICK.where(READINGS.c.lease_id == bindparam("lease"))
_HEARD = select(HEARD.c.lease_id, HEARD.c.standing, HEARD.c.terms)
_USE = (
    select(*(HOURS.c[name] for name in HourUse.__dataclass_fields__))
    .where(
        HOURS.c.lease_id == bindparam("lease"), HOURS.c.hour >= bindparam("since"), HOURS.c.hour < bindparam("until")
    )
    .order_by(HOURS.c.hour)
)
_UNSUMMED = select(TICKS.c.at).where(TICKS.c.summed.is_(False), TICKS.c.at <= bindparam("until")).order_by(TICKS.c.at)
_IN_HOUR = and_(READINGS.c.at > bindparam("begin"), READINGS.c.at <= bindparam("end"))
_SUMMED = update(TICKS).where(TICKS.c.at > bindparam("begin"), TICKS.c.at <= bindparam("end")).values(summed=True)


class SqlMeterBook(Book):
    """`ports.MeterBook` in SQL."""

    def last_tick(self) -> datetime | None:
        with self._db.read() as connection:
            found: datetime | None = connection.scalar(_LAST)
        return found

    def last_report(self) -> MeterReport | None:
        """What the latest tick on record came to; of one that another version wrote otherwise, only when it was."""
        with self._db.read() as connection:
            row = connection.execute(_REPORT).one_or_none()
        if row is None:
            return None
        try:
            return REPORT.validate_json(row.report)
        except ValidationError as error:
            log.error("what the tick of %s came to cannot be read: %s", row.at, error.title)
            return MeterReport(row.at)

    def standings(self) -> tuple[Standing, ...]:
        with self._db.read() as connection:
            found = connection.scalars(_STANDINGS).all()
        return tuple(_read(STANDING, found))

    def standing(self, lease_id: str) -> Standing | None:
        with self._db.read() as connection:
            found = connection.scalars(_STANDING, {"lease": lease_id}).all()
        return next(_read(STANDING, found), None)

    def meter(
        self, at: datetime, found: Sequence[tuple[Observation, Standing]], report: MeterReport | None = None
    ) -> bool:
        """Store a tick with all its rows, or nothing at all; false when it, or a later one, is on record."""
        seconds = int(at.timestamp())
        rows = [reading_row(seconds, observation, standing) for observation, standing in found]
        text = REPORT.dump_json(report or MeterReport(at, leases=len(rows))).decode()
        with self._db.write() as connection:
            self._db.alone(connection, TICK_LOCK)
            last = connection.scalar(_LAST)
            if last is not None and last >= at:
                return False
            connection.execute(TICKS.insert(), {"at": at, "report": text, "summed": False})
            self._add(connection, rows)
        return True

    def observations(self, since: datetime, until: datetime, lease_id: str = "") -> Iterator[Observation]:
        """Read a tick at a time, so that a fortnight of a whole fleet is never in memory at once."""
        with self._db.read() as connection:
            ticks = connection.scalars(_TICKS, {"since": since, "until": until}).all()
        statement = _OF_LEASE if lease_id else _OF_TICK
        for tick in ticks:
            with self._db.read() as connection:
                found = connection.scalars(statement, {"tick": tick, "lease": lease_id}).all()
            yield from _read(OBSERVATION, found)

    def roll_up(self, until: datetime) -> int:
        """Add up each hour that is over by `until` and by the latest tick; an hour is marked where it was added up.

        A tick belongs to the hour in which it ended, one that ended on the full hour to the hour before.
        """
        end = min(until, self.last_tick() or until).replace(minute=0, second=0, microsecond=0)
        added = 0
        with self._db.write() as connection:
            ticks = connection.scalars(_UNSUMMED, {"until": end}).all()
            for hour in sorted({hour_of(tick) for tick in ticks}):
                bounds = {"begin": hour, "end": hour + HOUR, "hour": hour}
                added += connection.execute(self._sum, bounds).rowcount
                connection.execute(_SUMMED, bounds)
        return added

    def usage(self, lease_id: str, since: datetime, until: datetime) -> tuple[HourUse, ...]:
        with self._db.read() as connection:
            rows = connection.execute(_USE, {"lease": lease_id, "since": since, "until": until}).all()
        return tuple(HourUse(*row) for row in rows)

    def forget_before(self, at: datetime) -> int:
        """Drop ticks before `at` that are added up, with their rows; and who was allowed to stop before."""
        with self._db.write() as connection:
            old = select(TICKS.c.at).where(TICKS.c.at < at, TICKS.c.summed.is_(True))
            dropped = connection.execute(delete(READINGS).where(READINGS.c.at.in_(old))).rowcount
            connection.execute(delete(TICKS).where(TICKS.c.at < at, TICKS.c.summed.is_(True)))
            connection.execute(delete(STOP_CLAIMS).where(STOP_CLAIMS.c.at < at))
        return dropped

    def heard(self) -> dict[str, Heard]:
        """What each lease heard last of what it does; those that have nothing to remember are not among them."""
        with self._db.read() as connection:
            rows = connection.execute(_HEARD).all()
        terms = {row.lease_id: row.terms for row in rows}
        found = _read(STANDING, (row.standing for row in rows))
        return {one.lease_id: Heard(one, terms[one.lease_id]) for one in found if one.lease_id in terms}

    def hear(self, heard: Mapping[str, Heard | None], at: datetime) -> None:
        """Store what leases have heard; with `None` there is nothing to remember of one."""
        rows = [
            {"lease_id": lease_id, "standing": STANDING.dump(one.standing), "terms": one.terms, "at": at}
            for lease_id, one in heard.items()
            if one
        ]
        gone = [lease_id for lease_id, one in heard.items() if not one]
        with self._db.write() as connection:
            if rows:
                connection.execute(self._put_heard, rows)
            if gone:
                connection.execute(delete(HEARD).where(HEARD.c.lease_id.in_(gone)))

    def _add(self, connection: Connection, rows: Sequence[Reading]) -> None:
        """All rows at once, as fast as each database takes them."""
        if not rows:
            return
        if self._db.is_sqlite:
            marks = ", ".join("?" * len(_NAMES))
            connection.exec_driver_sql(f"INSERT INTO {READINGS.name} VALUES ({marks})", list(rows))  # noqa: S608
            return
        driver = connection.connection.driver_connection
        assert driver is not None
        with driver.cursor() as cursor, cursor.copy(f"COPY {READINGS.name} ({', '.join(_NAMES)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    @cached_property
    def _put_heard(self) -> Any:
        put = self._db.insert(HEARD)
        new = {name: put.excluded[name] for name in ("standing", "terms", "at")}
        return put.on_conflict_do_update(index_elements=[HEARD.c.lease_id], set_=new)

    @cached_property
    def _sum(self) -> Any:
        ticks = func.count()
        sums = {
            "ticks": ticks,
            "busy": _times(Verdict.BUSY),
            "idle": _times(Verdict.IDLE, Verdict.HELD),
            "unknown": func.sum(case((READINGS.c.whole.is_(True), 0), else_=1)),
            "gpu_busy": func.sum(READINGS.c.working),
            **{f"peak_{name}": func.max(READINGS.c[name]) for name in ("engine", "util", "memory", "power", "cpu")},
        }
        found = select(READINGS.c.lease_id, bindparam("hour", type_=HOURS.c.hour.type), *sums.values()).where(_IN_HOUR)
        put = insert(HOURS).from_select(["lease_id", "hour", *sums], found.group_by(READINGS.c.lease_id))
        return put.execution_options(preserve_rowcount=True)


def hour_of(tick: datetime) -> datetime:
    """The beginning of the hour that a tick which ended then belongs to."""
    start = tick.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return start - HOUR if start == tick else start


def _read(packed: Packed[T], texts: Iterable[str]) -> Iterator[T]:
    """What was stored. What cannot be read is left out, so that one bad row never stops the meter (law 11)."""
    for text in texts:
        try:
            yield packed.load(text)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            log.error("a reading is left out, since it cannot be read: %s", error)


def _times(*verdicts: Verdict) -> Any:
    return func.sum(case((READINGS.c.verdict.in_([verdict.value for verdict in verdicts]), 1), else_=0))
