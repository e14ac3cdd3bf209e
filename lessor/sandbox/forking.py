"""The supervisor's end of the fork server: asks it for programs and hears of their ends."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lessor.sandbox.leash import end_group

FORKS_SAFELY = sys.platform == "linux"
"""macOS has system libraries that abort in a fork once they were used."""

END_SECONDS = 2.0
"""What the fork server may take to end, which has nothing to put in order."""


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


class _Answers(asyncio.SubprocessProtocol):
    """What one run of the fork server says. No task reads it: a task could be cancelled before the programs are."""

    def __init__(self) -> None:
        self.asked: deque[asyncio.Future[Forked]] = deque()
        self.ended = asyncio.Event()
        self.lost = False
        self._running: dict[int, Forked] = {}
        self._left = b""

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        *lines, self._left = (self._left + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "ended" in said:
                self._running.pop(said["ended"]).end(said["code"])
                continue
            asked = self.asked.popleft()
            if "failed" in said:
                _settle(asked, OSError(said["failed"]))
            else:
                forked = self._running[said["started"]] = Forked(said["started"])
                _settle(asked, forked)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Kill what runs, since nobody else would notice its end."""
        self.lost = True
        for pid, forked in self._running.items():
            end_group(pid, signal.SIGKILL)
            forked.end(-signal.SIGKILL)
        self._running.clear()
        while self.asked:
            _settle(self.asked.popleft(), OSError("the fork server has ended"))

    def process_exited(self) -> None:
        self.ended.set()


class ForkServer:
    """Runs the fork server while it is entered, a new one after it was lost. Its own complaints go to `log`."""

    def __init__(self, directory: Path, log: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._log = log
        self._environment = environment
        self._starting = asyncio.Lock()
        self._serving: tuple[asyncio.SubprocessTransport, _Answers] | None = None

    async def __aenter__(self) -> ForkServer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Whatever still runs is killed."""
        if self._serving is None:
            return
        transport, answers = self._serving
        if transport.get_returncode() is None:
            transport.terminate()
            try:
                await asyncio.wait_for(answers.ended.wait(), END_SECONDS)
            except TimeoutError:
                transport.kill()
                await answers.ended.wait()
        transport.close()
        answers.pipe_connection_lost(1, None)

    async def load(self, modules: Sequence[str], program: str) -> None:
        """Have these modules, and what the program imports, loaded after what was asked for before; does not wait.

        Raises OSError when the fork server cannot be had.
        """
        await self._ask({"load": modules, "programs": [program]})

    async def start(self, module: str, *arguments: str, environment: Mapping[str, str], log: Path) -> Forked:
        """Run the module. Raises OSError when the fork server cannot be had, or cannot fork."""
        asked: asyncio.Future[Forked] = asyncio.get_running_loop().create_future()
        run = {
            "module": module,
            "arguments": arguments,
            "environment": dict(environment),
            "directory": str(self._directory),
            "log": str(log),
        }
        await self._ask({"load": [], "programs": [module], "run": run}, asked)
        return await asked

    async def _ask(self, request: Mapping[str, Any], asked: asyncio.Future[Forked] | None = None) -> None:
        """Requests arrive in the order in which this was called, and so do the answers."""
        async with self._starting:
            if self._serving is not None and self._serving[1].lost:
                self._serving[0].close()
                self._serving = None
            self._serving = transport, answers = self._serving or await self._served()
        if asked is not None:
            answers.asked.append(asked)
        requests = transport.get_pipe_transport(0)
        assert isinstance(requests, asyncio.WriteTransport)
        requests.write(f"{json.dumps(request)}\n".encode())

    async def _served(self) -> tuple[asyncio.SubprocessTransport, _Answers]:
        with self._log.open("ab") as output:
            return await asyncio.get_running_loop().subprocess_exec(
                _Answers,
                *(sys.executable, "-m", "lessor.sandbox.forkserver"),
                env=dict(self._environment),
                cwd=self._directory,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )


def _settle(asked: asyncio.Future[Forked], found: Forked | OSError) -> None:
    """Unless whoever asked has gone."""
    if asked.done():
        return
    if isinstance(found, OSError):
        asked.set_exception(found)
    else:
        asked.set_result(found)
