"""`lessor demo`: everything on free ports with seconds for days, one whole story, and a table of what happened."""

from __future__ import annotations

import asyncio
import json as json_format
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from lessor.sandbox import up
from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.children import CRASHED, Child, ChildFailedError, Happening
from lessor.sandbox.datadir import DataDirectoryError, claimed
from lessor.sandbox.demo_evidence import Evidence, opened
from lessor.sandbox.demo_play import Performance, Step, perform, why
from lessor.sandbox.demo_story import Story
from lessor.sandbox.demo_view import showing, table
from lessor.sandbox.leash import Leash
from lessor.sandbox.portplan import PortsError, free
from lessor.sandbox.programs import ProgramMissingError, Sandbox, lay_exports, programs
from lessor.sandbox.slack import SandboxClient
from lessor.sandbox.supervisor import Supervisor

POLICY = "demo.yaml"
EXIT_INTERRUPTED = 130
AWS_DELAYS = {"pending": 1.5, "stopping": 1.5, "shutting_down": 1.5}
"""Seconds that a machine takes to start, to stop and to go: long enough to be seen."""

Cast = Callable[[Sandbox], tuple[Child, ...]]
Steps = Callable[[SandboxClient, Evidence], tuple[Step, ...]]


@dataclass
class _Stage:
    """What one run of the demo works with. `told` shows progress; it is stderr when stdout carries JSON."""

    sandbox: Sandbox
    told: Console
    keep: bool
    steps: Steps
    began: float = field(default_factory=time.monotonic)
    performance: Performance = field(default_factory=Performance)


def run(
    keep: bool = False,
    json: bool = False,
    console: Console | None = None,
    cast: Cast = programs,
    steps: Steps = lambda slack, evidence: Story(slack, evidence).steps(),
) -> int:
    """Play the story. Exit codes: 0 all of it happened, 1 something did not, 2 nothing was started, 130 interrupted.

    `keep` leaves everything running afterwards, until Ctrl-C. `json` prints the result as one object on stdout.
    """
    told = console or Console(stderr=json, highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="lessor-demo-"))
    code = up.EXIT_REFUSED
    try:
        with claimed(folder, POLICY) as data, Leash() as leash:
            stage = _Stage(Sandbox(data, free()), told, keep, steps)
            lay_exports(stage.sandbox)
            supervisor = Supervisor(cast(stage.sandbox), data.logs, leash, lambda seen: _tell(told, seen))
            code = up.EXIT_FAILED
            code = asyncio.run(_play(stage, supervisor))
        if json:
            sys.stdout.write(json_format.dumps(_report(stage, code), indent=2) + "\n")
    except (PortsError, DataDirectoryError, ProgramMissingError) as refused:
        told.print(f"[bold red]lessor demo:[/] {escape(str(refused))}", soft_wrap=True)
    finally:
        if code == up.EXIT_FAILED:
            told.print(f"Kept for you to look at: {folder / 'logs'}", soft_wrap=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


async def _play(stage: _Stage, supervisor: Supervisor) -> int:
    stage.told.print("Starting Temporal, a simulated AWS, a Slack look-alike, the worker and the bot ...")
    try:
        await up.stoppable(supervisor, lambda: _story(stage), stage.told)
    except asyncio.CancelledError:
        return up.EXIT_OK if stage.keep and stage.performance.ok else EXIT_INTERRUPTED
    except ChildFailedError as failed:
        up.tell_failure(stage.told, "lessor demo", failed)
        return up.EXIT_FAILED
    except Exception as failed:
        stage.told.print(f"[bold red]lessor demo:[/] {escape(why(failed))}; everything was stopped", soft_wrap=True)
        return up.EXIT_FAILED
    return up.EXIT_OK if stage.performance.ok else up.EXIT_FAILED


async def _story(stage: _Stage) -> None:
    stage.told.print(f"Ready after {time.monotonic() - stage.began:.0f} s. Days are seconds from here on.")
    SimulatorClient(stage.sandbox.aws_url).switch("set_delays", **AWS_DELAYS)
    async with SandboxClient(stage.sandbox.slack_url) as slack, opened(stage.sandbox) as evidence:
        with showing(stage.performance, stage.told) as view:
            await perform(stage.steps(slack, evidence), stage.performance, view)
    _tell_result(stage)
    if stage.keep:
        up.show_links(stage.told, stage.sandbox)
        stage.told.print("Everything still runs. Ctrl-C stops it and removes its data.")
        await asyncio.Event().wait()


def _tell_result(stage: _Stage) -> None:
    stage.told.print()
    stage.told.print(table(stage.performance, "What happened"))
    stage.told.print()
    failed = stage.performance.failed
    if failed is None:
        took = time.monotonic() - stage.began
        stage.told.print(f"[bold green]All of it happened[/], in {took:.0f} s. Try it yourself: lessor up")
        return
    stage.told.print(
        f"[bold red]'{escape(failed.step.title)}' did not happen:[/] {escape(failed.seen)}", soft_wrap=True
    )


def _tell(told: Console, seen: Happening) -> None:
    """A start and a stop are no news here; a crash is."""
    if seen.what == CRASHED:
        up.tell(told, seen)


def _report(stage: _Stage, code: int) -> dict[str, Any]:
    return {
        "ok": code == up.EXIT_OK,
        "seconds": round(time.monotonic() - stage.began, 1),
        "steps": [
            {"step": one.step.title, "ok": one.ok, "seconds": round(one.took, 2), "seen": one.seen}
            for one in stage.performance.results
        ],
    }
