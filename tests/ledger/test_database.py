"""A database that is away, locked or wrong says so in one line that names no secret, and comes back by itself."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, OperationalError

from lessor.domain.lease import Event
from lessor.domain.quota import Reservation
from lessor.ledger import SqlLedger, database, open_ledger
from lessor.ledger.database import Database
from lessor.ports import LedgerUnavailableError
from tests.builders import ASKED, a_lease, a_story
from tests.servers import PostgresServer

NOTE = Event("note", ASKED, "lessor", {})


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that nobody answers on: bound, and not listening."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_server_that_is_away_is_said_in_one_line_without_the_password(closed_port: int) -> None:
    url = f"postgresql://lessor:s3cret%40x@127.0.0.1:{closed_port}/lessor?sslpassword=s3cret2&connect_timeout=2"
    with pytest.raises(LedgerUnavailableError) as error:
        open_ledger(url)
    said = str(error.value)
    assert said.startswith(
        f"the ledger postgresql+psycopg://lessor:***@127.0.0.1:{closed_port}/lessor cannot be used: "
    )
    assert said.endswith("; nothing was stored")
    assert "\n" not in said
    assert "s3cret" not in said


def test_the_password_is_taken_out_of_what_the_driver_says(closed_port: int) -> None:
    away = Database(f"postgresql://lessor:s3cret@127.0.0.1:{closed_port}/lessor")
    error = OperationalError("SELECT 1", {}, Exception('connection failed: host "s3cret" is unknown\nHint'))
    assert str(away.outage(error)).endswith(
        'cannot be used: connection failed: host "***" is unknown; nothing was stored'
    )
    away.close()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("not a url with pa55word", "the address of the ledger cannot be read; allowed: sqlite:///path/to/lessor.db, "),
        ("", "the address of the ledger cannot be read; allowed: "),
        ("mysql://lessor:pa55word@host/db", "the ledger cannot be kept in mysql; allowed: "),
        ("postgresql+asyncpg://lessor:pa55word@host/db", "the ledger cannot be kept in postgresql+asyncpg; allowed: "),
        ("sqlite+aiosqlite:///x.db", "the ledger cannot be kept in sqlite+aiosqlite; allowed: "),
        (
            "postgresql://lessor:p@55word/pa55word@host/db",
            "the address of the ledger has an @ too many: write special ",
        ),
        ("postgresql://lessor:pa55word@host:port/db", "the address of the ledger cannot be read; allowed: "),
    ],
)
def test_an_address_that_cannot_be_used_says_what_is_allowed(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match="allowed: ") as error:
        open_ledger(url)
    assert str(error.value).startswith(problem)
    assert "pa55word" not in str(error.value)


@pytest.mark.postgres
def test_both_spellings_of_a_postgresql_address_mean_the_same(postgres_url: str) -> None:
    for url in (postgres_url, postgres_url.replace("postgresql://", "postgresql+psycopg://")):
        ledger = open_ledger(url)
        assert ledger.name.startswith("postgresql+psycopg://postgres@/test_")
        assert "?" not in ledger.name
        ledger.close()


def test_the_directory_of_an_sqlite_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "data" / "lessor.db"
    open_ledger(f"sqlite:///{path}").close()
    assert path.exists()


def test_a_place_where_no_file_can_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerUnavailableError, match=r"cannot be used: its directory cannot be made: "):
        open_ledger(f"sqlite:///{tmp_path / 'file' / 'lessor.db'}")
    with pytest.raises(
        LedgerUnavailableError, match=r"cannot be used: unable to open database file; nothing was stored"
    ):
        open_ledger(f"sqlite:///{tmp_path / 'missing' / 'lessor.db'}", migrate=False)


def test_a_file_that_is_no_database_is_said_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lessor.db"
    path.write_text("these are my notes, not a database\n" * 100)
    with pytest.raises(LedgerUnavailableError, match="cannot be used: file is not a database"):
        open_ledger(f"sqlite:///{path}")
    assert path.read_text().startswith("these are my notes")


def test_sqlite_is_set_up_for_many_readers_and_one_writer(sqlite_url: str) -> None:
    opened = Database(sqlite_url)
    with opened.read() as connection:
        found = {p: connection.execute(text(f"PRAGMA {p}")).scalar() for p in ("journal_mode", "foreign_keys")}
        assert found == {"journal_mode": "wal", "foreign_keys": 1}
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 1
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 10_000
    opened.close()


def test_a_lock_held_by_another_program_is_waited_for_and_then_said(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_SECONDS", 0.02)
    ledger = open_ledger(sqlite_url)
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailableError, match="cannot be used: database is locked; nothing was stored"):
        ledger.record(a_lease(), [NOTE])
    assert ledger.lease(a_lease().id) is None
    other.execute("ROLLBACK")
    other.close()
    ledger.record(a_lease(), [NOTE])
    assert ledger.lease(a_lease().id) == a_lease()
    ledger.close()


def test_a_writer_that_takes_too_long_in_this_process_is_said(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_SECONDS", 0.02)
    opened = Database(sqlite_url)
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with opened.write():
            begun.set()
            done.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        begun.wait()
        with pytest.raises(LedgerUnavailableError, match="is locked by a long transaction; nothing"), opened.write():
            pass
        with opened.read() as connection:
            assert connection.execute(text("SELECT count(*) FROM leases")).scalar() == 0
        done.set()
    opened.close()


@pytest.mark.postgres
def test_a_row_locked_by_another_program_is_waited_for_and_then_said(
    postgres_url: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_SECONDS", 0.02)
    ledger = open_ledger(postgres_url)
    name = str(make_url(postgres_url).database)
    with postgres_server.connect(name) as other, other.transaction():
        other.execute("SELECT * FROM chain_head FOR UPDATE")
        with pytest.raises(LedgerUnavailableError, match="canceling statement due to lock timeout; nothing was stored"):
            ledger.record(a_lease(), [NOTE])
    assert ledger.lease(a_lease().id) is None
    ledger.record(a_lease(), [NOTE])
    assert ledger.verify().problems == ()
    ledger.close()


@pytest.mark.postgres
def test_connections_that_the_server_cut_are_replaced(
    postgres_url: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(postgres_url)
    name = str(make_url(postgres_url).database)
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ledger.record(a_lease(), [NOTE])
    postgres_server.execute(cut)
    with pytest.raises(LedgerUnavailableError, match="nothing was stored"):
        ledger.held()
    assert ledger.held() == ()
    postgres_server.execute(cut)
    monkeypatch.setattr(database, "IDLE_SECONDS", 0)
    assert ledger.lease(a_lease().id) == a_lease()
    ledger.close()


@pytest.mark.postgres
def test_missing_rights_are_said(postgres_server: PostgresServer) -> None:
    name = postgres_server.create()
    postgres_server.execute("CREATE ROLE guest LOGIN")
    url = postgres_server.url(name).replace("postgres@", "guest@")
    with pytest.raises(LedgerUnavailableError, match="cannot be used: permission denied for schema public"):
        open_ledger(url)
    postgres_server.drop(name)
    with pytest.raises(LedgerUnavailableError, match=f'database "{name}" does not exist'):
        open_ledger(url)
    postgres_server.execute("DROP ROLE guest")


def test_tables_that_are_missing_are_said(tmp_path: Path, postgres_server: PostgresServer) -> None:
    name = postgres_server.create()
    for url in (f"sqlite:///{tmp_path / 'lessor.db'}", postgres_server.url(name)):
        ledger = open_ledger(url)
        opened = Database(url)
        with opened.write() as connection:
            connection.execute(text("DROP TABLE reservations"))
        opened.close()
        with pytest.raises(LedgerUnavailableError, match=r"cannot be used: .*reservations"):
            ledger.held()
        ledger.close()
    postgres_server.drop(name)


def test_a_ledger_in_memory_is_one_for_all_threads() -> None:
    ledger = open_ledger("sqlite://")

    def live(number: int) -> int:
        lease, events = a_story(id=f"gpu-{number:08}")
        ledger.record(lease, events)
        return len(ledger.events(lease.id))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(live, range(40))) == {len(a_story()[1])}
    assert ledger.verify().problems == ()
    ledger.close()
    other = open_ledger("sqlite://")
    assert other.verify().events == 0
    other.close()


def test_an_export_that_is_left_half_read_holds_nobody_up() -> None:
    ledger = open_ledger("sqlite://")
    ledger.record(a_lease(), [NOTE, NOTE])
    stream = iter(ledger.export())
    next(stream)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ledger.record, *a_story(id="gpu-00000002")).result(timeout=60)
    assert [s.seq for s in stream] == [2]
    ledger.close()


def test_the_error_of_a_statement_names_no_values(ledger: SqlLedger) -> None:
    with pytest.raises(IntegrityError, match="not_negative") as error:
        ledger.reserve(Reservation("gpu-00000001", "a-confidential-team", "A100-80GB", -1), ())
    assert "parameters hidden" in str(error.value)
    assert ledger.held() == ()
