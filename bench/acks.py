"""How long Slack waits for an acknowledgement, beside a Bolt app that only acknowledges."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from urllib.parse import urlencode

import aiohttp

from bench import children
from bench.ackserver import SECRET
from bench.people import REQUESTER
from bench.result import OUT, Result
from bench.stage import each
from bot.http import PATH

ROUNDS = 5
RATE = 100
SECONDS = 5
CONNECTIONS = 32
REQUESTS = 2_000
LONGEST_MS = 300.0
TEXTS = (
    "",
    "list",
    "show gpu-7k3qxa2m",
    "request",
    'request 1 x A10G 8h team:research training in research "train the ranking model"',
)
NUMBERS = itertools.count(1)

Shape = Callable[[aiohttp.ClientSession, str, str, float], Awaitable[list[float]]]


async def run(scale: float) -> list[Result]:
    results: list[Result] = []
    async with AsyncExitStack() as stack:
        start = stack.enter_async_context
        slack = await start(_server("slack"))
        served = {
            "floor": await start(_server("floor")),
            "quick": await start(_server("product", "--slack", slack)),
            "hung": await start(_server("product", "--slack", slack, "--hang")),
        }
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        session = await start(aiohttp.ClientSession(connector=connector))
        shapes: tuple[tuple[str, Shape], ...] = (("at 100 requests/s", _steady), ("at 32 connections", _pressed))
        for words, shape in shapes:
            found: dict[str, list[list[float]]] = {name: [] for name in served}
            for _, (name, url) in itertools.product(range(ROUNDS), served.items()):
                found[name].append(sorted(await shape(session, url, slack, scale)))
                await asyncio.sleep(0.5)
            results += _results(words, found)
    return results


def _results(words: str, found: dict[str, list[list[float]]]) -> list[Result]:
    p50 = {name: median(_at(times, 0.50) for times in rounds) for name, rounds in found.items()}
    p99 = {name: median(_at(times, 0.99) for times in rounds) for name, rounds in found.items()}
    longest = {name: max(times[-1] for times in rounds) for name, rounds in found.items()}
    hung = "while Temporal, ledger and cloud hang"
    return [
        Result(f"ack p99 {words}", p99["quick"], "ms", 2.0, p99["floor"]),
        Result(f"ack p99 {words} {hung}", p99["hung"], "ms", 2.0, p99["floor"]),
        Result(f"longest ack {words}", longest["quick"], "ms", LONGEST_MS),
        Result(f"longest ack {words} {hung}", longest["hung"], "ms", LONGEST_MS),
        Result(f"longest ack {words} of the floor", longest["floor"], "ms"),
        Result(f"ack p50 {words}", p50["quick"], "ms", None, p50["floor"]),
    ]


async def _steady(session: aiohttp.ClientSession, url: str, slack: str, scale: float) -> list[float]:
    """Requests at fixed instants, however long the earlier ones take."""
    times: list[float] = []
    count = max(int(RATE * SECONDS * scale), RATE)
    sent = [_signed(slack) for _ in range(count)]
    started = time.monotonic()
    tasks = []
    for number, (body, headers) in enumerate(sent):
        await asyncio.sleep(max(started + number / RATE - time.monotonic(), 0))
        tasks.append(asyncio.create_task(_post(session, url, body, headers, times)))
    await asyncio.gather(*tasks)
    return times


async def _pressed(session: aiohttp.ClientSession, url: str, slack: str, scale: float) -> list[float]:
    """Every connection sends its next request as soon as it has the answer."""
    times: list[float] = []
    sent = [_signed(slack) for _ in range(max(int(REQUESTS * scale), 10 * CONNECTIONS))]
    await each(sent, lambda one: _post(session, url, *one, times), at_once=CONNECTIONS)
    return times


async def _post(
    session: aiohttp.ClientSession, url: str, body: bytes, headers: dict[str, str], times: list[float]
) -> None:
    started = time.perf_counter()
    async with session.post(f"{url}{PATH}", data=body, headers=headers) as answer:
        await answer.read()
    times.append((time.perf_counter() - started) * 1000)
    if answer.status != 200:
        raise RuntimeError(f"{url} answered {answer.status} instead of an acknowledgement")


def _signed(slack: str) -> tuple[bytes, dict[str, str]]:
    number = next(NUMBERS)
    fields = {
        "team_id": "T0BENCH",
        "api_app_id": "A0BENCH",
        "channel_id": "C0GPUREQUESTS",
        "user_id": REQUESTER.id,
        "command": "/gpu",
        "text": TEXTS[number % len(TEXTS)],
        "trigger_id": f"{number}.2.3",
        "response_url": f"{slack}/commands/{number}",
    }
    body, stamp = urlencode(fields).encode(), str(int(time.time()))
    digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return body, {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={digest}",
    }


def _at(times: list[float], share: float) -> float:
    return times[min(int(len(times) * share), len(times) - 1)]


@asynccontextmanager
async def _server(kind: str, *arguments: str) -> AsyncIterator[str]:
    command = [sys.executable, "-m", "bench.ackserver", kind, *arguments]
    log = OUT / f"ack-{kind}.log"
    process = children.start(command, log)
    try:
        port = await asyncio.to_thread(children.first_line, process, log)
        if not port:
            raise RuntimeError(f"the {kind} server did not start; see {log}")
        yield f"http://127.0.0.1:{port}"
    finally:
        # Not asked to stop: the one whose threads hang never would.
        process.kill()
        process.wait()
