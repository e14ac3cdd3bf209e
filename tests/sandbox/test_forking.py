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

import boto3
import psutil
import pytest

from lessor.sandbox.aws.identity import administrator_key
from lessor.sandbox.children import bare_environment
from lessor.sandbox.datadir import claimed
from lessor.sandbox.forking import FORKS_SAFELY, ForkServer
from lessor.sandbox.forkserver import load
from lessor.sandbox.leash import Leash
from lessor.sandbox.portplan import Ports
from lessor.sandbox.programs import Sandbox, programs
from tests.processes import alive
from tests.sandbox import asking_itself
from tests.sandbox.test_supervisor import Stage, until

pytestmark = pytest.mark.skipif(not FORKS_SAFELY, reason="programs are not forked on this system")
ASKING = "tests.sandbox.asking_itself"
FAKE = "tests.sandbox.fake_child"
TOLD = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GREETING": "hello"}


def a_server(directory: Path) -> ForkServer:
    return ForkServer(directory, directory / "forkserver.log", bare_environment(os.environ, directory, {}))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ForkServer]:
    async with a_server(tmp_path) as running:
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


async def test_programs_see_nothing_of_others_that_are_asked_for_at_once(server: ForkServer, tmp_path: Path) -> None:
    names = ("one", "two", "three")
    asked = (server.start(ASKING, environment={**TOLD, "NAME": name}, log=tmp_path / name) for name in names)
    for forked in await asyncio.gather(*asked):
        await forked.wait()
    for name in names:
        told = _found(tmp_path / name)["told"]
        assert (told["environment"]["NAME"], told["stdin"], told["open"]) == (name, "", [0, 1, 2])


async def test_a_program_can_be_stopped_from_its_first_moment(server: ForkServer, tmp_path: Path) -> None:
    for number in range(10):
        forked = await server.start(FAKE, str(tmp_path / "ready"), environment=TOLD, log=tmp_path / str(number))
        os.killpg(forked.pid, signal.SIGTERM)
        assert await asyncio.wait_for(forked.wait(), 60) == -signal.SIGTERM


async def test_whatever_still_runs_ends_with_the_fork_server(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        ready = tmp_path / "ready"
        deaf = await server.start(FAKE, str(ready), "--deaf", environment=TOLD, log=tmp_path / "log")
        await until(ready.exists)
    assert deaf.returncode == -signal.SIGKILL
    await until(lambda: not alive(deaf.pid))


async def test_the_fork_server_ends_though_it_is_loading(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        async with a_server(tmp_path) as server:
            await server.load([], "tests.sandbox.loading_for_ever")
            await until(lambda: "loading" in (tmp_path / "forkserver.log").read_text())


async def test_a_lost_fork_server_is_an_error_for_whoever_waits_and_then_there_is_a_new_one(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        first = await server.start(FAKE, str(tmp_path / "ready"), environment=TOLD, log=tmp_path / "log")
        await server.load([], "tests.sandbox.loading_for_ever")
        waiting = asyncio.ensure_future(server.start(ASKING, environment=TOLD, log=tmp_path / "never"))
        await until(lambda: "loading" in (tmp_path / "forkserver.log").read_text())
        psutil.Process(first.pid).parent().kill()  # type: ignore[union-attr]
        with pytest.raises(OSError, match="the fork server has ended"):
            await waiting
        assert first.returncode == -signal.SIGKILL
        again = await server.start(ASKING, environment=TOLD, log=tmp_path / "again")
        assert await again.wait() == asking_itself.CODE


async def test_programs_are_told_to_stop_when_whoever_asked_for_them_was_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from lessor.sandbox.forking import ForkServer\n"
        "async def main():\n"
        "    here = Path(sys.argv[1])\n"
        "    async with ForkServer(here, here / 'server', {}) as server:\n"
        "        for number in range(6):\n"
        f"            one = await server.start({FAKE!r}, str(here / 'ready'), environment={{}}, log=here / 'log')\n"
        "            print(one.pid, flush=True)\n"
        "        await one.wait()\n"
        "asyncio.run(main())\n"
    )
    command = (sys.executable, "-c", code, str(tmp_path))
    asker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert asker.stdout is not None
    pids = [int(await asker.stdout.readline()) for _ in range(6)]
    assert all(map(alive, pids))
    asker.kill()
    await asker.wait()
    await until(lambda: not any(map(alive, pids)))


async def test_nothing_is_left_when_the_supervisor_s_loop_is_torn_down(tmp_path: Path) -> None:
    """As when the terminal is gone to which it tells what happens: everything that waits is cancelled then."""
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from lessor.sandbox.children import Child; from lessor.sandbox.leash import Leash\n"
        "from lessor.sandbox.supervisor import Supervisor\n"
        "ready = Path(sys.argv[1]) / 'ready'\n"
        f"argv = (sys.executable, '-m', {FAKE!r}, str(ready))\n"
        "child = Child('bot', 'the bot', argv, {}, lambda _: ready.exists())\n"
        "async def body():\n"
        "    asyncio.get_running_loop().call_soon(sys.exit, 3)\n"
        "    await asyncio.Event().wait()\n"
        "with Leash() as leash:\n"
        "    asyncio.run(Supervisor([child], ready.parent, leash, lambda _: None).run(body))\n"
    )
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path))
    assert await asyncio.wait_for(program.wait(), 60) == 3
    await until(lambda: not alive(int((tmp_path / "ready").read_text())))


