"""What all tests share: the databases that a ledger can live in, and the simulated AWS, of which a process has one."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from lessor.ledger import SqlLedger, open_ledger
from lessor.sandbox.aws.server import RunningSimulator, running_aws_simulator
from tests import spreading
from tests.servers import PostgresServer, postgres

# Time says nothing about correctness on a shared machine; in CI the examples are the same in each run.
settings.register_profile(
    "lessor", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=os.environ.get("CI") == "true"
)
settings.load_profile("lessor")

# A shell that starts us in the background has us ignore Ctrl-C, and the programs that tests interrupt would as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = spreading.in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> spreading.Spread | None:
    return spreading.scheduler(config, log)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After each file, look for garbage, and never again among what is left.

    A process that has run thousands of tests would stop for seconds to look through all that they loaded, and a
    workflow that is held up for two seconds counts as stuck.
    """
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def collector() -> Iterator[None]:
    """For tests of when garbage is searched for: Python searches as before in the next test."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


BOTH = [pytest.param("sqlite"), pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def running_aws() -> Iterator[RunningSimulator]:
    """The simulated AWS of this process; reset it before each test."""
    with running_aws_simulator() as simulator:
        yield simulator


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for all tests of a process, started when the first test needs it."""
    try:
        with postgres() as server:
            yield server
    except FileNotFoundError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def _postgres_database(postgres_server: PostgresServer) -> str:
    name = postgres_server.create()
    open_ledger(postgres_server.url(name)).close()
    return name


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "template.db"
    open_ledger(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, _postgres_database: str) -> str:
    """The address of an empty, migrated PostgreSQL database; its schema is shared and must not be changed."""
    postgres_server.empty(_postgres_database)
    return postgres_server.url(_postgres_database)


@pytest.fixture
def sqlite_url(tmp_path: Path, _sqlite_template: Path) -> str:
    """The address of an empty, migrated SQLite database."""
    return f"sqlite:///{shutil.copy(_sqlite_template, tmp_path / 'lessor.db')}"


@pytest.fixture(params=BOTH)
def ledger_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty, migrated database; the test runs once for each kind."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[SqlLedger]:
    """An empty ledger; the test runs once for each kind of database."""
    opened = open_ledger(ledger_url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_ledger(sqlite_url: str) -> Iterator[SqlLedger]:
    """An empty ledger in SQLite, for tests of what does not depend on the database."""
    opened = open_ledger(sqlite_url)
    yield opened
    opened.close()
