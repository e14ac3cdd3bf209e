"""The dashboard behind a real server, on a free port of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from tests.web.world import World


@asynccontextmanager
async def served(world: World) -> AsyncIterator[str]:
    """The address while the block runs."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(world.app, log_level="error", access_log=False, lifespan="off"))
    with listener:
        going = asyncio.create_task(server._serve([listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await going
