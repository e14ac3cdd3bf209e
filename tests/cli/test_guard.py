"""`lessor guard` as people and schedulers call it: what it prints, its exit codes, and that it stays until told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.guarding.notebook import Notebook
from lessor.ledger import open_ledger

LESSOR = str(Path(sys.executable).with_name("lessor"))
HEALTH = Path(__file__).parents[2] / "deploy" / "docker" / "health.py"
POOL = """\
organisation:
  name: Example
  people: [{id: U0ADMIN}]
  teams: {ml: {lead: U0ADMIN}}
  admins: [U0ADMIN]
places:
  - name: pool
    provider: machines
    machines: {machines: [{name: dgx-1, model: A100-80GB, gpus: 8}]}
"""
Call = Callable[..., Result]


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lessor: Call) -> Call:
    """A pool that is empty, a ledger that answers, and a data directory of its own."""
    (tmp_path / "lessor.yaml").write_text(POOL)
    monkeypatch.setenv("LESSOR_DATA", str(tmp_path / "data"))
    open_ledger(f"sqlite:///{tmp_path}/ledger.db").close()
    return lessor


def test_one_look_that_finds_everything_well_ends_with_zero(guarded: Call, tmp_path: Path) -> None:
    ran = guarded("guard", "--once")
    assert (ran.exit_code, ran.output) == (0, "machines/pool: 0 leases\n")
    looked = json.loads((tmp_path / "data" / "guard.json").read_text())["looked_at"]
    assert datetime.now(UTC) - datetime.fromisoformat(looked) < timedelta(minutes=5)


def test_it_never_makes_a_ledger_where_there_is_none(guarded: Call, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").unlink()
    ran = guarded("guard", "--once", "--json")
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["trouble"]) == (1, True)
    assert told["places"] == [
        {
            "place": "machines/pool",
            "leases": 0,
            "problems": [
                f"there is no ledger at {tmp_path}/ledger.db; which lease has which machine and until when stands in "
                "the ledger only; the hooks know each end too"
            ],
        }
    ]
    assert not (tmp_path / "ledger.db").exists()


def test_a_dry_run_leaves_no_trace(guarded: Call, tmp_path: Path) -> None:
    ran = guarded("guard", "--dry-run")
    assert (ran.exit_code, ran.output) == (
        0,
        "machines/pool: 0 leases\nNothing was told or stopped, as you wished.\n",
    )
    assert not (tmp_path / "data" / "guard.json").exists()


def test_two_at_once_are_told_apart(guarded: Call, tmp_path: Path) -> None:
    with Notebook(tmp_path / "data" / "guard.json", lambda: datetime.now(UTC)).held():
        ran = guarded("guard", "--once")
    assert ran.exit_code == 1
    assert ran.stderr.startswith("lessor: another guard is looking right now")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--despite-brake"], "add --once"),
        (["--once", "--every", "5min"], "--every is for a guard that stays"),
        (["--every", "5"], "allowed: a number with s, min, h, d or w"),
        (["--every", "1s"], "allowed: 10 s to 1 h"),
    ],
)
def test_what_makes_no_sense_is_refused(guarded: Call, options: list[str], words: str) -> None:
    ran = guarded("guard", *options)
    assert ran.exit_code == 2
    assert words in " ".join(ran.stderr.split())


def test_a_configuration_that_cannot_be_used_is_one_of_use_only(guarded: Call, tmp_path: Path) -> None:
    (tmp_path / "lessor.yaml").write_text(f"{POOL}guard: {{tolerance: 20min}}\n")
    ran = guarded("guard", "--once")
    assert ran.exit_code == 2
    assert "guard.tolerance" in ran.stderr
    assert "it has to be 45 min at least" in ran.stderr


def test_it_stays_until_it_is_told_to_stop(guarded: Call, tmp_path: Path) -> None:
    told = {
        "PATH": os.environ["PATH"],
        "LESSOR_CONFIG": str(tmp_path / "lessor.yaml"),
        "LESSOR_DATA": str(tmp_path / "data"),
        "LESSOR_DATABASE_URL": f"sqlite:///{tmp_path}/ledger.db",
    }
    with subprocess.Popen(
        [LESSOR, "guard", "--every", "1h", "--json"],
        env=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = json.loads(running.stdout.readline())
        assert (first["trouble"], first["places"][0]["place"]) == (False, "machines/pool")
        healthy = subprocess.run([sys.executable, HEALTH, "guard"], env=told, capture_output=True, check=False)
        assert healthy.returncode == 0, healthy.stderr
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
        assert running.stderr.read() == ""


def test_a_guard_that_has_not_looked_for_long_is_not_healthy(guarded: Call, tmp_path: Path) -> None:
    guarded("guard", "--once")
    path = tmp_path / "data" / "guard.json"
    page = json.loads(path.read_text())
    page["looked_at"] = "2026-01-01T00:00:00+00:00"
    path.write_text(json.dumps(page))
    told = {"PATH": os.environ["PATH"], "LESSOR_CONFIG": str(tmp_path / "lessor.yaml"), "LESSOR_DATA": str(path.parent)}
    ran = subprocess.run([sys.executable, HEALTH, "guard"], env=told, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        1,
        "unhealthy: the guard has not looked since 2026-01-01 00:00:00+00:00\n",
    )
