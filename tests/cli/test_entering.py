"""`lessor access`: how to get in is told, and the file that lets one in is written for its owner alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.provisioning import Credentials
from tests.builders import ACCESS, LEASE_ID, a_lease
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]
TEXT = f"current-context: {LEASE_ID}\nusers: [secret]\n"


@dataclass
class FakeEntering:
    """Hands out the same text each time, and remembers to whom."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)
    refusal: Refused | None = None

    async def credentials(self, lease_id: str, person_id: str, via: str) -> Credentials:
        if self.refusal:
            raise self.refusal
        self.asked.append((lease_id, person_id, via))
        return Credentials(TEXT, NOW + timedelta(hours=8))


@pytest.fixture
def entering(gateway: FakeGateway) -> FakeEntering:
    made = gateway.entering = FakeEntering()
    return made


def test_how_to_get_in_is_told_to_those_who_may(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_[LEASE_ID] = a_lease(State.ACTIVE)
    result = lessor("access", "7k3qxa2m")
    assert (result.exit_code, result.stdout) == (0, f"{ACCESS}\n")
    assert json.loads(lessor("access", LEASE_ID, "--json").stdout) == {"id": LEASE_ID, "access": ACCESS}


def test_it_is_told_to_nobody_else(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_[LEASE_ID] = replace(a_lease(State.ACTIVE), owner="U0SOMEBODY", owner_ids=())
    result = lessor("access", LEASE_ID)
    assert result.exit_code == 1
    assert ACCESS not in result.output


def test_before_it_is_ready_there_is_nothing_to_get_into(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_[LEASE_ID] = a_lease(State.APPROVED)
    result = lessor("access", LEASE_ID)
    assert (result.exit_code, result.stderr) == (
        1,
        f"lessor: there is nothing to get into: {LEASE_ID} is approved\n",
    )


@pytest.mark.parametrize(
    ("state", "word", "command"),
    [(State.SUSPENDED, "suspended", f"start {LEASE_ID}"), (State.STOPPED, "stopped", f"restore {LEASE_ID} WHEN")],
)
def test_what_is_stopped_lets_nobody_in_and_it_is_said_how_it_runs_again(
    lessor: Lessor, gateway: FakeGateway, state: State, word: str, command: str
) -> None:
    """Also where the way in is still known: nobody is sent to a machine that is locked."""
    gateway.leases_[LEASE_ID] = a_lease(state)
    assert gateway.leases_[LEASE_ID].access == ACCESS
    result = lessor("access", LEASE_ID)
    again = f"`/gpu {command}` or `lessor {command}` starts it again"
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"lessor: there is nothing to get into: {LEASE_ID} is {word}; {again}\n"


def test_the_file_is_for_its_owner_alone(lessor: Lessor, entering: FakeEntering, tmp_path: Path) -> None:
    file = tmp_path / "kube"
    result = lessor("access", LEASE_ID, "--kubeconfig", str(file))
    assert (result.exit_code, file.read_text()) == (0, TEXT)
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert "secret" not in result.output
    assert result.stdout == f"{file} lets you into {LEASE_ID} until Wednesday 3 June 2026 23:11 CEST\n"
    assert entering.asked == [(LEASE_ID, "U0REQUESTER", "cli")]
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_an_earlier_access_is_written_over_and_made_private(
    lessor: Lessor, entering: FakeEntering, tmp_path: Path
) -> None:
    file = tmp_path / "kube"
    file.write_text(f"current-context: {LEASE_ID}\n")
    file.chmod(0o644)
    facts = json.loads(lessor("access", LEASE_ID, "--kubeconfig", str(file), "--json").stdout)
    assert facts == {"id": LEASE_ID, "file": str(file), "until": (NOW + timedelta(hours=8)).isoformat()}
    assert (file.read_text(), os.stat(file).st_mode & 0o777) == (TEXT, 0o600)


@pytest.mark.parametrize("there", ["current-context: production\n", "no: [yaml", "", "\x00\xff", "- list\n"])
def test_what_is_something_else_is_not_written_over_unasked(
    lessor: Lessor, entering: FakeEntering, tmp_path: Path, there: str
) -> None:
    file = tmp_path / "config"
    file.write_text(there, encoding="latin-1")
    before = file.read_bytes()
    alone = lessor("access", LEASE_ID, "--kubeconfig", str(file))
    assert (alone.exit_code, file.read_bytes(), entering.asked) == (1, before, [])
    assert "add --yes" in alone.stderr
    assert lessor("access", LEASE_ID, "--kubeconfig", str(file), answers="n\n").exit_code == 1
    assert file.read_bytes() == before
    assert lessor("access", LEASE_ID, "--kubeconfig", str(file), "--yes").exit_code == 0
    assert file.read_text() == TEXT


def test_a_folder_that_is_not_there_is_said_before_anything_is_asked_for(
    lessor: Lessor, entering: FakeEntering, tmp_path: Path
) -> None:
    result = lessor("access", LEASE_ID, "--kubeconfig", str(tmp_path / "none" / "kube"))
    assert (result.exit_code, entering.asked) == (1, [])
    assert "is no folder; nothing was written" in result.stderr


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(
    lessor: Lessor, entering: FakeEntering, tmp_path: Path
) -> None:
    folder = tmp_path / "kube"
    folder.mkdir()
    result = lessor("access", LEASE_ID, "--kubeconfig", str(folder), "--yes")
    assert result.exit_code == 1
    assert "cannot be written (Is a directory)" in result.stderr
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_refusal_is_told_and_nothing_is_written(lessor: Lessor, entering: FakeEntering, tmp_path: Path) -> None:
    entering.refusal = Refused("wrong-state", f"{LEASE_ID} is stopped; this needs a lease that is active")
    result = lessor("access", LEASE_ID, "--kubeconfig", str(tmp_path / "kube"))
    assert (result.exit_code, (tmp_path / "kube").exists()) == (1, False)
    assert "this needs a lease that is active" in result.stderr
