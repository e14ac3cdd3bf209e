"""The supervisor with small programs of its own: order, crashes, stopping, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lessor.sandbox.children import (
    CRASHED,
    KILLED,
    READY,
    STARTING,
    STOPPED,
    Child,
    ChildFailedError,
    Happening,
    Started,
    bare_environment,
    waves,
)
from lessor.sandbox.leash import Leash
from lessor.sandbox.supervisor import Restarts, Supervisor, read_tail
from tests.processes import alive

FAKE = Path(__file__).with_name("fake_child.py")
QUICK = Restarts(most=2, window=60, first_pause=0.01, longest_pause=0.02)


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as held:
        yield held


class Stage:
    """Builds children in a directory and remembers what happened to them."""

    def __init__(self, root: Path, leash: Leash, program: tuple[str, ...]) -> None:
        self.root = root
        self.seen: list[Happening] = []
        self._leash = leash
        self._program = program

    def child(self, name: str, *arguments: str, after: tuple[str, ...] = (), **fields: float) -> Child:
        ready = self.root / f"{name}.ready"
        argv = (sys.executable, *self._program, str(ready), *arguments)
        return Child(name, f"the {name}", argv, {}, lambda run: _wrote(ready, run), after, **fields)  # type: ignore[arg-type]

    def supervisor(self, *children: Child) -> Supervisor:
        return Supervisor(children, self.root, self._leash, self.seen.append, QUICK, probe_every=0.01)

    def happened(self, what: str) -> list[str]:
        return [seen.child.name for seen in self.seen if seen.what == what]


@pytest.fixture(params=[(str(FAKE),), ("-m", "tests.sandbox.fake_child")], ids=["executed", "forked"])
def stage(tmp_path: Path, leash: Leash, request: pytest.FixtureRequest) -> Stage:
    return Stage(tmp_path, leash, request.param)


async def test_children_start_after_those_they_need_and_stop_before_them(stage: Stage) -> None:
    supervisor = stage.supervisor(
        stage.child("bot", after=("server", "store")), stage.child("server"), stage.child("store")
    )
    pids: list[int] = []

    async def body() -> str:
        pids.extend(pid for name in ("bot", "server", "store") if (pid := supervisor.pid(name)))
        return "played"

    assert await supervisor.run(body) == "played"
    assert len(pids) == 3
    assert stage.happened(STARTING)[-1] == "bot"
    assert sorted(stage.happened(READY)[:2]) == ["server", "store"]
    assert stage.happened(STOPPED)[0] == "bot"
    assert sorted(stage.happened(STOPPED)[1:]) == ["server", "store"]
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


async def test_a_crashed_child_is_restarted_and_the_last_lines_of_its_log_are_told(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("bot", "--say", "the last words"))

    async def body() -> None:
        first = supervisor.pid("bot")
        assert first is not None
        os.kill(first, 9)
        await until(lambda: supervisor.pid("bot") not in (None, first))
        await until(lambda: stage.happened(READY) == ["bot", "bot"])

    await supervisor.run(body)
    crash = next(seen for seen in stage.seen if seen.what == CRASHED)
    assert crash.text == "the bot ended by itself (signal SIGKILL); restart 1 of 2 in 0.01 s"
    assert crash.log_tail == ("the last words",)


async def test_a_child_that_keeps_crashing_stops_everything(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("worker"), stage.child("server"))

    async def body() -> None:
        killed: set[int] = set()
        while True:
            pid = supervisor.pid("worker")
            if pid is not None and pid not in killed and (stage.root / "worker.ready").read_text() == str(pid):
                killed.add(pid)
                os.kill(pid, 9)
            await asyncio.sleep(0.005)

    with pytest.raises(ChildFailedError, match=r"the worker ended by itself \(signal SIGKILL\), 3 times within 60 s"):
        await supervisor.run(body)
    assert stage.happened(CRASHED) == ["worker", "worker"]
    assert stage.happened(STOPPED) == ["server"]


async def test_a_child_that_ends_before_it_is_ready_fails_the_start_with_its_words(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("server"), stage.child("bot", "--say", "no token", "--exit", "3"))

    with pytest.raises(ChildFailedError) as failed:
        await supervisor.run(_never)
    log = stage.root / "bot.log"
    assert str(failed.value) == f"the bot ended by itself (exit code 3) before it was ready; its log: {log}"
    assert failed.value.log_tail == ("no token",)
    assert supervisor.pid("server") is None


async def test_a_child_that_never_gets_ready_fails_the_start_and_is_stopped(stage: Stage) -> None:
    slow = Child("slow", "the slow one", stage.child("slow").argv, {}, lambda _: False, patience=0.3)
    supervisor = stage.supervisor(slow)

    with pytest.raises(ChildFailedError, match=r"the slow one was not ready after 0.3 s"):
        await supervisor.run(_never)
    assert stage.happened(STOPPED) == ["slow"]


async def test_a_program_that_does_not_exist_is_an_error_with_its_name(stage: Stage) -> None:
    missing = Child("ghost", "the ghost", ("/nowhere/ghost",), {}, lambda _: True)
    with pytest.raises(ChildFailedError, match=r"the ghost could not be started: .*/nowhere/ghost"):
        await stage.supervisor(missing).run(_never)


async def test_a_deaf_child_is_killed_after_its_grace(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("deaf", "--deaf", grace=0.1))
    await supervisor.run(_at_once)
    assert stage.happened(KILLED) == ["deaf"]


async def test_a_second_request_to_stop_does_not_wait_for_the_grace(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("deaf", "--deaf", grace=60))

    async def body() -> None:
        supervisor.hurry()

    await asyncio.wait_for(supervisor.run(body), 60)
    assert stage.happened(KILLED) == ["deaf"]


async def test_what_a_child_started_itself_is_ended_with_it(stage: Stage, tmp_path: Path) -> None:
    litter = tmp_path / "litter"
    supervisor = stage.supervisor(stage.child("parent", "--litter", str(litter)))
    await supervisor.run(_at_once)
    await until(lambda: not alive(int(litter.read_text())))


async def test_cancelling_stops_every_child(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("one"), stage.child("two", after=("one",)))
    work = asyncio.ensure_future(supervisor.run(_never))
    await until(lambda: stage.happened(READY) == ["one", "two"])
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert stage.happened(STOPPED) == ["two", "one"]


async def test_the_log_of_the_last_run_is_kept_beside_the_new_one(stage: Stage) -> None:
    for words in ("first", "second"):
        await stage.supervisor(stage.child("bot", "--say", words)).run(_at_once)
    assert (stage.root / "bot.log").read_text() == "second\n"
    assert (stage.root / "bot.log.1").read_text() == "first\n"


async def test_a_child_sees_only_the_environment_it_was_given(stage: Stage, tmp_path: Path) -> None:
    shell = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/somebody",
        "AWS_SECRET_ACCESS_KEY": "real",
        "AWS_PROFILE": "production",
        "SLACK_BOT_TOKEN": "xoxb-real",
        "LESSOR_DATABASE_URL": "postgresql://production",
        "HTTPS_PROXY": "http://proxy.example.com",
        "TEMPORAL_API_KEY": "real",
    }
    environment = bare_environment(shell, tmp_path, {"SLACK_BOT_TOKEN": "xoxb-sandbox"})
    written = tmp_path / "environment.json"
    child = stage.child("bot", "--environment", str(written))
    await stage.supervisor(Child(child.name, child.title, child.argv, environment, child.ready)).run(_at_once)
    seen = written.read_text()
    assert "real" not in seen
    assert "production" not in seen
    assert "proxy" not in seen
    assert environment == {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
        "SLACK_BOT_TOKEN": "xoxb-sandbox",
    }


def test_an_impossible_order_is_refused_before_anything_starts(stage: Stage) -> None:
    circle = (stage.child("one", after=("two",)), stage.child("two", after=("one",)))
    with pytest.raises(ValueError, match="no order in which these can start: one after two, two after one"):
        waves(circle)
    with pytest.raises(ValueError, match="one after nobody"):
        waves([stage.child("one", after=("nobody",))])


def test_the_tail_of_a_log_survives_bytes_that_are_no_text(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"first\n" + b"\xff\xfe broken\n" * 20 + b"last\n")
    assert read_tail(log, 2) == ("\ufffd\ufffd broken", "last")
    assert read_tail(tmp_path / "missing.log") == ()


async def _at_once() -> None:
    return None


async def _never() -> None:
    await asyncio.Event().wait()


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - other processes set no event of ours
            await asyncio.sleep(0.01)


def _wrote(ready: Path, run: Started) -> bool:
    return ready.exists() and ready.read_text() == str(run.pid)
