"""The record from the command line: a real ledger, whole and tampered with."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.domain import transitions
from lessor.ledger import open_ledger
from tests.builders import ASKED, LEASE_ID, a_request

Lessor = Callable[..., Result]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A ledger with one event."""
    path = tmp_path / "ledger.db"
    with closing(open_ledger(f"sqlite:///{path}")) as ledger:
        change = transitions.submit(LEASE_ID, a_request(), ASKED)
        ledger.record(change.lease, change.events)
    return path


def test_a_whole_record(lessor: Lessor, record: Path) -> None:
    result = lessor("audit", "verify")
    assert result.exit_code == 0
    assert result.stdout.startswith("The record is whole: 1 events, the last hash is ")
    assert json.loads(lessor("audit", "verify", "--json").stdout)["ok"] is True


def test_an_edited_record_is_found(lessor: Lessor, record: Path) -> None:
    with closing(sqlite3.connect(record)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        events = next(name for name in tables if "event" in name)
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {trigger}")
        database.execute(f"UPDATE {events} SET actor = 'U0SOMEBODY'")
        database.commit()
    result = lessor("audit", "verify")
    assert result.exit_code == 1
    assert result.stderr.startswith("lessor: ")
    assert json.loads(lessor("audit", "verify", "--json").stdout)["problems"]


def test_export_gives_one_object_a_line(lessor: Lessor, record: Path, tmp_path: Path) -> None:
    [line] = lessor("audit", "export").stdout.splitlines()
    exported = json.loads(line)
    assert (exported["seq"], exported["lease_id"], exported["type"]) == (1, LEASE_ID, "requested")
    target = tmp_path / "events.jsonl"
    assert lessor("audit", "export", "--output", str(target)).stdout == f"1 events are in {target}\n"
    assert target.read_text(encoding="utf-8") == line + "\n"
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_an_output_that_cannot_be_written(lessor: Lessor, record: Path, tmp_path: Path) -> None:
    result = lessor("audit", "export", "--output", str(tmp_path / "none" / "x"))
    assert result.exit_code == 1
    assert result.stderr.endswith("cannot be written: No such file or directory; choose another --output\n")
