"""No program of ours writes the values of variables into its log, whatever fails: tokens are among them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest
import structlog

from lessor.settings import SettingsError

PROGRAMS = ("workflows.__main__", "bot.__main__", "lessor.web.__main__")
TOKEN = "xoxb-nobody-may-read-this"


@pytest.fixture
def _logs() -> Iterator[None]:
    before = structlog.get_config()
    # Commands that other tests run leave a logger behind that says nothing.
    structlog.reset_defaults()
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("_logs")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_where_it_failed_and_shows_no_values(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = importlib.import_module(name)

    def unset() -> None:
        raise SettingsError("SLACK_BOT_TOKEN: is not set")

    monkeypatch.setattr(program, "read_settings", unset)
    monkeypatch.setattr(sys, "argv", ["python"])
    assert program.main() == 2
    try:
        _fail({"authorization": f"Bearer {TOKEN}"})
    except RuntimeError:
        structlog.get_logger("test").exception("nobody-thought-of-it")
    said = "".join(capsys.readouterr())
    assert "1 header was refused" in said
    assert "in _fail" in said
    assert TOKEN not in said


def _fail(headers: dict[str, str]) -> None:
    raise RuntimeError(f"{len(headers)} header was refused")
