"""Who said that they are away. One absence of a person holds at a time; those that ended stay for the record."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import bindparam, select, update

from lessor.domain.absence import Absence
from lessor.ledger.book import Book
from lessor.ledger.models import ABSENCES

_COLUMNS = (ABSENCES.c.person, ABSENCES.c.since, ABSENCES.c.until, ABSENCES.c.delegate, ABSENCES.c.source)
_AT = (
    select(*_COLUMNS)
    .where(ABSENCES.c.since <= bindparam("at"), ABSENCES.c.until > bindparam("at"))
    .order_by(ABSENCES.c.person, ABSENCES.c.since)
)
_END = (
    update(ABSENCES)
    .where(ABSENCES.c.person == bindparam("who"), ABSENCES.c.until > bindparam("at"))
    .values(until=bindparam("at"))
)


class SqlAbsenceBook(Book):
    """`ports.AbsenceBook` in SQL."""

    def go_away(self, absence: Absence) -> None:
        """Store it; whatever else is on record for the person ends when it begins."""
        row = {"person": absence.person, "since": absence.since, "until": absence.until}
        row |= {"delegate": absence.delegate, "source": absence.source}
        with self._db.write() as connection:
            connection.execute(_END, {"who": absence.person, "at": absence.since})
            connection.execute(self._put_absence, row)

    def come_back(self, person: str, at: datetime) -> None:
        """End what is on record for the person; a second time changes nothing."""
        with self._db.write() as connection:
            connection.execute(_END, {"who": person, "at": at})

    def absences(self, at: datetime) -> tuple[Absence, ...]:
        """All that hold at that instant, by person."""
        with self._db.read() as connection:
            rows = connection.execute(_AT, {"at": at}).all()
        return tuple(Absence(*row) for row in rows)

    @cached_property
    def _put_absence(self) -> Any:
        insert = self._db.insert(ABSENCES)
        new = {name: insert.excluded[name] for name in ("until", "delegate", "source")}
        return insert.on_conflict_do_update(index_elements=[ABSENCES.c.person, ABSENCES.c.since], set_=new)
