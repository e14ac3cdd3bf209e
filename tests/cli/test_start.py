"""The command line starts fast because it imports late; the sandbox is an extra."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

Lessor = Callable[..., Result]
HEAVY = ("temporalio", "boto3", "botocore", "pydantic", "pydantic_settings", "slack_sdk", "slack_bolt", "sqlalchemy",
         "rich", "celpy", "yaml", "jinja2", "structlog", "asyncio.runners", "aiohttp", "fastapi", "lessor.gateway",
         "lessor.config", "lessor.domain", "lessor.sandbox")  # fmt: skip


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "import lessor.cli\n"
        "from lessor.cli.app import app\n"
        "sys.argv = ['lessor', '--help']\n"
        "try:\n    app()\nexcept SystemExit as left:\n    assert not left.code\n"
        "print('LOADED', *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "typer" in loaded
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        (("up",), "up", {"data": ".lessor", "json": False}),
        (("up", "--port-base", "9000", "--data", "x"), "up", {"port_base": 9000, "data": "x", "json": False}),
        (("up", "--json"), "up", {"data": ".lessor", "json": True}),
        (("demo", "--keep", "--json"), "demo", {"keep": True, "json": True}),
    ],
)
def test_the_sandbox_gets_its_options_and_gives_the_exit_code(
    lessor: Lessor, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str, expected: dict[str, Any]
) -> None:
    seen: dict[str, Any] = {}

    def run(*positional: Any, **named: Any) -> int:
        order = ("port_base", "data") if name == "up" else ("keep", "json")
        seen.update(dict(zip(order, positional, strict=False)) | named)
        return 7

    monkeypatch.setattr(f"lessor.sandbox.{name}.run", run)
    assert lessor(*words).exit_code == 7
    assert {key: str(value) if key == "data" else value for key, value in seen.items()} == expected


def test_a_missing_sandbox_says_what_to_install(lessor: Lessor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lessor.sandbox.up", None)
    monkeypatch.delattr("lessor.sandbox.up", raising=False)
    result = lessor("up")
    assert result.exit_code == 2
    assert result.stderr.endswith("install it with: pip install 'lessor[sandbox]'\n")


def test_help_says_the_whole_of_what_each_command_does(lessor: Lessor) -> None:
    shown = lessor("--help")
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert "up Run everything on this machine: Temporal, a Slack look-alike, a simulated AWS and cluster, " in words
    assert " worker and bot. demo Play a whole lease" in words
    assert "..." not in words.partition("Commands:")[2]


@pytest.mark.parametrize("words", [(), ("idle",), ("config",)])
def test_a_group_alone_shows_its_help_and_says_by_its_exit_code_that_nothing_was_done(
    lessor: Lessor, words: tuple[str, ...]
) -> None:
    shown = lessor(*words)
    assert (shown.exit_code, shown.stdout) == (2, lessor(*words, "--help").stdout)
