"""Servers of the acknowledgement benchmark, each in a process of its own, until it is killed.

`product` is lessor's bot in HTTP mode with its real gateway, over ports that answer at once or, with `--hang`, never;
`floor` is a Bolt app that only acknowledges; `slack` is a Web API that says ok to everything. Prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import aiohttp
import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bench.cloud import InstantCloud
from bench.people import TEAM
from bench.worker import Directory
from bot.__main__ import SWITCH_SECONDS, THREADS
from bot.app import build_app
from bot.background import Background, Workshop
from bot.desk import Desk
from bot.garbage import begin_tidying
from bot.http import PATH, Signatures, web_app
from bot.installation import Installation
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.contracts import Act, Answer
from lessor.domain.request import Limits, Market
from lessor.gateway import Gateway, ModelChoice, Offering, PlaceChoice
from lessor.leaving import leave
from lessor.ledger import open_ledger
from lessor.ports import Submission
from lessor.rendering import slack_renderer

SECRET = "a signing secret of the benchmark"
TOKEN = "xoxb-bench"
INSTALLATION = Installation("T0BENCH", "", "U0BOT", "B0BOT", "A0BENCH", TOKEN)
PLACE = PlaceChoice("research", "AWS", "aws", ("us-east-1",), (), (Market.ON_DEMAND,))
OFFERING = Offering(
    (PLACE,),
    lambda: (ModelChoice("A10G", "A10G", 24, (1, 2, 4)),),
    lambda person: Limits(teams=(TEAM,), places=("research",)),
)


class InstantEngine:
    """A Temporal that takes everything at once."""

    async def start(self, submission: Submission) -> bool:
        return True

    async def act(self, lease_id: str, act: Act) -> Answer | None:
        return None


class Hanging:
    """Whatever is called blocks for ever: the calling thread, or, in an `async` engine, the task."""

    def __init__(self, *, blocking: bool) -> None:
        self._blocking = blocking

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._block if self._blocking else self._wait

    def _block(self, *_: Any, **__: Any) -> Any:
        threading.Event().wait()

    async def _wait(self, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ackserver")
    parser.add_argument("kind", choices=("product", "floor", "slack"))
    parser.add_argument("--slack", default="")
    parser.add_argument("--hang", action="store_true")
    asyncio.run(_serve(parser.parse_args()))
    return 0


async def _serve(wanted: argparse.Namespace) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(open("/dev/null", "w")))  # noqa: SIM115, ASYNC230
    async with AsyncExitStack() as stack:
        apps = {"floor": _floor, "slack": _slack}
        app = await _product(wanted, stack) if wanted.kind == "product" else apps[wanted.kind]()
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()


async def _product(wanted: argparse.Namespace, stack: AsyncExitStack) -> web.Application:
    """As `python -m bot` puts it together: one loop acknowledges, another one works."""
    sys.setswitchinterval(SWITCH_SECONDS)
    workshop = await stack.enter_async_context(Workshop())
    desk = await workshop.do(_desk(wanted, workshop))
    stack.callback(begin_tidying(workshop, desk.background.front).cancel)
    return web_app(build_app(desk, INSTALLATION), INSTALLATION, Signatures(SECRET), desk.background)


async def _desk(wanted: argparse.Namespace, workshop: Workshop) -> Desk:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    slack = SlackClient(TOKEN, base_url=f"{wanted.slack}/api/", session=session)
    ports: tuple[Any, Any, Any] = (InstantEngine(), open_ledger("sqlite://"), InstantCloud(_now))
    if wanted.hang:
        ports = (Hanging(blocking=False), Hanging(blocking=True), Hanging(blocking=True))
    engine, ledger, cloud = ports
    gateway = Gateway(engine, ledger, Directory(), {"aws": cloud}, OFFERING, _now)
    background = Background(workshop.loop)
    return Desk(gateway, slack, slack_renderer(), SlackSettings("bench"), _now, background, home=INSTALLATION.home)


def _floor() -> web.Application:
    async def authorize(**_: Any) -> AuthorizeResult:
        return INSTALLATION.authorization

    app = AsyncApp(signing_secret=SECRET, authorize=authorize, process_before_response=True)

    @app.command("/gpu")
    async def acknowledge(ack: Callable[[], Any]) -> None:
        await ack()

    async def events(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    served = web.Application()
    served.router.add_post(PATH, events)
    return served


def _slack() -> web.Application:
    async def ok(_: web.Request) -> web.Response:
        view = {"id": "V1", "hash": "1", "state": {"values": {}}}
        return web.json_response({"ok": True, "view": view, "ts": "1.1", "channel": {"id": "D1"}, "user": {}})

    served = web.Application()
    served.router.add_post("/{path:.*}", ok)
    served.router.add_get("/{path:.*}", ok)
    return served


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    leave(main())
