"""The ledger, whole: every book over one database, opened by URL."""

from __future__ import annotations

from lessor.ledger import schema
from lessor.ledger.absences import SqlAbsenceBook
from lessor.ledger.audit import SqlChain
from lessor.ledger.bookings import SqlBookingBook
from lessor.ledger.brake import SqlBrakeBook
from lessor.ledger.database import Database
from lessor.ledger.intents import SqlIntentLog
from lessor.ledger.leases import SqlLeaseBook
from lessor.ledger.messages import SqlMessageBook
from lessor.ledger.meter import SqlMeterBook
from lessor.ledger.quotas import SqlQuotaBook
from lessor.ledger.submissions import SqlSubmissions


class SqlLedger(
    SqlSubmissions,
    SqlLeaseBook,
    SqlChain,
    SqlQuotaBook,
    SqlIntentLog,
    SqlMessageBook,
    SqlAbsenceBook,
    SqlMeterBook,
    SqlBrakeBook,
    SqlBookingBook,
):
    """`ports.Ledger` over SQLite or PostgreSQL; safe to use from many threads. Close it when done."""

    @property
    def name(self) -> str:
        """Where it is kept, without the password."""
        return self._db.name

    def close(self) -> None:
        self._db.close()


def open_ledger(url: str, *, migrate: bool = True) -> SqlLedger:
    """The ledger at `url`: `sqlite:///path`, `sqlite://` (in memory, for tests) or `postgresql://...`.

    `migrate` brings the schema up to date first; otherwise a schema that does not fit is refused. Raises `ValueError`
    for a URL that cannot be used and `LedgerUnavailableError` when the database cannot be reached.
    """
    database = Database(url)
    try:
        if migrate:
            database.make_room()
            schema.bring_up(database)
        else:
            schema.require(database)
    except BaseException:
        database.close()
        raise
    return SqlLedger(database)
