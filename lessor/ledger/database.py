"""One database, two kinds: how lessor connects, begins, waits for locks, and what it says when the database is away.

SQLite (one machine): write-ahead log, writers take the lock when they begin and queue inside the process.
PostgreSQL (many processes): psycopg 3, rows are locked where two may meet.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    DisconnectionError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from lessor.ports import LedgerUnavailableError

LOCK_WAIT_SECONDS = 10
SWITCH_PAUSE_SECONDS = 0.02
CONNECT_SECONDS = 5
IDLE_SECONDS = 5
WRITES = "lessor_writes"
ALLOWED = "allowed: sqlite:///path/to/lessor.db, postgresql://user:password@host:5432/database"

DENIED_OR_MISSING = ("42501", "42P01")
"""PostgreSQL's codes for a right that is missing and a table that is missing: the database is not ready for us."""


class Database:
    """Connections to one database, safe to use from many threads. Nothing is opened before the first transaction."""

    def __init__(self, url: str) -> None:
        self.url = _parse(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.in_memory = self.is_sqlite and self.url.database in (None, "", ":memory:")
        self.engine = self._sqlite_engine() if self.is_sqlite else self._postgres_engine()
        self._writing = self.engine.execution_options(**{WRITES: True})
        # One statement is a transaction of its own: reads on PostgreSQL need not begin and end one.
        self._reading = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The database in words, without password and options."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """For statements that only read. Raises `LedgerUnavailableError`."""
        # In memory all threads share one connection, so that readers have to queue as well.
        with self._errors(), self._turn() if self.in_memory else nullcontext(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes, whole or not at all. Raises `LedgerUnavailableError`; then nothing was stored."""
        turn = self._turn() if self.is_sqlite else nullcontext()
        with self._errors(), turn, self._writing.begin() as connection:
            yield connection

    def alone(self, connection: Connection, what: int) -> None:
        """Wait until no other transaction that asked for `what` is open; `connection` is one that writes."""
        # SQLite's writers have the database to themselves.
        if not self.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:what)"), {"what": what})

    def insert(self, into: Table) -> Any:
        """An INSERT that knows ON CONFLICT, in the words of this database."""
        return sqlite.insert(into) if self.is_sqlite else postgresql.insert(into)

    def outage(self, error: DBAPIError) -> LedgerUnavailableError:
        """What the driver said, in one line, without the password."""
        lines = str(error.orig).strip().splitlines()
        reason = lines[0] if lines else type(error.orig).__name__
        if self.url.password:
            reason = reason.replace(str(self.url.password), "***")
        return LedgerUnavailableError(f"the ledger {self.name} cannot be used: {reason}; nothing was stored")

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # SQLite's own waiting polls; a queue in the process is faster and lets nobody starve.
        if not self._lock.acquire(timeout=LOCK_WAIT_SECONDS):
            raise LedgerUnavailableError(f"the ledger {self.name} is locked by a long transaction; nothing was stored")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeoutError as error:
            raise LedgerUnavailableError(f"all connections to the ledger {self.name} are busy; try again") from error
        except DBAPIError as error:
            if not _is_outage(error):
                raise
            raise self.outage(error) from error

    def _sqlite_engine(self) -> Engine:
        arguments: dict[str, Any] = {"check_same_thread": False, "timeout": LOCK_WAIT_SECONDS}
        options: dict[str, Any] = {"connect_args": arguments, "hide_parameters": True}
        if self.in_memory:
            options["poolclass"] = StaticPool
        else:
            options |= {"pool_size": 8, "max_overflow": 24, "pool_timeout": LOCK_WAIT_SECONDS}
        engine = create_engine(self.url, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def make_room(self) -> None:
        """Make the directory of an SQLite file. Raises `LedgerUnavailableError` when that is not possible."""
        if self.is_sqlite and not self.in_memory:
            try:
                Path(str(self.url.database)).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = f"its directory cannot be made: {error.strerror}"
                raise LedgerUnavailableError(f"the ledger {self.name} cannot be used: {reason}") from error

    def _postgres_engine(self) -> Engine:
        engine = create_engine(
            self.url,
            connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "lessor"},
            hide_parameters=True,
            pool_size=8,
            max_overflow=8,
            pool_timeout=LOCK_WAIT_SECONDS,
        )
        event.listen(engine, "connect", _prepare_postgres)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _look_if_alive)
        return engine


def sqlite_file(url: str) -> Path | None:
    """The whole path of the SQLite file that `url` names; `None` for every other ledger. Raises `ValueError`."""
    parsed = _parse(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        return None
    return Path(str(parsed.database)).absolute()


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is not repeated: it may hold a password.
        raise ValueError(f"the address of the ledger cannot be read; {ALLOWED}") from None
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        if "@" in f"{url.host}{url.database}":
            raise ValueError(
                "the address of the ledger has an @ too many: write special characters of the password in percent "
                f"encoding, such as %40 for @; {ALLOWED}"
            )
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return url.set(drivername="sqlite")
    raise ValueError(f"the ledger cannot be kept in {url.drivername}; {ALLOWED}")


def _is_outage(error: DBAPIError) -> bool:
    """Away, locked, full, damaged or refused, as opposed to a statement that is wrong."""
    if isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError:
        return True
    # Without a statement it was the connecting that failed.
    denied = error.statement is None or getattr(error.orig, "sqlstate", "") in DENIED_OR_MISSING
    return isinstance(error, ProgrammingError) and denied


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # Without this the driver begins transactions by itself, too late and never for reads or DDL.
    connection.isolation_level = None
    cursor = connection.cursor()
    _use_write_ahead_log(cursor)
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _use_write_ahead_log(cursor: sqlite3.Cursor) -> None:
    # The switch needs the file alone, and SQLite's own waiting for locks does not cover it.
    give_up = monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > give_up:
                raise
            sleep(SWITCH_PAUSE_SECONDS)


def _begin_sqlite(connection: Connection) -> None:
    # One statement is a transaction of its own: reads need not begin one, as on PostgreSQL.
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _prepare_postgres(connection: Any, _: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_WAIT_SECONDS}s'")
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _note_use(connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["used"] = monotonic()


def _look_if_alive(connection: Any, record: ConnectionPoolEntry, proxy: object) -> None:
    # A connection that lay idle may have been cut meanwhile; asking each time would double the cost of every call.
    if monotonic() - record.info.get("used", monotonic()) < IDLE_SECONDS:
        return
    import psycopg

    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error as error:
        raise DisconnectionError("the server closed this connection; the pool opens another") from error
