"""Brings a database to the schema of this version, once, whoever comes first, and refuses one that is newer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from lessor.ledger.database import Database
from lessor.ports import LedgerUnavailableError

if TYPE_CHECKING:
    from alembic.config import Config

SCHEMA = "0006"
"""The newest migration, so that a database that is up to date is recognised without loading Alembic."""

SCRIPTS = "lessor.ledger:migrations"
MIGRATION_LOCK = 7_236_001


def bring_up(database: Database) -> None:
    """Migrate to `SCHEMA`. Processes that start at once wait for one another. Raises `LedgerUnavailableError`."""
    with database.read() as connection:
        if version(connection) == SCHEMA:
            return
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
        if version(connection) != SCHEMA:
            _upgrade(connection, database)


def require(database: Database) -> None:
    """Raise `LedgerUnavailableError` unless the database has the schema of this version."""
    with database.read() as connection:
        found = version(connection)
    if found != SCHEMA:
        raise LedgerUnavailableError(
            f"the ledger {database.name} has schema {found or 'none'} and this version needs {SCHEMA}; "
            "open it once with migrations, as `lessor up` and the worker do"
        )


def version(connection: Connection) -> str | None:
    """The migration that the database stands at; `None` when it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings for migrations over an open connection; scripts are read from the installed package."""
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", SCRIPTS)
    return config


def _upgrade(connection: Connection, database: Database) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = alembic_config(connection)
    found = version(connection)
    if found is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(found)
        except CommandError as error:
            raise LedgerUnavailableError(
                f"the ledger {database.name} has schema {found}, unknown to this version; nothing was changed. "
                "Run the version of lessor that wrote it, or a newer one"
            ) from error
    try:
        command.upgrade(config, "head")
    except DBAPIError as error:
        raise database.outage(error) from error
