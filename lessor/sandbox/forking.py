"""The supervisor's end of the fork server: asks it for programs and hears of their ends."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from lessor.sandbox.leash import end_group

FORKS_SAFELY = sys.platform == "linux"
"""macOS has system libraries that abort in a fork once they were used."""


class Forked:
    """A program that was forked; to whoever waits for it as an `asyncio.subprocess.Process`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = asyncio.Event()

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def end(self, code: int) -> None:
        self.returncode = code
        self._ended.set()


class ForkServer:
    """Runs the fork server while it is entered. Its own complaints go to `logs/forkserver.log`."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = environment
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked: deque[asyncio.Future[Forked]] = deque()
        self._running: dict[int, Forked] = {}

    async def __aenter__(self) -> ForkServer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Whatever still runs is killed."""
        if self._process is not None and self._process.stdin is not None and self._reading is not None:
            self._process.stdin.close()
            await self._reading
            await self._process.wait()

    async def load(self, *modules: str) -> None:
        """Have these modules loaded, after what was asked for before; does not wait for it."""
        await self._ask({"load": modules})

    async def start(self, module: str, *arguments: str, environment: Mapping[str, str], log: Path) -> Forked:
        """Run the module. Raises OSError when the fork server cannot be had, or dies before it is done."""
        asked: asyncio.Future[Forked] = asyncio.get_running_loop().create_future()
        run = {
            "module": module,
            "arguments": arguments,
            "environment": dict(environment),
            "directory": str(self._logs),
            "log": str(log),
        }
        await self._ask({"load": [module], "run": run}, asked)
        return await asked

    async def _ask(self, request: Mapping[str, Any], asked: asyncio.Future[Forked] | None = None) -> None:
        """Requests arrive in the order in which this was called, and so do the answers."""
        async with self._starting:
            process = await self._served()
            if asked is not None:
                self._asked.append(asked)
            assert process.stdin is not None
            process.stdin.write(f"{json.dumps(request)}\n".encode())

    async def _served(self) -> asyncio.subprocess.Process:
        """The running server; a new one when there is none."""
        if self._reading is None or self._reading.done():
            with (self._logs / "forkserver.log").open("ab") as output:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "lessor.sandbox.forkserver"),
                    env=dict(self._environment),
                    cwd=self._logs,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=output,
                    start_new_session=True,
                )
            assert self._process.stdout is not None
            self._reading = asyncio.create_task(self._read(self._process.stdout))
        assert self._process is not None
        return self._process

    async def _read(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            said = json.loads(line)
            if "started" in said:
                self._begin(said["started"])
            else:
                self._running.pop(said["ended"]).end(said["code"])
        # Nobody else would notice their ends.
        for pid, forked in self._running.items():
            end_group(pid, signal.SIGKILL)
            forked.end(-signal.SIGKILL)
        self._running.clear()
        while self._asked:
            asked = self._asked.popleft()
            if not asked.done():
                asked.set_exception(OSError("the fork server has ended"))

    def _begin(self, pid: int) -> None:
        forked = self._running[pid] = Forked(pid)
        asked = self._asked.popleft()
        if not asked.done():
            asked.set_result(forked)
