"""Migrations: an empty database becomes what the models say, and back; two that come at once do not collide."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from lessor.domain.ladder import Brake
from lessor.domain.lease import Event
from lessor.domain.quota import Reservation
from lessor.ledger import SqlLedger, open_ledger, schema
from lessor.ledger.database import Database
from lessor.ledger.models import Base
from lessor.ports import LedgerUnavailableError
from tests.builders import ASKED, a_lease
from tests.servers import PostgresServer

TABLES = {
    "absences",
    "alembic_version",
    "bookings",
    "brakes",
    "budget_alerts",
    "chain_head",
    "commitments",
    "events",
    "intents",
    "leases",
    "machine_health",
    "messages",
    "meter_heard",
    "meter_hours",
    "meter_readings",
    "meter_ticks",
    "quota_scopes",
    "reservations",
    "resources",
    "stop_claims",
    "submissions",
}


@pytest.fixture(params=[pytest.param("sqlite"), pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty' / 'lessor.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create()
    yield server.url(name)
    server.drop(name)


def test_an_empty_database_is_brought_to_the_newest_schema(empty_url: str) -> None:
    open_ledger(empty_url).close()
    database = Database(empty_url)
    with database.read() as connection:
        assert set(inspect(connection).get_table_names()) == TABLES
        assert schema.version(connection) == schema.SCHEMA
        assert connection.execute(text("SELECT entries, hash FROM chain_head")).all() == [(0, "0" * 64)]
    database.close()


def test_the_schema_constant_names_the_newest_migration(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    with database.read() as connection:
        scripts = ScriptDirectory.from_config(schema.alembic_config(connection))
    database.close()
    assert scripts.get_heads() == [schema.SCHEMA]


def test_the_migrated_schema_is_what_the_models_say(ledger_url: str) -> None:
    database = Database(ledger_url)
    with database.write() as connection:
        command.check(schema.alembic_config(connection))
    database.close()


def test_going_down_leaves_nothing_and_going_up_again_works(empty_url: str) -> None:
    open_ledger(empty_url).close()
    database = Database(empty_url)
    with database.write() as connection:
        command.downgrade(schema.alembic_config(connection), "base")
    with database.write() as connection:
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        if not database.is_sqlite:
            functions = "SELECT proname FROM pg_proc WHERE proname LIKE 'lessor_%'"
            assert connection.execute(text(functions)).all() == []
        command.upgrade(schema.alembic_config(connection), "head")
    with database.read() as connection:
        assert set(inspect(connection).get_table_names()) == TABLES
    database.close()


def test_whoever_had_a_machine_before_may_be_in_it_until_that_is_seen_to_be_over(empty_url: str) -> None:
    database = Database(empty_url)
    database.make_room()
    at = "2026-11-28 09:00:00"
    row = f"'dgx-1', '0', '{at}', '{at}', 0, '%s', '{at}', '', '', '', '', '', '{at}', %s, NULL"
    phases = [("booked", False), ("held", True), ("stopped", True), ("ending", True), ("ended", True), ("held", False)]
    with database.write() as connection:
        command.upgrade(schema.alembic_config(connection), "0005")
        for lease, (phase, granted) in enumerate(phases):
            values = row % (phase, f"'{at}'" if granted else "NULL")
            connection.execute(text(f"INSERT INTO bookings VALUES ('pool', 'gpu-{lease}', {values})"))
    database.close()
    ledger = open_ledger(empty_url)
    kept = ledger.bookings("pool", datetime(2026, 1, 1, tzinfo=UTC))
    ledger.close()
    nine = datetime(2026, 11, 28, 9, tzinfo=UTC)
    found = [(one.phase.value, one.let_in_at) for one in kept]
    over = [("stopped", None), ("ending", nine), ("ended", None)]
    assert found == [("booked", None), ("held", nine), *over, ("held", nine)], "a grant may be on its way in the last"


def test_what_was_reserved_before_there_were_budgets_is_still_held(empty_url: str) -> None:
    database = Database(empty_url)
    database.make_room()
    with database.write() as connection:
        command.upgrade(schema.alembic_config(connection), "0002")
        connection.execute(text("INSERT INTO reservations VALUES ('gpu-00000001', 'ml', 'L4', 3)"))
    database.close()
    ledger = open_ledger(empty_url)
    assert ledger.held() == (Reservation("gpu-00000001", "ml", "L4", 3),)
    ledger.close()


def test_a_chain_from_before_the_meter_is_kept_protected_and_goes_on(empty_url: str) -> None:
    open_ledger(empty_url).close()
    database = Database(empty_url)
    with database.write() as connection:
        command.downgrade(schema.alembic_config(connection), "0003")
    SqlLedger(database).record(a_lease(), [Event("approved", ASKED, "U0MANAGER", {})])
    ledger = open_ledger(empty_url)
    ledger.set_brake(Brake(True, "U0ADMIN", ASKED, "the numbers look wrong"))
    assert [one.lease_id for one in ledger.export()] == ["gpu-7k3qxa2m", "fleet"]
    assert ledger.verify().problems == ()
    for statement in ("DELETE FROM events", "UPDATE events SET actor = 'U0EVIL'"):
        with pytest.raises(DBAPIError, match="append-only"), database.engine.begin() as connection:
            connection.execute(text(statement))
    ledger.close()
    database.close()


def test_eight_that_start_at_once_migrate_once(empty_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        ledgers = list(pool.map(open_ledger, [empty_url] * 8))
    for ledger in ledgers:
        assert ledger.verify().problems == ()
        ledger.close()


def test_a_migration_that_breaks_changes_nothing(empty_url: str) -> None:
    database = Database(empty_url)
    database.make_room()
    with database.write() as connection:
        connection.execute(text("CREATE TABLE messages (key TEXT)"))
    with pytest.raises(LedgerUnavailableError, match=r"messages.* already exists"):
        open_ledger(empty_url)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["messages"]
    database.close()


def test_an_empty_database_is_refused_without_migrations(empty_url: str) -> None:
    database = Database(empty_url)
    database.make_room()
    words = f"has schema none and this version needs {schema.SCHEMA}; open it once with"
    with pytest.raises(LedgerUnavailableError, match=words):
        open_ledger(empty_url, migrate=False)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(empty_url: str) -> None:
    open_ledger(empty_url).close()
    database = Database(empty_url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(LedgerUnavailableError, match=r"has schema 9999, unknown to this version; nothing was"):
        open_ledger(empty_url)
    with database.read() as connection:
        assert schema.version(connection) == "9999"
    database.close()


def test_the_migrations_are_part_of_the_package() -> None:
    package = Path(schema.__file__).parent / "migrations"
    assert (package / "env.py").exists()
    assert (package / "script.py.mako").exists()
    scripts = sorted(path.stem for path in (package / "versions").glob("[0-9]*.py"))
    assert scripts[-1].startswith(schema.SCHEMA)


def test_every_table_of_the_models_is_migrated() -> None:
    assert set(Base.metadata.tables) | {"alembic_version"} == TABLES
