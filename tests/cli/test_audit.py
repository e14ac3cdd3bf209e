"""The record from the command line: a real ledger, whole and tampered with."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lessor.cli.app import app
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


EMPTY = "the ledger {} holds no events yet"


def test_a_ledger_that_does_not_exist_is_refused_and_not_made(lessor: Lessor, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    remedy = "nothing was made: set LESSOR_DATABASE_URL, or go to the folder whose .lessor has it"
    for command in ("verify", "export"):
        result = lessor("audit", command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == f"lessor: there is no ledger {path}; {remedy}\n"
        facts = json.loads(lessor("audit", command, "--json").stdout)
        assert (facts["ok"], facts["code"]) == (False, "no-ledger")
    assert [one.name for one in tmp_path.iterdir()] == ["lessor.yaml"]


def test_without_a_setting_the_folder_itself_is_named_and_stays_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in os.environ if one.startswith("LESSOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["audit", "verify"])
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert result.stderr.startswith(f"lessor: there is no ledger {tmp_path}/.lessor/lessor.db; nothing was made")


def test_a_record_without_events_is_not_called_whole(lessor: Lessor, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(f"sqlite:///{path}").close()
    result = lessor("audit", "verify")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"lessor: {EMPTY.format(path)}, so there is nothing to verify\n"
    facts = json.loads(lessor("audit", "verify", "--json").stdout)
    assert (facts["ok"], facts["code"]) == (False, "no-events")
    assert facts["message"].startswith(EMPTY.format(path))


def test_an_export_without_events_says_so_beside_it(lessor: Lessor, tmp_path: Path) -> None:
    path, target = tmp_path / "ledger.db", tmp_path / "events.jsonl"
    open_ledger(f"sqlite:///{path}").close()
    result = lessor("audit", "export")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"lessor: {EMPTY.format(path)}\n")
    written = lessor("audit", "export", "--output", str(target))
    assert (written.stdout, written.stderr) == (f"0 events are in {target}\n", f"lessor: {EMPTY.format(path)}\n")
    assert target.read_text(encoding="utf-8") == ""


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
