"""What goes wrong before a command can do its work: one line that says what to do, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.ports import LedgerUnavailableError
from tests.cli.conftest import FakeGateway

Lessor = Callable[..., Result]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Refused("unreachable", "Temporal does not answer"), 3, "lessor: Temporal does not answer"),
        (
            LedgerUnavailableError("the ledger cannot be reached"),
            3,
            "lessor: the ledger cannot be reached; nothing was changed, check LESSOR_DATABASE_URL and try again",
        ),
        (Invalid((FieldError("end", "is in the past"),)), 1, "lessor: end: is in the past"),
    ],
)
def test_failures_have_one_line_and_their_exit_code(
    lessor: Lessor, gateway: FakeGateway, error: Exception, code: int, line: str
) -> None:
    gateway.refusal = error
    result = lessor("list")
    assert (result.exit_code, result.stderr.splitlines()) == (code, [line])
    assert json.loads(lessor("list", "--json").stdout)["ok"] is False


def test_somebody_has_to_act(lessor: Lessor) -> None:
    nobody = lessor("list", actor="")
    assert (nobody.exit_code, nobody.stderr) == (
        2,
        "lessor: say who you are: --as ID or LESSOR_USER, with an id or e-mail address of lessor.yaml\n",
    )
    stranger = lessor("list", "--as", "U0STRANGER")
    assert (stranger.exit_code, stranger.stderr) == (
        1,
        "lessor: nobody is 'U0STRANGER'; use an id or e-mail address that stands in lessor.yaml under "
        "organisation.people\n",
    )


def test_a_broken_configuration_stops_every_command(lessor: Lessor, tmp_path: Path) -> None:
    (tmp_path / "lessor.yaml").write_text("a: 1\n")
    assert lessor("list").exit_code == 2


@pytest.mark.parametrize("words", [("nonsense",), ("show",), ("list", "--limit", "0"), ("up", "--port-base", "1")])
def test_wrong_usage(lessor: Lessor, words: tuple[str, ...]) -> None:
    assert lessor(*words).exit_code == 2
