"""`make demo`, `make test` and `.ci/run`: what they call, and what they say on a machine that lacks something."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser import LISTED, working

ROOT = Path(__file__).parents[2]


def test_make_help_lists_the_commands() -> None:
    told = _run("make", "help").stdout
    for command in ("demo", "up", "test", "lint", "types", "unit", "e2e", "bench", "clean"):
        assert re.search(rf"^  make {command}\s+\w", told, re.MULTILINE), command


def test_make_test_runs_every_check_and_ends_with_pytest() -> None:
    # In a clone everything is old enough to be set up; here only the order of the commands matters.
    commands = _run("make", "--dry-run", "--always-make", "test").stdout
    order = [
        "uv sync",
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "get-browser.sh",
        "get-kube.sh",
        "pytest",
    ]
    places = [commands.index(step) for step in order]
    assert places == sorted(places)
    assert '&& KUBEBUILDER_ASSETS="$assets" .venv/bin/pytest ' in commands.strip().splitlines()[-1]
    assert "--locked" in commands


def test_what_ci_makes_beside_each_other_is_all_of_it_and_is_not_made_again() -> None:
    whole = _run("make", "--dry-run", "--always-make", "test").stdout.strip().splitlines()
    before = _run("make", "--dry-run", "--always-make", "ready").stdout.strip().splitlines()
    assert before == whole[:-1]
    assert _run("make", "--dry-run", "--assume-old=ready", "test").stdout.strip().splitlines() == whole[-1:]


def test_make_demo_installs_no_test_tools() -> None:
    commands = _run("make", "--dry-run", "--always-make", "demo").stdout
    assert "--extra sandbox" in commands
    assert "--group dev" not in commands
    assert commands.strip().splitlines()[-1] == ".venv/bin/lessor demo"


def test_make_up_moves_the_ports_where_that_is_asked_for() -> None:
    for words, ends in (((), "lessor up"), (("PORT_BASE=9000",), "lessor up --port-base 9000")):
        commands = _run("make", "--dry-run", "--always-make", "up", *words).stdout
        assert commands.strip().splitlines()[-1] == f".venv/bin/{ends}"


def test_ci_runs_the_same_command_and_skips_nothing() -> None:
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    text = ci.read_text()
    assert "set -euo pipefail" in text
    assert "export CI=true" in text
    assert text.rstrip().endswith("\nmake -j3 ready\nmake --assume-old=ready test")
    assert subprocess.run(["bash", "-n", str(ci)], check=False).returncode == 0


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_valid_for_a_plain_shell(script: Path) -> None:
    assert subprocess.run(["sh", "-n", str(script)], check=False).returncode == 0


def test_no_python_is_a_clear_message(tmp_path: Path) -> None:
    ran = _run("sh", "scripts/get-uv.sh", "", str(tmp_path / "env"), "0.0.0", check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("lessor needs Python 3.11 or newer and found none")
    assert "apt-get install python3 python3-venv" in ran.stderr


def test_a_python_without_pip_and_ensurepip_is_a_clear_message_for_those_who_are_not_root(tmp_path: Path) -> None:
    for name, text in {"python3": "exit 1", "id": "echo 1000"}.items():
        _program(tmp_path / name, text)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = _run("sh", "scripts/get-uv.sh", "python3", str(tmp_path / "env"), "0.0.0", check=False, environment=path)
    assert ran.returncode == 1
    assert "sudo apt-get install python3-venv" in ran.stderr
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize(
    ("works", "used"),
    [((True, True), "chromium"), ((False, True), "chromium-browser"), ((False, False), "playwright")],
)
def test_the_browser_that_is_found_is_the_one_that_the_tests_use(
    tmp_path: Path, works: tuple[bool, bool], used: str
) -> None:
    programs = [tmp_path / "chromium", tmp_path / "chromium-browser"]
    for program, fine in zip(programs, works, strict=True):
        _program(program, "exit 0" if fine else "exit 1")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    shutil.copy(ROOT / "scripts" / "get-browser.sh", scripts)
    (scripts / "browsers.txt").write_text("".join(f"{program}\n" for program in programs))
    _program(tmp_path / "id", "echo 1000")
    playwright = tmp_path / ".venv" / "bin" / "playwright"
    playwright.parent.mkdir(parents=True)
    _program(playwright, 'echo "playwright $*"')
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    told = _run("sh", "scripts/get-browser.sh", environment=path, folder=tmp_path).stdout
    assert told == ("playwright install chromium\n" if used == "playwright" else "")
    assert working([str(program) for program in programs]) == (None if told else str(tmp_path / used))


def test_the_browsers_that_are_looked_for_are_listed_once() -> None:
    assert LISTED.read_text().split() == ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
    assert "/usr/bin/" not in (ROOT / "scripts" / "get-browser.sh").read_text()


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(
    *argv: str, check: bool = True, environment: dict[str, str] | None = None, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    # Without what an outer make hands down, so that this one prints what it would by itself.
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    settings = {**clean, **(environment or {})}
    return subprocess.run(argv, cwd=folder, env=settings, capture_output=True, text=True, check=check, timeout=60)
