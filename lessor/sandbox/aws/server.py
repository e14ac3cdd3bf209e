"""The HTTP face: AWS calls on every path but `/_sim/`, switches and the page under `/_sim/`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

from lessor.sandbox.aws.call import ApiCall
from lessor.sandbox.aws.cloud import SimulatedCloud
from lessor.sandbox.aws.control_api import add_control_routes
from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.persistence import StateFile
from lessor.sandbox.serving import ServerThread

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
        with (
            ThreadPoolExecutor(4, thread_name_prefix="simulated-aws-call") as executor,
            ServerThread("simulated-aws", lambda: make_application(cloud, executor), host, port) as url,
        ):
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
