"""Keeps the sandbox's programs running as one: starts them in order, restarts what crashes, leaves nothing behind.

Each child is the leader of a process group of its own and writes to a log file: an unread pipe would block it. Children
are ended by their group's id alone, dependents first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

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
from lessor.sandbox.forking import FORKS_SAFELY, Forked, ForkServer
from lessor.sandbox.leash import Leash, end_group

T = TypeVar("T")
Process = asyncio.subprocess.Process | Forked

TAIL_LINES = 15
TAIL_BYTES = 32_768


@dataclass(frozen=True)
class Restarts:
    """How crashes are answered: pauses double from `first_pause`; after `most` crashes within `window` it gives up."""

    most: int = 5
    window: float = 120.0
    first_pause: float = 0.5
    longest_pause: float = 8.0


class Supervisor:
    """Runs children around a body of work. `report` hears of everything that happens to a child."""

    def __init__(
        self,
        children: Sequence[Child],
        logs: Path,
        leash: Leash,
        report: Callable[[Happening], None],
        restarts: Restarts | None = None,
        probe_every: float = 0.1,
    ) -> None:
        self._waves = waves(children)
        self._logs = logs
        self._leash = leash
        self._report = report
        self._restarts = restarts or Restarts()
        self._probe_every = probe_every
        self._ready = {child.name: asyncio.Event() for child in children}
        self._running: dict[str, Process] = {}
        self._fork_log = logs / "forkserver.log"
        self._forks = ForkServer(logs, self._fork_log, bare_environment(os.environ, logs, {}))
        self._hurry = asyncio.Event()

    async def run(self, body: Callable[[], Awaitable[T]]) -> T:
        """Start all children, then await `body`, then stop all; gives the body's result.

        Raises `ChildFailedError` when a child does not come up or crashes too often; the body is cancelled then. Every
        child is stopped before this returns or raises, also on cancellation.
        """
        async with self._forks:
            return await self._run(body)

    async def _run(self, body: Callable[[], Awaitable[T]]) -> T:
        children = [child for wave in self._waves for child in wave]
        for log in (self._fork_log, *(self.log(child) for child in children)):
            if log.exists():
                log.replace(log.with_suffix(".log.1"))
        keepers = [asyncio.create_task(self._keep(child)) for child in children]
        story = asyncio.create_task(self._when_ready(body))
        try:
            done, _ = await asyncio.wait([story, *keepers], return_when=asyncio.FIRST_COMPLETED)
            if story not in done:
                for failed in done:
                    failed.result()
            return await story
        finally:
            for task in (story, *keepers):
                task.cancel()
            await asyncio.gather(story, *keepers, return_exceptions=True)
            await self._stop_all()

    def hurry(self) -> None:
        """Do not wait for children to stop by themselves any longer: kill them."""
        self._hurry.set()

    def log(self, child: Child) -> Path:
        return self._logs / f"{child.name}.log"

    def pid(self, name: str) -> int | None:
        """The process id (and group id) of a running child."""
        process = self._running.get(name)
        return process.pid if process else None

    async def _when_ready(self, body: Callable[[], Awaitable[T]]) -> T:
        for event in self._ready.values():
            await event.wait()
        return await body()

    async def _keep(self, child: Child) -> None:
        """Run the child for ever; only ends by raising."""
        await self._prepare(child)
        for name in child.after:
            await self._ready[name].wait()
        loop = asyncio.get_running_loop()
        crashes: list[float] = []
        while True:
            process, run = await self._start(child)
            came_up = await self._until_ready(child, process, run)
            code = await process.wait()
            self._forget(child, process)
            tail = read_tail(run.log)
            how = f"{child.title} ended by itself ({_manner(code)})"
            if not came_up and not self._ready[child.name].is_set():
                raise ChildFailedError(f"{how} before it was ready", run.log, tail)
            now = loop.time()
            crashes = [at for at in crashes if now - at < self._restarts.window] + [now]
            if len(crashes) > self._restarts.most:
                crashed = f"{how}, {len(crashes)} times within {self._restarts.window:g} s"
                raise ChildFailedError(crashed, run.log, tail)
            pause = min(self._restarts.first_pause * 2 ** (len(crashes) - 1), self._restarts.longest_pause)
            again = f"restart {len(crashes)} of {self._restarts.most} in {pause:g} s"
            self._report(Happening(child, CRASHED, f"{how}; {again}", tail))
            await asyncio.sleep(pause)

    async def _start(self, child: Child) -> tuple[Process, Started]:
        self._report(Happening(child, STARTING))
        at = datetime.now(UTC)
        log = self.log(child)
        try:
            process = await self._process(child, log)
        except OSError as error:
            raise ChildFailedError(f"{child.title} could not be started: {error}", log) from error
        self._leash.hold(process.pid)
        self._running[child.name] = process
        return process, Started(process.pid, at, log)

    async def _prepare(self, child: Child) -> None:
        """Have loaded what it will need, while those come up that it waits for."""
        if child.after and _forkable(child):
            with contextlib.suppress(OSError):
                await self._forks.load(child.also_loads, child.argv[2])

    async def _process(self, child: Child, log: Path) -> Process:
        if _forkable(child):
            # Without a fork server everything works as well, only later; why there is none stands in its log.
            with contextlib.suppress(OSError):
                return await self._forks.start(*child.argv[2:], environment=child.environment, log=log)
        with log.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *child.argv,
                env=dict(child.environment),
                cwd=self._logs,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )

    async def _until_ready(self, child: Child, process: Process, run: Started) -> bool:
        """True once the probe says so, false when the child ended before. Raises when it takes too long."""
        deadline = asyncio.get_running_loop().time() + child.patience
        while process.returncode is None:
            if await asyncio.to_thread(child.ready, run) and process.returncode is None:
                self._ready[child.name].set()
                took = (datetime.now(UTC) - run.at).total_seconds()
                self._report(Happening(child, READY, f"after {took:.1f} s"))
                return True
            if asyncio.get_running_loop().time() > deadline:
                waited = f"{child.title} was not ready after {child.patience:g} s"
                raise ChildFailedError(waited, run.log, read_tail(run.log))
            await asyncio.sleep(self._probe_every)
        return False

    async def _stop_all(self) -> None:
        for wave in reversed(self._waves):
            await asyncio.gather(*(self._stop(child) for child in wave))

    async def _stop(self, child: Child) -> None:
        process = self._running.get(child.name)
        if process is None:
            return
        end_group(process.pid, signal.SIGTERM)
        gone = asyncio.create_task(process.wait())
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait([gone, hurry], timeout=child.grace, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        killed = not gone.done()
        if killed:
            end_group(process.pid, signal.SIGKILL)
        await gone
        self._forget(child, process)
        self._report(Happening(child, KILLED if killed else STOPPED))

    def _forget(self, child: Child, process: Process) -> None:
        # The leader is gone, others of its group may not be.
        end_group(process.pid, signal.SIGKILL)
        self._leash.free(process.pid)
        self._running.pop(child.name, None)


def _forkable(child: Child) -> bool:
    return FORKS_SAFELY and child.argv[:2] == (sys.executable, "-m")


def read_tail(log: Path, lines: int = TAIL_LINES) -> tuple[str, ...]:
    """The last lines of a log, undecodable bytes replaced; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple(line.rstrip() for line in text.splitlines()[-lines:])


def _manner(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
