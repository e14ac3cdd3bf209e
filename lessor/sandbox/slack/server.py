"""The sandbox as a server: one ASGI application, run in this process or as a program.

    async with running_slack_sandbox() as slack:
        os.environ["SLACK_API_URL"] = slack.api_url
        requester = slack.person("requester")
        await requester.command("/gpu", "request 2 a100", channel="gpu-requests")

The handle is a `SandboxClient` (see `client`), so a test and another process use the same words.
"""

# ruff: noqa: ASYNC109 - callers say how long they are ready to wait

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from lessor.sandbox.slack import (
    api_apps,
    api_chat,
    api_conversations,
    api_files,
    api_people,
    api_usergroups,
    api_views,
)
from lessor.sandbox.slack.api import WebApi
from lessor.sandbox.slack.client import PATIENCE_SECONDS, SandboxClient
from lessor.sandbox.slack.clock import Clock, SystemClock
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.fault_routes import FaultRoutes
from lessor.sandbox.slack.hooks import Hooks
from lessor.sandbox.slack.http_mode import HttpTarget
from lessor.sandbox.slack.people_routes import PeopleRoutes
from lessor.sandbox.slack.persistence import Snapshot
from lessor.sandbox.slack.workspace import Workspace

_STATIC = Path(__file__).parent / "static"
_MODULES = (api_apps, api_chat, api_conversations, api_files, api_people, api_usergroups, api_views)


class RunningSandbox(SandboxClient):
    """A sandbox in this process: a client of it, and its `core` for what only a test may touch."""

    def __init__(self, url: str, core: Core) -> None:
        super().__init__(url)
        self.core = core
        self.api_url = f"{url}/api/"
        self.bot_token = core.workspace.app.bot_token
        self.app_token = core.workspace.app.app_token
        self.signing_secret = core.workspace.app.signing_secret

    async def wait_for_connections(self, count: int = 1, timeout: float = PATIENCE_SECONDS) -> None:
        """Return once the app holds `count` Socket Mode connections; raises TimeoutError."""
        await self.core.sockets.wait_for(count, timeout)


@contextlib.asynccontextmanager
async def running_slack_sandbox(
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    workspace: Workspace | None = None,
    clock: Clock | None = None,
    http_target: str = "",
) -> AsyncIterator[RunningSandbox]:
    """Serve a sandbox on a free (or the given) port for as long as the block runs."""
    with bound(host, port) as listening:
        url = f"http://{host}:{listening.getsockname()[1]}"
        core = Core(workspace or Workspace.default(), clock or SystemClock(), url)
        if http_target:
            core.deliveries.transport = HttpTarget(http_target, core.workspace.app.signing_secret, core.clock)
        server = _ServerInside(core)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await server.ready.wait()
        try:
            async with RunningSandbox(url, core) as running:
                yield running
        finally:
            server.stop()
            await serving


async def serve(
    port: int, host: str, workspace: Workspace, http_target: str = "", snapshot: Snapshot | None = None
) -> None:
    """Run until the process is told to stop; messages are kept in `snapshot` when given.

    Raises OSError when the port is taken and ValueError when the snapshot cannot be read, before anything starts.
    """
    with bound(host, port) as listening:
        core = Core(workspace, SystemClock(), f"http://{host}:{listening.getsockname()[1]}")
        if http_target:
            core.deliveries.transport = HttpTarget(http_target, core.workspace.app.signing_secret, core.clock)
        if snapshot is not None:
            snapshot.load(core.store, core.files)
        keeping = asyncio.create_task(snapshot.keep(core.store, core.files)) if snapshot is not None else None
        sys.stdout.write(f"Slack sandbox on {core.base_url}/\n")
        sys.stdout.flush()
        try:
            await _Server(core).serve(sockets=[listening])
        finally:
            if keeping is not None and snapshot is not None:
                keeping.cancel()
                snapshot.save(core.store, core.files)


def application(core: Core, closing: asyncio.Event) -> Starlette:
    """The ASGI application over `core`; `closing` ends the event streams."""
    methods = {name: method for module in _MODULES for name, method in module.METHODS.items()}
    web_api = WebApi(core, methods)

    async def call(request: Request) -> Response:
        return await web_api(request)

    async def page(request: Request) -> Response:
        return FileResponse(_STATIC / "index.html", headers={"Cache-Control": "no-store"})

    return Starlette(
        routes=[
            Route("/", page),
            Route("/api/{method}", call, methods=["GET", "POST"]),
            WebSocketRoute("/link/", core.sockets.serve),
            *PeopleRoutes(core, closing).routes(),
            *FaultRoutes(core).routes(),
            *Hooks(core).routes(),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]
    )


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, so that the port is known (and known to be free) before anything starts."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listening):
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as taken:
            raise OSError(f"port {port} on {host} cannot be used ({taken.strerror}); choose another") from taken
        listening.listen(128)
        yield listening


class _Server(uvicorn.Server):
    """A uvicorn that ends the sandbox's streams and sockets before it waits for connections to close."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._closing = asyncio.Event()
        super().__init__(_config(application(core, self._closing)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._closing.set()
        self._core.store.touch()
        await self._core.deliveries.close()
        await self._core.sockets.close()
        await super().shutdown(sockets)


class _ServerInside(_Server):
    """A server in somebody else's process: leaves its signals alone and stops at once when told."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.ready = asyncio.Event()
        self._told = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self._told.wait()

    def stop(self) -> None:
        self.should_exit = self.force_exit = True
        self._told.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app, ws="websockets-sansio", lifespan="off", log_level="error", access_log=False, timeout_graceful_shutdown=1
    )
