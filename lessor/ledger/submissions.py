"""Requests as they were accepted: the memory that makes a redelivered click start nothing new (law 8)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Row, bindparam, select, true, update
from sqlalchemy.exc import IntegrityError

from lessor.ledger.book import Book
from lessor.ledger.models import SUBMISSIONS
from lessor.ledger.snapshots import REQUEST, in_utc
from lessor.ports import LeaseIdTakenError, Submission

_BY_INTERACTION = select(SUBMISSIONS).where(SUBMISSIONS.c.interaction == bindparam("wanted"))
_UNSTARTED = select(SUBMISSIONS).where(SUBMISSIONS.c.started.is_(False)).order_by(SUBMISSIONS.c.at)
_REASSIGN = (
    update(SUBMISSIONS).where(SUBMISSIONS.c.interaction == bindparam("wanted")).values(lease_id=bindparam("lease"))
)
_STARTED = (
    update(SUBMISSIONS)
    .where(SUBMISSIONS.c.interaction == bindparam("wanted"), SUBMISSIONS.c.lease_id == bindparam("lease"))
    .values(started=true())
)


class SqlSubmissions(Book):
    """`ports.Submissions` in SQL."""

    def accept(self, submission: Submission) -> Submission:
        """Store it, or return what the same interaction stored before, whatever this one says.

        Raises `LeaseIdTakenError` when another interaction has the lease id: salt the id and try again.
        """
        row = {
            "interaction": submission.interaction,
            "lease_id": submission.lease_id,
            "request": REQUEST.dump(submission.request),
            "at": in_utc(submission.at),
            "started": submission.started,
        }
        with self._db.write() as connection:
            connection.execute(self._accept, row)
            stored = connection.execute(_BY_INTERACTION, {"wanted": submission.interaction}).one_or_none()
        if stored is None:
            raise _taken(submission.lease_id)
        return _submission(stored)

    def reassign(self, interaction: str, lease_id: str) -> Submission:
        """Give a kept submission another lease id.

        Raises `LeaseIdTakenError` when another interaction has it, and `LookupError` for an unknown interaction.
        """
        try:
            with self._db.write() as connection:
                connection.execute(_REASSIGN, {"wanted": interaction, "lease": lease_id})
                stored = connection.execute(_BY_INTERACTION, {"wanted": interaction}).one_or_none()
        except IntegrityError as error:
            raise _taken(lease_id) from error
        if stored is None:
            raise LookupError(f"no submission of interaction {interaction} is on record")
        return _submission(stored)

    def started(self, lease_id: str, interaction: str) -> None:
        """Its workflow runs: it is not sent again."""
        with self._db.write() as connection:
            connection.execute(_STARTED, {"wanted": interaction, "lease": lease_id})

    def unstarted(self) -> tuple[Submission, ...]:
        """What was accepted and not started, oldest first."""
        with self._db.read() as connection:
            rows = connection.execute(_UNSTARTED).all()
        return tuple(_submission(row) for row in rows)

    @cached_property
    def _accept(self) -> Any:
        return self._db.insert(SUBMISSIONS).on_conflict_do_nothing()


def _taken(lease_id: str) -> LeaseIdTakenError:
    return LeaseIdTakenError(f"{lease_id} belongs to another request; nothing was stored, try the next salt")


def _submission(row: Row[Any]) -> Submission:
    return Submission(row.interaction, row.lease_id, REQUEST.load(row.request), row.at, row.started)
