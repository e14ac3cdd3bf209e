"""Which machine is whose from when to when. The domain decides, and what it decides by stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, or_, select

from lessor.domain.bookings import Booking, Phase
from lessor.domain.machines import Fitness, Health
from lessor.ledger.book import Book
from lessor.ledger.booking_models import BOOKINGS, HEALTH

BOOKINGS_LOCK = 7_236_003

_ORDER = (BOOKINGS.c.begins, BOOKINGS.c.lease_id, BOOKINGS.c.machine)
_COUNTING = (
    select(BOOKINGS)
    .where(
        BOOKINGS.c.place == bindparam("at_place"),
        or_(
            BOOKINGS.c.phase != Phase.ENDED.value,
            BOOKINGS.c.since >= bindparam("ended_since"),
            BOOKINGS.c.lease_id == bindparam("lease"),
        ),
    )
    .order_by(*_ORDER)
)
_VOID = delete(BOOKINGS).where(*(c == bindparam(f"of_{c.name}") for c in BOOKINGS.primary_key.columns))
_DROP = delete(BOOKINGS).where(BOOKINGS.c.lease_id == bindparam("lease"), BOOKINGS.c.phase == Phase.BOOKED.value)
_HEALTH = select(HEALTH).where(HEALTH.c.place == bindparam("at_place")).order_by(HEALTH.c.machine)


class SqlBookingBook(Book):
    """`ports.BookingBook` in SQL."""

    def bookings(self, place: str, since: datetime, lease_id: str = "") -> tuple[Booking, ...]:
        """All of a place that are not over or ended since then, and all that a lease ever had, by their begin."""
        with self._db.read() as connection:
            return _counting(connection, place, since, lease_id)

    def settle(
        self,
        place: str,
        since: datetime,
        decide: Callable[[tuple[Booking, ...]], Sequence[Booking]],
        lease_id: str = "",
    ) -> tuple[Booking, ...]:
        """Store what `decide` makes of the place's bookings, in one transaction; what it raises leaves all as it was.

        One decides at a time, over all processes, so it must neither wait nor look elsewhere. What is void is dropped.
        """
        with self._db.write() as connection:
            self._db.alone(connection, BOOKINGS_LOCK)
            made = tuple(decide(_counting(connection, place, since, lease_id)))
            for one in made:
                if one.void:
                    connection.execute(
                        _VOID, {"of_place": place, "of_lease_id": one.lease_id, "of_machine": one.machine}
                    )
            kept = tuple(one for one in made if not one.void)
            if kept:
                connection.execute(self._put_booking, [_row(place, one) for one in kept])
            return kept

    def unbook(self, lease_id: str) -> None:
        """Give up what is only booked; what is or was held stays, since somebody may be let in there."""
        with self._db.write() as connection:
            connection.execute(_DROP, {"lease": lease_id})

    def health(self, place: str) -> tuple[Health, ...]:
        """What the latest check of each machine found, by machine."""
        with self._db.read() as connection:
            rows = connection.execute(_HEALTH, {"at_place": place}).all()
        return tuple(Health(r.machine, Fitness(r.fitness), r.at, r.since, r.words) for r in rows)

    def checked(self, place: str, found: Iterable[Health]) -> None:
        """Store what checks found."""
        rows = [
            {"place": place, "machine": h.machine, "fitness": h.fitness.value, "at": h.at, "since": h.since}
            | {"words": h.words}
            for h in sorted(found, key=lambda one: one.machine)
        ]
        if rows:
            with self._db.write() as connection:
                connection.execute(self._put_health, rows)

    @cached_property
    def _put_booking(self) -> Any:
        insert = self._db.insert(BOOKINGS)
        keys = list(BOOKINGS.primary_key.columns)
        new = {c.name: insert.excluded[c.name] for c in BOOKINGS.c if c not in keys}
        return insert.on_conflict_do_update(index_elements=keys, set_=new)

    @cached_property
    def _put_health(self) -> Any:
        insert = self._db.insert(HEALTH)
        new = {name: insert.excluded[name] for name in ("fitness", "at", "since", "words")}
        return insert.on_conflict_do_update(index_elements=list(HEALTH.primary_key.columns), set_=new)


def _counting(connection: Connection, place: str, since: datetime, lease_id: str) -> tuple[Booking, ...]:
    found = connection.execute(_COUNTING, {"at_place": place, "ended_since": since, "lease": lease_id}).all()
    return tuple(_booking(row) for row in found)


def _row(place: str, one: Booking) -> dict[str, Any]:
    row = {c.name: getattr(one, c.name) for c in BOOKINGS.c if c.name != "place"}
    told = {"gpus": ",".join(map(str, one.gpus)), "keep": int(one.keep.total_seconds()), "phase": one.phase.value}
    return {**row, **told, "place": place}


def _booking(row: Row[Any]) -> Booking:
    values = {c.name: getattr(row, c.name) for c in BOOKINGS.c if c.name not in ("place", "gpus", "keep", "phase")}
    gpus = tuple(int(number) for number in row.gpus.split(",") if number)
    return Booking(**values, gpus=gpus, keep=timedelta(seconds=row.keep), phase=Phase(row.phase))
