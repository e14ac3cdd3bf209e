"""`lessor demo` as people run it: the whole story in about a minute, and an honest end when a part is missing."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable

import pytest
from rich.console import Console

from lessor.sandbox import demo
from lessor.sandbox.children import Child
from lessor.sandbox.demo_evidence import Evidence
from lessor.sandbox.demo_play import Step
from lessor.sandbox.demo_story import Story
from lessor.sandbox.programs import Sandbox, programs
from lessor.sandbox.slack import SandboxClient
from tests.e2e.running import LESSOR

WHOLE_STORY = [
    "ask",
    "policy",
    "approve, clicked twice",
    "finance approves as well",
    "provision",
    "propose less",
    "deny another request",
    "ask for a small one",
    "warn",
    "extend",
    "GPUs fall idle, the owner is warned",
    "say that it is used",
    "release it",
    "expire and stop",
    "grace, then delete",
    "verify that nothing is left",
    "audit",
]


@pytest.mark.timeout(400)
def test_the_demo_plays_the_whole_story_and_tells_each_step() -> None:
    done = subprocess.run([LESSOR, "demo", "--json"], capture_output=True, text=True, timeout=380, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert [(step["step"], step["ok"]) for step in report["steps"]] == [(step, True) for step in WHOLE_STORY]
    told = done.stderr.splitlines()
    for step in WHOLE_STORY:
        assert [line for line in told if line.startswith("ok ") and f" {step}: " in line], step


def test_a_step_that_does_not_happen_ends_the_demo_with_1_and_says_which(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("demo")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    told = io.StringIO()
    console = Console(file=told, width=200, highlight=False)
    assert demo.run(console=console, cast=_without("bot"), steps=_first_step(seconds=4)) == 1
    text = told.getvalue()
    assert "'ask' did not happen:" in text
    [logs] = folder.glob("lessor-demo-*/logs")
    assert text.rstrip().endswith(f"Kept for you to look at: {logs}")
    assert (logs / "worker.log").exists()


def _without(name: str) -> Callable[[Sandbox], tuple[Child, ...]]:
    return lambda sandbox: tuple(child for child in programs(sandbox) if child.name != name)


def _first_step(seconds: float) -> Callable[[SandboxClient, Evidence], tuple[Step, ...]]:
    def steps(slack: SandboxClient, evidence: Evidence) -> tuple[Step, ...]:
        ask = Story(slack, evidence).steps()[0]
        return (Step(ask.title, seconds, ask.play),)

    return steps
