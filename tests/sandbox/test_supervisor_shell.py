"""The way from a running sandbox to the command line: a file for the shell, and the row that names it."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lessor.sandbox import portplan, up
from lessor.sandbox.datadir import claimed
from lessor.sandbox.programs import Sandbox, lay_exports
from lessor.settings import read_settings

SHELLS = [name for name in ("sh", "bash", "zsh") if shutil.which(name)]
READ = "import json, os; print(json.dumps(dict(os.environ)))"
FROM_THE_SHELL = {
    "AWS_PROFILE": "production",
    "TEMPORAL_API_KEY": "key",
    "LESSOR_TEMPLATES": "/t",
    "SLACK_API_URL": "x",
}


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """In a directory whose name a shell would take apart."""
    with claimed(tmp_path / "it's $HOME", up.POLICY) as data:
        made = Sandbox(data, portplan.Ports(7410))
        lay_exports(made)
    return made


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_learns_what_lessors_own_programs_are_told_and_forgets_the_rest(shell: str, sandbox: Sandbox) -> None:
    seen = _environment(shell, sandbox, FROM_THE_SHELL)
    known = ("AWS_", "KUBE", "LESSOR_", "SLACK_", "TEMPORAL_")
    spoken_of = {name: value for name, value in seen.items() if name.startswith(known)}
    assert spoken_of == {**sandbox.settings, "LESSOR_USER": "U0MANAGER"}
    assert _environment(shell, sandbox, {}).items() >= sandbox.settings.items()


def test_the_command_line_finds_the_sandbox_from_anywhere(sandbox: Sandbox, tmp_path: Path) -> None:
    lessor = Path(sys.executable).with_name("lessor")
    script = '. "$1" && "$2" config check'
    ran = subprocess.run(
        ["sh", "-c", script, "sh", sandbox.data.exports, lessor],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith(f"{sandbox.data.config} is valid: ")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_without_the_environment_finds_lessor_and_keeps_what_it_found_before(
    shell: str, sandbox: Sandbox
) -> None:
    before = f"{sandbox.data.home}:/usr/bin:/bin"
    told = f"PATH={shlex.quote(before)}; . {shlex.quote(str(sandbox.data.exports))}; command -v lessor; echo $PATH"
    ran = subprocess.run([shell, "-c", told], env={}, capture_output=True, text=True, check=True)
    there = Path(sys.executable).parent
    assert ran.stdout.splitlines() == [str(there / "lessor"), f"{before}:{there}"]


def test_lessors_own_programs_accept_a_directory_that_a_shell_would_take_apart(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in sandbox.settings.items():
        monkeypatch.setenv(name, value)
    assert read_settings().database_url == f"sqlite:///{sandbox.data.root}/lessor.db"


def test_the_links_name_the_file(sandbox: Sandbox) -> None:
    told = io.StringIO()
    up.show_links(Console(file=told, highlight=False, width=300), sandbox)
    [row] = [line for line in told.getvalue().splitlines() if "Command line" in line]
    command, then = row.split("Command line", 1)[1].strip().rsplit("  ", 1)
    assert then == "then: lessor list --as U0REQUESTER"
    ran = subprocess.run(
        ["bash", "-c", f"{command.strip()} && echo $TEMPORAL_ADDRESS"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "127.0.0.1:7413\n"


def _environment(shell: str, sandbox: Sandbox, before: dict[str, str]) -> dict[str, str]:
    script = '. "$1" && "$2" -c "$3"'
    environment = {"PATH": "/usr/bin:/bin", **before, "LESSOR_USER": "U0MANAGER"}
    argv = [shell, "-c", script, shell, str(sandbox.data.exports), sys.executable, READ]
    ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    found: dict[str, str] = json.loads(ran.stdout)
    return found
