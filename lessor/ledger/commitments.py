"""Rows of what leases take of each month: written whole for one lease, read by month for those whom it counts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Label, Table, bindparam, case, delete, func, or_, select

from lessor.domain.budget import Commitment, Entry, Metering
from lessor.domain.quota import Account
from lessor.domain.settling import settle
from lessor.ledger.database import Database
from lessor.ledger.models import COMMITMENTS as C

IF_CONCERNED = ("its_project", "its_person")


def if_concerned(table: Table) -> tuple[Label[str], ...]:
    """Project and person of a row where they are those that are asked for; so that sums have few rows."""
    project, person = table.c.project, table.c.person
    return (
        case((project == bindparam("of_project"), project), else_="").label("its_project"),
        case((person == bindparam("of_person"), person), else_="").label("its_person"),
    )


_FIGURES = ("time", "money", "ahead_time", "ahead_money", "ahead_from", "ahead_to", "running")
_WHOSE = ("team", "project", "person", "model", "currency")
_KEY = ("lease_id", "month", "part")
_ALL = select(*(C.c[name] for name in (*_KEY, *_WHOSE, *_FIGURES)))
_OF_LEASE = _ALL.where(C.c.lease_id == bindparam("lease"))
_CONCERNED = or_(
    C.c.team == bindparam("of_team"), C.c.project == bindparam("of_project"), C.c.person == bindparam("of_person")
)
_IN_MONTHS = (
    C.c.month.in_(bindparam("months", expanding=True)),
    _CONCERNED,
    C.c.lease_id != bindparam("but"),
)
_ENTRIES = _ALL.where(*_IN_MONTHS).order_by(C.c.lease_id, C.c.month, C.c.part)
_SUMS = (
    select(
        C.c.month,
        C.c.team,
        *if_concerned(C),
        C.c.model,
        C.c.currency,
        func.sum(C.c.time),
        func.sum(C.c.money),
        func.count() - func.count(C.c.money),
    )
    .where(*_IN_MONTHS)
    .group_by(C.c.month, C.c.team, *IF_CONCERNED, C.c.model, C.c.currency)
)
_DROP = delete(C).where(
    C.c.lease_id == bindparam("lease"), C.c.month == bindparam("in_month"), C.c.part == bindparam("of_part")
)
_FORGET = delete(C).where(
    C.c.lease_id == bindparam("lease"), C.c.time == C.c.ahead_time, C.c.ahead_time > 0, C.c.running.is_(False)
)


@dataclass(frozen=True)
class Settled:
    """The entries of one lease before and after it is recorded anew."""

    before: Sequence[Entry]
    after: Sequence[Entry]

    def more(self, metering: Metering) -> Metering:
        """What its account has with it from now on, of those open months of which it takes more than before."""
        mine = [e.commitment for e in self.after if e.account == metering.account]
        had = [e.commitment for e in self.before if e.account == metering.account]
        grown = {c.month for c in mine if c.month >= metering.current and _grows(c.month, had, mine)}
        return replace(metering, commitments=tuple(c for c in mine if c.month in grown))


class CommitmentTable:
    """Reads and writes inside the transactions of the books."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def settled(self, connection: Connection, lease_id: str, metering: Metering, *, fresh: bool = False) -> Settled:
        """What the lease has on record, and what it will have; closed months and former accounts keep theirs.

        Nothing is looked up for a `fresh` lease, which has nothing on record.
        """
        before = [] if fresh else self.of_lease(connection, lease_id)
        return Settled(before, settle(lease_id, before, metering))

    def write(self, connection: Connection, found: Settled) -> None:
        """Store what is different."""
        old = {_key(entry): entry for entry in found.before}
        new = {_key(entry): entry for entry in found.after}
        gone = [{"lease": key[0], "in_month": key[1], "of_part": key[2]} for key in old if key not in new]
        if gone:
            connection.execute(_DROP, gone)
        changed = [_row(entry) for key, entry in new.items() if old.get(key) != entry]
        if changed:
            connection.execute(self._store, changed)

    def forget(self, connection: Connection, lease_id: str) -> None:
        """Drop what was only planned and never began."""
        connection.execute(_FORGET, {"lease": lease_id})

    def of_lease(self, connection: Connection, lease_id: str) -> list[Entry]:
        return [_entry(row) for row in connection.execute(_OF_LEASE, {"lease": lease_id})]

    def entries(
        self, connection: Connection, account: Account, months: Iterable[str], but: str = ""
    ) -> tuple[Entry, ...]:
        """Everything in these months that counts for the account's team, project or person, except one lease."""
        return tuple(_entry(row) for row in connection.execute(_ENTRIES, _filter(account, months, but)))

    def sums(self, connection: Connection, account: Account, months: Iterable[str], but: str) -> tuple[Entry, ...]:
        """The same added up, without telling use from plan or others' projects apart: quick, however many leases."""
        return tuple(_sum(row) for row in connection.execute(_SUMS, _filter(account, months, but)))

    @cached_property
    def _store(self) -> Any:
        insert = self._db.insert(C)
        new = {name: insert.excluded[name] for name in (*_WHOSE, *_FIGURES)}
        return insert.on_conflict_do_update(index_elements=[C.c[name] for name in _KEY], set_=new)


def concerning(account: Account) -> dict[str, str | None]:
    """Parameters that match nothing where the account has no project or person: empty is nobody's."""
    return {
        "of_team": account.team or None,
        "of_project": account.project or None,
        "of_person": account.person or None,
    }


def _grows(month: str, had: Iterable[Commitment], has: Iterable[Commitment]) -> bool:
    before, after = [c for c in had if c.month == month], [c for c in has if c.month == month]
    if sum(c.time for c in after) > sum(c.time for c in before):
        return True
    unknown = any(c.money is None for c in before)
    return not unknown and (
        any(c.money is None for c in after) or sum(c.money or 0 for c in after) > sum(c.money or 0 for c in before)
    )


def _filter(account: Account, months: Iterable[str], but: str) -> dict[str, object]:
    return {**concerning(account), "months": list(months), "but": but}


def _key(entry: Entry) -> tuple[str, str, int]:
    return entry.lease_id, entry.commitment.month, entry.part


def _row(entry: Entry) -> dict[str, object]:
    account, one = entry.account, entry.commitment
    row: dict[str, object] = {"lease_id": entry.lease_id, "month": one.month, "part": entry.part}
    row |= {"team": account.team, "project": account.project, "person": account.person}
    row |= {"model": entry.model, "currency": entry.currency}
    return row | {name: getattr(one, name) for name in _FIGURES}


def _entry(row: Any) -> Entry:
    lease_id, month, part, team, project, person, model, currency = row[:8]
    figures: Sequence[Any] = row[8:]
    return Entry(lease_id, Account(team, project, person), model, currency, Commitment(month, *figures), part)


def _sum(row: Any) -> Entry:
    month, team, project, person, model, currency, time, money, unknown = row
    total = None if unknown else int(money)
    return Entry("", Account(team, project, person), model, currency, Commitment(month, int(time), total))
