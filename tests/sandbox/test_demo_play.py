"""How the demo plays steps and shows them, with steps of its own."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from rich.console import Console
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from lessor.sandbox import demo
from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.demo_play import Performance, Step, StepFailedError, perform
from lessor.sandbox.demo_view import LiveView, PlainView, showing, table
from lessor.sandbox.slack import PersonError
from tests.sandbox.test_supervisor_up import cast


class Silent:
    """A view that nobody looks at."""

    def __init__(self) -> None:
        self.states: list[tuple[str, bool | None]] = []

    def changed(self, result: object) -> None:
        self.states.append((result.step.title, result.ok))  # type: ignore[attr-defined]


async def played(*steps: Step) -> Performance:
    performance = Performance()
    await perform(steps, performance, Silent())
    return performance


async def _fine() -> str:
    return "it [happened]"


async def _wrong() -> str:
    raise StepFailedError("AWS still has i-0123")


async def _never() -> str:
    await asyncio.Event().wait()
    return ""


async def test_every_step_is_shown_when_it_begins_and_when_it_ends() -> None:
    performance, view = Performance(), Silent()
    await perform([Step("ask", 5, _fine), Step("approve", 5, _fine)], performance, view)
    assert view.states == [("ask", None), ("ask", True), ("approve", None), ("approve", True)]
    assert performance.ok
    assert [result.seen for result in performance.results] == ["it [happened]", "it [happened]"]


async def test_a_step_that_comes_out_wrong_ends_the_story_and_is_named() -> None:
    performance = await played(Step("ask", 5, _fine), Step("verify", 5, _wrong), Step("audit", 5, _fine))
    assert not performance.ok
    assert performance.failed is not None
    assert (performance.failed.step.title, performance.failed.seen) == ("verify", "AWS still has i-0123")
    assert [result.ok for result in performance.results] == [True, False, None]


async def test_a_step_that_does_not_happen_in_time_says_so() -> None:
    performance = await played(Step("warn", 0.02, _never))
    assert [result.seen for result in performance.results] == ["did not happen within 0.02 s"]


async def test_a_wait_with_its_own_words_keeps_them() -> None:
    async def late() -> str:
        raise TimeoutError("manager's message in #gpu-approvals: not seen within 5 s")

    performance = await played(Step("approve", 9, late))
    assert [result.seen for result in performance.results] == [
        "did not happen within 9 s: manager's message in #gpu-approvals: not seen within 5 s"
    ]


async def test_what_the_sandbox_refuses_is_a_failed_step() -> None:
    async def refused() -> str:
        raise PersonError("requester has no modal open", 404)

    performance = await played(Step("ask", 5, refused))
    assert [result.seen for result in performance.results] == ["requester has no modal open"]


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (aiohttp.ClientConnectionError("Cannot connect\n to  host"), "ClientConnectionError: Cannot connect to host"),
        (
            WorkflowFailureError(cause=ValueError("no lease")),
            "WorkflowFailureError: Workflow execution failed, because of ValueError: no lease",
        ),
        (RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b""), "RPCError: workflow not found"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
async def test_any_error_is_a_failed_step_with_one_line_that_says_why(error: Exception, seen: str) -> None:
    async def broken() -> str:
        raise error

    performance = await played(Step("ask", 5, _fine), Step("approve", 5, broken), Step("audit", 5, _fine))
    assert [result.ok for result in performance.results] == [True, False, None]
    assert performance.results[1].seen == seen


@pytest.mark.parametrize("where", ["in a step", "before the first"])
def test_a_demo_that_breaks_keeps_its_logs_and_names_them(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken() -> str:
        raise aiohttp.ClientConnectionError("the look-alike is gone")

    @asynccontextmanager
    async def opened(sandbox: object) -> AsyncIterator[None]:
        if where == "before the first":
            await broken()
        yield None

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(SimulatorClient, "switch", lambda *_, **__: None)
    monkeypatch.setattr(demo, "opened", opened)
    told = io.StringIO()
    console = Console(file=told, highlight=False, width=200)
    code = demo.run(json=True, console=console, cast=cast, steps=lambda *_: (Step("ask", 5, broken),))
    [folder] = tmp_path.iterdir()
    logs = folder / "logs"
    assert code == 1
    assert logs.is_dir()
    assert told.getvalue().endswith(f"Kept for you to look at: {logs}\n")
    reason = "ClientConnectionError: the look-alike is gone"
    report = json.loads(capsys.readouterr().out)
    if where == "in a step":
        assert f"'ask' did not happen: {reason}\n" in told.getvalue()
        assert [(step["step"], step["ok"], step["seen"]) for step in report["steps"]] == [("ask", False, reason)]
    else:
        assert f"lessor demo: {reason}; everything was stopped\n" in told.getvalue()
        assert (report["ok"], report["steps"]) == (False, [])


def test_a_story_without_steps_did_not_happen() -> None:
    assert not Performance().ok


async def test_plain_output_has_one_line_for_each_step_that_ended_and_no_markup() -> None:
    told = io.StringIO()
    console = Console(file=told, highlight=False, width=40)
    performance = Performance()
    with showing(performance, console) as view:
        assert isinstance(view, PlainView)
        await perform([Step("ask", 5, _fine), Step("verify", 5, _wrong)], performance, view)
    assert told.getvalue() == "ok     0.0 s  ask: it [happened]\nFAIL   0.0 s  verify: AWS still has i-0123\n"


async def test_a_terminal_gets_a_live_table() -> None:
    told = io.StringIO()
    console = Console(file=told, force_terminal=True, width=100)
    performance = Performance()
    with showing(performance, console) as view:
        assert isinstance(view, LiveView)
        await perform([Step("ask", 5, _fine)], performance, view)
    assert "it [happened]" in told.getvalue()


async def test_the_table_at_the_end_has_every_step_with_its_mark() -> None:
    performance = await played(Step("ask", 5, _fine), Step("verify", 5, _wrong), Step("audit", 5, _fine))
    told = io.StringIO()
    Console(file=told, width=100).print(table(performance, "What happened"))
    lines = [line.rstrip() for line in told.getvalue().splitlines()]
    assert lines == [
        "What happened",
        "✓    0.0 s  ask     it [happened]",
        "✗    0.0 s  verify  AWS still has i-0123",
        "·           audit",
    ]