async def test_without_a_fork_server_programs_are_started_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(_: ForkServer) -> Any:
        raise OSError("no memory")

    monkeypatch.setattr(ForkServer, "_served", none)
    with Leash() as leash:
        stage = Stage(tmp_path, leash, ("-m", FAKE))
        await stage.supervisor(stage.child("server"), stage.child("bot", after=("server",))).run(_at_once)
    assert stage.happened("ready") == ["server", "bot"]


async def test_each_run_of_the_aws_simulator_gives_ids_of_its_own(server: ForkServer, tmp_path: Path) -> None:
    found = set()
    for name in ("one", "two"):
        log = tmp_path / name
        forked = await server.start("lessor.sandbox.aws", "--instant", environment=TOLD, log=log)
        await until(lambda log=log: log.exists() and "administrator's" in log.read_text())  # type: ignore[misc]
        found.add(await asyncio.to_thread(_first_network, log.read_text().split()[2]))
        os.killpg(forked.pid, signal.SIGTERM)
        assert await asyncio.wait_for(forked.wait(), 60) == 0
    assert len(found) == 2


def test_libraries_stay_loaded_and_programs_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that is loaded anew has classes that are not those which others know."""
    for module in (ASKING, "tests.sandbox.loading"):
        monkeypatch.delitem(sys.modules, module)
    load({"load": ["tests.sandbox.loading"], "programs": [ASKING, "tests.sandbox.nobody"]})
    assert (ASKING in sys.modules, "tests.sandbox.loading" in sys.modules) == (False, True)


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
        "import json, sys; from pathlib import Path; from lessor.sandbox.forkserver import load\n"
        "load(json.loads(sys.argv[1]))\n"
        "print(len(list(Path('/proc/self/task').iterdir())), len(sys.modules))\n"
    )
    with claimed(tmp_path / "data", "lessor.yaml") as data:
        children = programs(Sandbox(data, Ports(7410)))
    modules = [child.argv[2] for child in children if child.argv[1] == "-m"]
    assert len(modules) == 9
    besides = [module for child in children for module in child.also_loads]
    asked = json.dumps({"load": besides, "programs": modules})
    run = subprocess.run(
        [sys.executable, "-c", code, asked], stdout=subprocess.PIPE, env=TOLD, cwd=tmp_path, check=True
    )
    threads, loaded = (int(one) for one in run.stdout.split())
    assert threads == 1
    assert loaded > 1_000


async def _at_once() -> None:
    return None


def _first_network(url: str) -> str:
    client = boto3.client(
        "ec2",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=administrator_key(),
        aws_secret_access_key="x",
    )
    return client.describe_vpcs()["Vpcs"][0]["VpcId"]


def _found(log: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(log.read_text())
    return found
