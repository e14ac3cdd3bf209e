"""Where a comparison takes place: one dev server, lessor's worker and the floor's, each in a process of its own."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import psutil
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from bench import bare, children
from bench.people import submission
from bench.result import OUT
from lessor.contracts import Act, Answer, LeaseOutcome, Verb
from lessor.domain.lease import Lease, State
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine
from lessor.ledger import SqlLedger, open_ledger
from tests.temporal import dev_server

T = TypeVar("T")
NUMBERS = itertools.count(1)
AT_ONCE = 8
"""Calls in flight: more make the dev server refuse some."""

PATIENCE = timedelta(minutes=5)
"""How long a workflow may take to answer: what waits for a worker that was killed does so for up to `IN_CACHE`, and one
that has a whole crowd to serve comes to questions last."""

GIVEN_UP = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
"""What server and SDK say when nobody has answered in their own time, which is less."""

POLL_SECONDS = 0.1
"""Between looks at the ledger: whoever asks shares the CPUs with those who are measured."""


class WorkerProcess:
    """One worker in a process of its own, of kind `product` or `bare`; its errors go to a file in `bench/out`."""

    def __init__(self, kind: str, *arguments: str) -> None:
        self.kind = kind
        self._command = [sys.executable, "-m", "bench.worker", kind, *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, and return when it polls. Raises RuntimeError when it does not come up."""
        log = OUT / f"worker-{self.kind}.log"
        self._process = children.start(self._command, log)
        if await asyncio.to_thread(children.first_line, self._process, log) != "ready":
            raise RuntimeError(f"the {self.kind} worker did not start; see {log}")

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(self.process.memory_info().rss)

    def kill(self) -> None:
        """SIGKILL, as the kernel does when memory runs out."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    async def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(self._process.wait)


@dataclass(frozen=True)
class Spent:
    """What a piece of work took: CPU seconds of the server and of one worker, and seconds on the clock."""

    server: float
    worker: float
    wall: float

    @property
    def cpu(self) -> float:
        return self.server + self.worker


@dataclass
class Stage:
    """The server with both workers. `client` speaks as lessor does, `plain` as the SDK does by default."""

    client: Client
    plain: Client
    server: psutil.Process
    product: WorkerProcess
    bare: WorkerProcess
    ledger: SqlLedger

    async def spent(self, worker: WorkerProcess, work: Callable[[], Awaitable[object]]) -> Spent:
        """Do `work`; only the server and this worker are counted, not the process that asks."""
        before, started = (_cpu(self.server), _cpu(worker.process)), time.monotonic()
        await work()
        wall = time.monotonic() - started
        return Spent(_cpu(self.server) - before[0], _cpu(worker.process) - before[1], wall)

    async def lease(self, terms: Terms, **changes: Any) -> str:
        """Start a lease's workflow as the gateway does; its id."""
        lease_id = f"gpu-{next(NUMBERS):08d}"
        await TemporalEngine(self.client, lambda: terms).start(submission(lease_id, **changes))
        return lease_id

    def handle(self, lease_id: str) -> WorkflowHandle[Any, LeaseOutcome]:
        return self.client.get_workflow_handle(lease_id, result_type=LeaseOutcome)

    async def act(self, lease_id: str, act: Act) -> Answer:
        answer: Answer = await self.handle(lease_id).execute_update(act.verb.value, act, id=act.id, result_type=Answer)
        if not answer.ok:
            raise RuntimeError(f"{lease_id}: {act.verb.value} was refused: {answer.message}")
        return answer

    async def until(self, lease_id: str, *states: State, every: float = POLL_SECONDS) -> Lease:
        """Wait for one of these states by reading the ledger, which asks nothing of the server or the worker."""
        while True:
            lease = await asyncio.to_thread(self.ledger.lease, lease_id)
            if lease is not None and lease.state in states:
                return lease
            if lease is not None and lease.final:
                raise RuntimeError(f"{lease_id} is {lease.state.value}: {lease.problem}")
            await asyncio.sleep(every)

    async def warned(self, lease_id: str) -> None:
        """Wait until the owner was warned: then nothing more happens to the lease before its end."""
        while not (await self.until(lease_id, State.ACTIVE)).warned:  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)

    async def answer(self, handle: WorkflowHandle[Any, Any], query: Any, **options: Any) -> Any:
        """What a workflow answers, however often that has to be asked. Raises TimeoutError after `PATIENCE`."""
        async with asyncio.timeout(PATIENCE.total_seconds()):
            while True:
                try:
                    return await handle.query(query, rpc_timeout=PATIENCE, **options)
                except RPCError as error:
                    if error.status not in GIVEN_UP:
                        raise

    async def asleep(self, handle: WorkflowHandle[Any, Any]) -> None:
        """Wait until a `BareTimer` has played its first script."""
        while not await self.answer(handle, bare.BareTimer.asleep):  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)

    async def late(self, handle: WorkflowHandle[Any, Any]) -> float:
        """Wait until a `BareTimer` has played its second script; how many seconds late it woke up."""
        while (late := await self.answer(handle, bare.BareTimer.late)) is None:  # noqa: ASYNC110
            await asyncio.sleep(1)
        return float(late)

    async def bare_workflow(self, workflow: Any, *arguments: Any) -> WorkflowHandle[Any, Any]:
        return await self.plain.start_workflow(
            workflow, args=arguments, id=f"bare-{next(NUMBERS)}", task_queue=bare.QUEUE
        )


@asynccontextmanager
async def stage(cache: int = 1_000) -> AsyncIterator[Stage]:
    """A fresh server and ledger with both workers polling; everything is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="lessor-bench-") as directory:
        ledger_url = f"sqlite:///{Path(directory) / 'lessor.db'}"
        ledger = open_ledger(ledger_url)
        before = set(_children())
        async with dev_server() as env:
            address = env.client.service_client.config.target_host
            common = ("--address", address, "--cache", str(cache))
            product = WorkerProcess("product", *common, "--ledger", ledger_url)
            floor = WorkerProcess("bare", *common)
            server = next(child for child in _children() if child not in before)
            try:
                await product.start()
                await floor.start()
                plain = await Client.connect(address, namespace=env.client.namespace)
                yield Stage(env.client, plain, server, product, floor, ledger)
            finally:
                await product.stop()
                await floor.stop()
                ledger.close()


async def each(items: Iterable[T], do: Callable[[T], Awaitable[object]], at_once: int = AT_ONCE) -> None:
    """Do it for every item, so many at once."""
    todo = iter(items)

    async def some() -> None:
        for item in todo:
            await do(item)

    await asyncio.gather(*(some() for _ in range(at_once)))


def approval(lease_id: str, by: str) -> Act:
    return Act(f"approve-{lease_id}", Verb.APPROVE, by)


def _children() -> list[psutil.Process]:
    return psutil.Process().children()


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
