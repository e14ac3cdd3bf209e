"""Who holds how many GPUs. The domain judges; this module makes sure that it judges numbers nobody else is changing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from lessor.domain import quota
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL
from lessor.domain.quota import Quota, Reservation
from lessor.ledger.book import Book
from lessor.ledger.models import LEASES, RESERVATIONS, TEAMS

_COLUMNS = (RESERVATIONS.c.lease_id, RESERVATIONS.c.team, RESERVATIONS.c.model, RESERVATIONS.c.gpus)
_ALL = select(*_COLUMNS).order_by(RESERVATIONS.c.lease_id)
_OF_TEAM = _ALL.where(RESERVATIONS.c.team == bindparam("wanted"))
_OF_LEASE = select(*_COLUMNS).where(RESERVATIONS.c.lease_id == bindparam("lease"))
_RELEASE = delete(RESERVATIONS).where(RESERVATIONS.c.lease_id == bindparam("lease"))
_STATE = select(LEASES.c.state).where(LEASES.c.id == bindparam("lease"))


class SqlQuotaBook(Book):
    """`ports.QuotaBook` in SQL."""

    def reserve(self, wanted: Reservation, quotas: Sequence[Quota]) -> None:
        """Take GPUs in one transaction. The same reservation again changes nothing, another one for the same lease
        replaces the first if it fits.

        Raises `Refused`: "quota" with the numbers, or "wrong-state" when the ledger knows that the lease is over, so
        that an attempt that comes late takes GPUs that nobody would give back.
        """
        with self._db.write() as connection:
            before = connection.execute(_OF_LEASE, {"lease": wanted.lease_id}).one_or_none()
            if before is not None and Reservation(*before) == wanted:
                return
            self._lock(connection, {wanted.team, before.team if before is not None else wanted.team})
            _refuse_if_over(connection, wanted.lease_id)
            held = connection.execute(_OF_TEAM, {"wanted": wanted.team}).all()
            quota.check(wanted, quotas, [Reservation(*row) for row in held])
            connection.execute(self._take, _row(wanted))

    def release(self, lease_id: str) -> None:
        with self._db.write() as connection:
            connection.execute(_RELEASE, {"lease": lease_id})

    def held(self, team: str = "") -> tuple[Reservation, ...]:
        """What is held now, by lease id; of one team, or of all when `team` is empty."""
        with self._db.read() as connection:
            rows = connection.execute(_OF_TEAM, {"wanted": team}) if team else connection.execute(_ALL)
            return tuple(Reservation(*row) for row in rows)

    @cached_property
    def _take(self) -> Any:
        insert = self._db.insert(RESERVATIONS)
        new = {name: insert.excluded[name] for name in ("team", "model", "gpus")}
        return insert.on_conflict_do_update(index_elements=[RESERVATIONS.c.lease_id], set_=new)

    @cached_property
    def _touch_team(self) -> Any:
        insert = self._db.insert(TEAMS)
        return insert.on_conflict_do_update(index_elements=[TEAMS.c.team], set_={"team": insert.excluded.team})

    def _lock(self, connection: Connection, teams: Iterable[str]) -> None:
        # Writing the team's row locks it, whether it was there or not. Sorted: two that meet never wait for each other.
        for team in sorted(teams):
            connection.execute(self._touch_team, {"team": team})


def _refuse_if_over(connection: Connection, lease_id: str) -> None:
    state = connection.scalar(_STATE, {"lease": lease_id})
    if state in FINAL:
        raise Refused("wrong-state", f"{lease_id} is {state}: no GPUs were reserved for it; request a new lease")


def _row(wanted: Reservation) -> dict[str, object]:
    return {"lease_id": wanted.lease_id, "team": wanted.team, "model": wanted.model, "gpus": wanted.gpus}
