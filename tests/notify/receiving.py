"""A program of an organisation's own that hears of events, and answers as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest_asyncio
from aiohttp import web


@dataclass
class Receiver:
    """Answers with `statuses` in turn, then with 204; `silent` answers nothing until it is set."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    elsewhere: int = 0
    silent: asyncio.Event | None = None

    async def answer(self, request: web.Request) -> web.Response:
        if request.path != "/lessor":
            self.elsewhere += 1
            return web.Response()
        self.got.append(({name.lower(): value for name, value in request.headers.items()}, await request.read()))
        if self.silent:
            await self.silent.wait()
        status = self.statuses.pop(0) if self.statuses else 204
        return web.Response(status=status, headers={"location": "/elsewhere"} if 300 <= status < 400 else {})


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/lessor?key=confidential"
    yield made
    await runner.cleanup()


@pytest_asyncio.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened
