"""The HTTP face: AWS calls on every path but `/_sim/`, switches and the page under `/_sim/`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.cloud import SimulatedCloud
from lessor.sandbox.aws.control_api import add_control_routes
from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.persistence import StateFile

_LARGEST_BODY = 16 * 1024 * 1024
_running = threading.Lock()


@dataclass(frozen=True)
class RunningSimulator:
    """A simulated AWS that listens. `url` is what goes into `AWS_ENDPOINT_URL` or `endpoint_url`.

    `beginning` says in one line whether it began empty or goes on from a file.
    """

    url: str
    controls: Controls
    cloud: SimulatedCloud
    beginning: str

    @property
    def page(self) -> str:
        return f"{self.url}/_sim/"

    def reset(self) -> None:
        """An empty AWS with all switches off; cheap enough before every test."""
        self.cloud.reset()


@contextmanager
def running_aws_simulator(
    port: int = 0, host: str = "127.0.0.1", state_file: StateFile | None = None
) -> Iterator[RunningSimulator]:
    """Run the simulated AWS in a thread of this process, on a free port by default.

    With `state_file` it goes on where the last run ended and writes down every change before it answers.
    moto keeps its state in module globals, so a second one in the same process is refused with `RuntimeError`.
    """
    if not _running.acquire(blocking=False):
        raise RuntimeError("a simulated AWS already runs in this process; share it and call reset() between tests")
    try:
        cloud = SimulatedCloud()
        beginning = "It begins empty and lives in memory: what you launch is gone when it stops."
        if state_file:
            beginning = state_file.load(cloud)
            cloud.on_change = lambda: state_file.save(cloud)
        with _ServerThread(cloud, host, port) as url:
            yield RunningSimulator(url, Controls(cloud), cloud, beginning)
            cloud.on_change()
    finally:
        _running.release()


def make_application(cloud: SimulatedCloud, executor: ThreadPoolExecutor) -> web.Application:
    """The aiohttp application; `executor` runs the calls, so that a slow one does not hold up delivery."""
    application = web.Application(client_max_size=_LARGEST_BODY)
    add_control_routes(application, Controls(cloud), cloud)

    async def aws(request: web.Request) -> web.StreamResponse:
        call = ApiCall.parse(request.method, request.path, request.query_string, request.headers, await request.read())
        delivery = await asyncio.get_running_loop().run_in_executor(executor, cloud.answer, call)
        if delivery.delay:
            await asyncio.sleep(delivery.delay)
        if delivery.answer is None:
            return _break_connection(request)
        return web.Response(status=delivery.answer.status, body=delivery.answer.body, headers=delivery.answer.headers)

    application.router.add_route("*", "/{path:.*}", aws)
    return application


def _break_connection(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


class _ServerThread:
    """An event loop of its own in a daemon thread, so that synchronous tests can use the server."""

    def __init__(self, cloud: SimulatedCloud, host: str, port: int) -> None:
        self._cloud, self._host, self._port = cloud, host, port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simulated-aws", daemon=True)
        self._executor = ThreadPoolExecutor(4, thread_name_prefix="simulated-aws-call")
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> str:
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
        self._executor.shutdown(wait=True)

    async def _listen(self) -> str:
        application = make_application(self._cloud, self._executor)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        # aiohttp forgets a request whose caller went away: it would sleep on in a loop that is closed under it.
        forgotten = asyncio.all_tasks() - {asyncio.current_task()}
        for task in forgotten:
            task.cancel()
        await asyncio.gather(*forgotten, return_exceptions=True)
