"""What holds stops for being idle back, and who may stop: decided in one transaction, so that no two take the last.

The brake has entries in the chain under a subject of its own, since it is no lease's matter.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from lessor.domain.braking import spelled
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, minute
from lessor.domain.records import FLEET
from lessor.ledger.appending import append
from lessor.ledger.book import Book
from lessor.ledger.chain import canonical
from lessor.ledger.meter_models import BRAKES, STOP_CLAIMS
from lessor.ledger.snapshots import digest

STOPS_LOCK = 7_236_002
NO_TIME = "a brake is put on or taken off at a time"

_BRAKE = select(BRAKES).where(BRAKES.c.subject == FLEET)
_CLAIMED = select(STOP_CLAIMS.c.at).where(
    STOP_CLAIMS.c.lease_id == bindparam("lease"), STOP_CLAIMS.c.at >= bindparam("since")
)
_COUNT = select(func.count()).select_from(STOP_CLAIMS).where(STOP_CLAIMS.c.at >= bindparam("since"))


class SqlBrakeBook(Book):
    """`ports.BrakeBook` in SQL."""

    def brake(self) -> Brake:
        with self._db.read() as connection:
            return _brake(connection)[1]

    def set_brake(self, brake: Brake) -> None:
        """Store it together with its entry in the chain. Raises `ValueError` without a time."""
        if brake.at is None:
            raise ValueError(NO_TIME)
        with self._db.write() as connection:
            self._db.alone(connection, STOPS_LOCK)
            revision = _brake(connection)[0] + 1
            connection.execute(self._put_brake, brake_row(revision, brake))
            event = Event("brake-on" if brake.on else "brake-off", brake.at, brake.by, {"reason": brake.reason})
            append(connection, FLEET, revision, (event,), fingerprint(revision, brake))

    def claim_stop(self, lease_id: str, at: datetime, since: datetime, most: int) -> str:
        """Take one of `most` stops since then; a lease that has one needs no other. Why not, or empty."""
        with self._db.write() as connection:
            self._db.alone(connection, STOPS_LOCK)
            brake = _brake(connection)[1]
            if brake.on:
                return spelled(brake)
            if connection.execute(_CLAIMED, {"lease": lease_id, "since": since}).first() is not None:
                return ""
            taken = connection.scalar(_COUNT, {"since": since}) or 0
            if taken >= most:
                return f"{taken} leases were stopped since {minute(since)}, and no more than {most} may be"
            connection.execute(STOP_CLAIMS.insert(), {"lease_id": lease_id, "at": at})
        return ""

    @cached_property
    def _put_brake(self) -> Any:
        insert = self._db.insert(BRAKES)
        new = {c.name: insert.excluded[c.name] for c in BRAKES.c if c.name != "subject"}
        return insert.on_conflict_do_update(index_elements=[BRAKES.c.subject], set_=new)


def brake_row(revision: int, brake: Brake) -> dict[str, Any]:
    named = {"held": brake.on, "actor": brake.by, "at": brake.at, "reason": brake.reason, "doubt": brake.doubt}
    return {"subject": FLEET, "revision": revision, **named}


def fingerprint(revision: int, brake: Brake) -> str:
    """What the chain says of the brake as it is stored, so that an edit of it is found."""
    row = brake_row(revision, brake)
    row["at"] = brake.at.isoformat(timespec="microseconds") if brake.at else None
    return digest(canonical(row))


def stored(row: Row[Any]) -> Brake:
    return Brake(row.held, row.actor, row.at, row.reason, row.doubt)


def _brake(connection: Connection) -> tuple[int, Brake]:
    """The revision it stands at, 0 before it was ever set, and the brake."""
    row = connection.execute(_BRAKE).one_or_none()
    return (row.revision, stored(row)) if row else (0, Brake())
