"""The bot: `python -m bot`. Socket Mode by default, HTTP by `slack.mode: http` in lessor.yaml."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import aiohttp
import structlog
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.app import build_app
from bot.background import Background, Workshop
from bot.desk import Desk
from bot.directory import slack_directory
from bot.garbage import begin_tidying
from bot.http import Signatures, web_app
from bot.installation import Installation, StartError, introduce
from bot.settings import slack_settings
from bot.slack_client import SlackClient
from lessor.config import Config, ConfigError
from lessor.gateway import Gateway
from lessor.leaving import leave
from lessor.logs import log_without_values
from lessor.metrics import served_metrics
from lessor.placing import require_external_ids
from lessor.ports import LedgerUnavailableError
from lessor.reload import LiveConfig, keep_current
from lessor.rendering import slack_renderer
from lessor.settings import Settings, SettingsError, read_settings
from lessor.wiring import Parts, build_gateway, connect_temporal, judge, open_parts, utc_now

START_AGAIN_SECONDS = 15.0
"""How often requests are started that were kept while Temporal could not be reached."""

CONNECT_AGAIN_SECONDS = 5.0
THREADS = 64

SWITCH_SECONDS = 0.0002
"""How long work may keep the interpreter to itself while an acknowledgement waits; Python's own value is 5 ms."""

Result = TypeVar("Result")

log = structlog.get_logger("lessor.bot")


def main() -> int:
    """Run until SIGINT or SIGTERM. 0 after an orderly stop, 2 when it cannot start as it is configured."""
    log_without_values()
    try:
        settings = read_settings()
        live = LiveConfig.read(settings.lessor_config)
        http = live.config.slack.mode == "http"
        settings.require("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET" if http else "SLACK_APP_TOKEN")
        require_external_ids(live.config)
        parts = open_parts(settings, live)
    except (ConfigError, SettingsError, LedgerUnavailableError) as error:
        return _cannot_start(error)
    try:
        with served_metrics(settings.lessor_metrics_port):
            asyncio.run(_serve(settings, parts))
    except (StartError, SettingsError) as error:
        return _cannot_start(error)
    finally:
        parts.ledger.close()
    return 0


def _cannot_start(error: Exception) -> int:
    print(f"lessor bot: {error}", file=sys.stderr)  # noqa: T201 - the one line that says why it does not start
    return 2


async def _serve(settings: Settings, parts: Parts) -> None:
    """Acknowledge in this loop, and work in another one: nothing that is slow can delay an acknowledgement."""
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    sys.setswitchinterval(SWITCH_SECONDS)
    async with Workshop() as workshop, AsyncExitStack() as stack:
        work = AsyncExitStack()
        stack.push_async_callback(lambda: workshop.do(work.aclose()))
        slack = await workshop.do(_client(settings, work))
        installation = await _unless(stop, workshop.do(introduce(slack)))
        if installation is None:
            return
        desk = await workshop.do(_desk(settings, parts, slack, installation, workshop))
        stack.push_async_callback(desk.background.drain)
        starting = asyncio.ensure_future(workshop.do(_start_unstarted(desk.gateway)))
        stack.callback(starting.cancel)
        stack.callback(asyncio.ensure_future(keep_current(parts.live)).cancel)
        stack.callback(begin_tidying(workshop, desk.background.front).cancel)
        await _listen(stack, stop, desk, installation, settings, parts.config)
        log.info("bot-ready", mode=parts.config.slack.mode, team=installation.team_id)
        await stop.wait()
        log.info("bot-stopping")


async def _client(settings: Settings, stack: AsyncExitStack) -> SlackClient:
    """The client of the loop that this runs in."""
    # Name look-ups share the threads of a database that may hang: many of them, and names are kept for a while.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="bot"))
    connector = aiohttp.TCPConnector(ttl_dns_cache=300, limit=0)
    session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
    return SlackClient(_secret(settings, "slack_bot_token"), base_url=settings.slack_api_url, session=session)


async def _desk(
    settings: Settings, parts: Parts, slack: SlackClient, installation: Installation, workshop: Workshop
) -> Desk:
    parts = parts.overlay(slack_directory(parts.configured, slack, lambda: parts.config))
    gateway = build_gateway(parts, await connect_temporal(), judge(parts.live))
    wording = slack_renderer(settings.lessor_templates)
    background = Background(workshop.loop)
    return Desk(gateway, slack, wording, slack_settings(parts.config), utc_now, background, home=installation.home)


async def _listen(
    stack: AsyncExitStack,
    stop: asyncio.Event,
    desk: Desk,
    installation: Installation,
    settings: Settings,
    config: Config,
) -> None:
    app = build_app(desk, installation)
    if config.slack.mode == "http":
        signatures = Signatures(_secret(settings, "slack_signing_secret"))
        runner = web.AppRunner(web_app(app, installation, signatures, desk.background), access_log=None)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, config.slack.http_host, config.slack.http_port).start()
        except OSError as error:
            where = f"{config.slack.http_host}:{config.slack.http_port}"
            raise StartError(
                f"cannot listen on {where} ({os.strerror(error.errno or 0).lower()}); change slack.http_port"
            ) from error
        return
    client = await _client(settings, stack)
    socket = AsyncSocketModeHandler(app, _secret(settings, "slack_app_token"), web_client=client)
    stack.push_async_callback(socket.close_async)
    await _unless(stop, _connect(socket))


async def _connect(socket: AsyncSocketModeHandler) -> None:
    """Open the socket, again while Slack cannot be reached. Raises `StartError` for a token that cannot work."""
    while True:
        try:
            # The SDK's own connecting tries a wrong token for ever, so the address is fetched here first.
            address = await socket.client.web_client.apps_connections_open(app_token=socket.app_token)
            socket.client.wss_uri = address["url"]
            await socket.connect_async()  # type: ignore[no-untyped-call]
            return
        except SlackApiError as error:
            word = slack_errors.code(error)
            if word in slack_errors.TOKEN_PROBLEMS:
                raise StartError(
                    f"Slack refuses SLACK_APP_TOKEN ({word}): make an app-level token (xapp-...) with "
                    "connections:write under api.slack.com/apps, Basic Information"
                ) from error
            log.warning("slack cannot be reached, trying again", problem=word, seconds=CONNECT_AGAIN_SECONDS)
        except slack_errors.UNREACHABLE as error:
            log.warning("slack cannot be reached, trying again", problem=str(error), seconds=CONNECT_AGAIN_SECONDS)
        await asyncio.sleep(CONNECT_AGAIN_SECONDS)


async def _start_unstarted(gateway: Gateway) -> None:
    """Start kept requests now and then; a ledger that is down is tried again."""
    while True:
        try:
            started = await gateway.start_unstarted()
            if started:
                log.info("kept requests started", count=started)
        except Exception as error:
            log.warning("kept requests could not be started, trying again", problem=str(error)[:200])
        await asyncio.sleep(START_AGAIN_SECONDS)


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """The result of the work; `None` when told to stop before it is there."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return working.result()
    working.cancel()
    return None


def _secret(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    return value.get_secret_value() if value else ""


if __name__ == "__main__":
    leave(main())
