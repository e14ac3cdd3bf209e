"""The fork server: its programs find what a new interpreter would, load nothing twice, and never outlive it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lessor.sandbox.children import bare_environment
from lessor.sandbox.datadir import claimed
from lessor.sandbox.forking import FORKS_SAFELY, ForkServer
from lessor.sandbox.leash import Leash
from lessor.sandbox.portplan import Ports
from lessor.sandbox.programs import Sandbox, programs
from tests.sandbox import asking_itself
from tests.sandbox.test_supervisor import Stage, alive, until

pytestmark = pytest.mark.skipif(not FORKS_SAFELY, reason="programs are not forked on this system")
ASKING = "tests.sandbox.asking_itself"
FAKE = "tests.sandbox.fake_child"
TOLD = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GREETING": "hello"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ForkServer]:
    async with ForkServer(tmp_path, bare_environment(os.environ, tmp_path, {})) as running:
        yield running


async def test_a_forked_program_finds_what_a_new_interpreter_would(server: ForkServer, tmp_path: Path) -> None:
    forked = await server.start(ASKING, "--some", "argument", environment=TOLD, log=tmp_path / "log")
    assert await forked.wait() == asking_itself.CODE
    found = _found(tmp_path / "log")
    command = [sys.executable, "-m", ASKING, "--some", "argument"]
    with (tmp_path / "new").open("wb") as output:
        new = await asyncio.create_subprocess_exec(
            *command, env=TOLD, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
        )
        assert await new.wait() == asking_itself.CODE
    expected = _found(tmp_path / "new")["told"]
    # `python -m` gives the file, which nobody looks at.
    expected["argv"][0] = found["told"]["argv"][0]
    assert found["told"] == expected
    assert found["told"]["called"] == command
    assert found["is"] == forked.pid


async def test_what_one_program_has_loaded_is_there_for_the_next(server: ForkServer, tmp_path: Path) -> None:
    loaded, own = set(), set()
    for name in ("one", "two"):
        await (await server.start(ASKING, environment=TOLD, log=tmp_path / name)).wait()
        found = _found(tmp_path / name)
        loaded.add(found["loaded by"])
        own.add(found["is"])
    assert len(own) == 2
    assert len(loaded) == 1
    assert not loaded & own


async def test_a_module_that_is_not_there_says_so_in_its_log(server: ForkServer, tmp_path: Path) -> None:
    forked = await server.start("tests.sandbox.nobody", environment=TOLD, log=tmp_path / "log")
    assert await forked.wait() == 1
    assert "No module named tests.sandbox.nobody" in (tmp_path / "log").read_text()


async def test_whatever_still_runs_ends_with_the_fork_server(tmp_path: Path) -> None:
    async with ForkServer(tmp_path, bare_environment(os.environ, tmp_path, {})) as server:
        ready = tmp_path / "ready"
        deaf = await server.start(FAKE, str(ready), "--deaf", environment=TOLD, log=tmp_path / "log")
        await until(ready.exists)
    assert deaf.returncode == -signal.SIGKILL
    await until(lambda: not alive(deaf.pid))


async def test_programs_are_told_to_stop_when_whoever_asked_for_them_was_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from lessor.sandbox.forking import ForkServer\n"
        "async def main():\n"
        "    here = Path(sys.argv[1])\n"
        "    async with ForkServer(here, {}) as server:\n"
        f"        forked = await server.start({FAKE!r}, str(here / 'ready'), environment={{}}, log=here / 'log')\n"
        "        print(forked.pid, flush=True)\n"
        "        await forked.wait()\n"
        "asyncio.run(main())\n"
    )
    asker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert asker.stdout is not None
    pid = int(await asker.stdout.readline())
    assert alive(pid)
    asker.kill()
    await asker.wait()
    await until(lambda: not alive(pid))


async def test_programs_of_a_killed_fork_server_are_ended_and_started_again(tmp_path: Path) -> None:
    with Leash() as leash:
        await _survive(Stage(tmp_path, leash, ("-m", FAKE)))


async def _survive(stage: Stage) -> None:
    supervisor = stage.supervisor(stage.child("bot"))
    first: list[int] = []

    async def body() -> None:
        first.append(supervisor.pid("bot") or 0)
        psutil.Process(first[0]).parent().kill()  # type: ignore[union-attr]
        await until(lambda: stage.happened("ready") == ["bot", "bot"])

    await supervisor.run(body)
    crash = next(seen for seen in stage.seen if seen.what == "crashed")
    assert crash.text == "the bot ended by itself (signal SIGKILL); restart 1 of 2 in 0.01 s"
    await until(lambda: not alive(first[0]))


def test_nothing_that_the_sandbox_s_programs_load_starts_a_thread(tmp_path: Path) -> None:
    """A fork has none of the threads of its parent, and would wait for ever for what one of them held."""
    code = (
        "import sys, threading; from pathlib import Path; from lessor.sandbox.forkserver import load\n"
        "for module in sys.argv[1:]: load(module)\n"
        "print(len(list(Path('/proc/self/task').iterdir())), len(sys.modules))\n"
    )
    with claimed(tmp_path / "data", "lessor.yaml") as data:
        children = programs(Sandbox(data, Ports(7410)))
    modules = [child.argv[2] for child in children if child.argv[1] == "-m"]
    assert len(modules) == 9
    run = subprocess.run(
        [sys.executable, "-c", code, *modules], stdout=subprocess.PIPE, env=TOLD, cwd=tmp_path, check=True
    )
    threads, loaded = (int(one) for one in run.stdout.split())
    assert threads == 1
    assert loaded > 1_000


def _found(log: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(log.read_text())
    return found
