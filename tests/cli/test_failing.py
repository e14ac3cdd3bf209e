"""What goes wrong before a command can do its work: one line that says what to do, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.ports import LedgerUnavailableError
from tests.builders import LEASE_ID
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


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("zzzzzz",), "lessor: no such command 'zzzzzz'; nothing was done, see: lessor --help"),
        (("show",), "lessor: missing argument 'ID'; nothing was done, see: lessor show --help"),
        (("deny", LEASE_ID), "lessor: missing option '--reason'; nothing was done, see: lessor deny --help"),
        (
            ("list", "--limit", "0"),
            "lessor: invalid value for '--limit': Input should be greater than or equal to 1; nothing was done, "
            "see: lessor list --help",
        ),
        (
            ("list", "--teem", "a"),
            "lessor: no such option: --teem (Possible options: --after, --state, --team); nothing was done, "
            "see: lessor list --help",
        ),
        (
            ("config", "chek"),
            "lessor: no such command 'chek'. Did you mean 'check', 'schema'?; nothing was done, "
            "see: lessor config --help",
        ),
        (
            ("up", "--port-base", "1"),
            "lessor: invalid value for '--port-base': Input should be greater than or equal to 1024; nothing was done, "
            "see: lessor up --help",
        ),
    ],
)
def test_wrong_usage_has_one_line(lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], line: str) -> None:
    result = lessor(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"{line}\n")
    as_json = lessor(*words, "--json")
    expected = {"ok": False, "code": "usage", "message": line.removeprefix("lessor: "), "errors": []}
    if words[0] != "up":
        assert (as_json.exit_code, as_json.stderr, json.loads(as_json.stdout)) == (2, "", expected)
    assert gateway.acts == []


@pytest.mark.parametrize("words", [(), ("config",)])
def test_no_command_shows_those_there_are(lessor: Lessor, words: tuple[str, ...]) -> None:
    result = lessor(*words)
    assert (result.exit_code, result.stderr) == (2, "")
    assert "Commands" in result.stdout


def test_a_question_that_is_left_open_changes_nothing(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("withdraw", LEASE_ID, answers="")
    assert (result.exit_code, result.stderr.splitlines()[-1], gateway.acts) == (1, "lessor: nothing was done", [])
