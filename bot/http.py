"""HTTP mode: signed requests at `/slack/events`. What is not signed by Slack, now, for us, and new, has no effect.

A command is acknowledged with nothing, so it is acknowledged before Bolt finds out who handles it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import structlog
from aiohttp import web
from prometheus_client import Counter
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.ask import NONSENSE, of_command
from bot.background import Background
from bot.ids import COMMAND
from bot.installation import Installation

PATH = "/slack/events"
BODY_MOST = 1_048_576
WINDOW_SECONDS = 300
_REMEMBERED_MOST = 200_000

REJECTED = Counter("lessor_slack_rejected", "Requests to the bot that were not answered", ["why"])

log = structlog.get_logger(__name__)


class Signatures:
    """Checks Slack's signature scheme v0, and remembers what was signed for as long as it would be accepted again."""

    def __init__(self, secret: str, now: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._now = now
        self._accepted: OrderedDict[str, float] = OrderedDict()

    def problem(self, headers: Mapping[str, str], body: bytes) -> str:
        """Why the request is not to be trusted; empty when it is."""
        stamp = headers.get("X-Slack-Request-Timestamp", "")
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
            return "timestamp"
        if abs(self._now() - int(stamp)) > WINDOW_SECONDS:
            return "old"
        digest = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        given = headers.get("X-Slack-Signature", "").encode("utf-8", "replace")
        return "" if hmac.compare_digest(f"v0={digest}".encode(), given) else "signature"

    def replayed(self, headers: Mapping[str, str]) -> bool:
        """Whether exactly this request was accepted before; a retry of Slack's own is signed anew."""
        signature = headers["X-Slack-Signature"]
        now = self._now()
        while self._accepted and (
            len(self._accepted) > _REMEMBERED_MOST or next(iter(self._accepted.values())) < now - 2 * WINDOW_SECONDS
        ):
            self._accepted.popitem(last=False)
        if signature in self._accepted:
            return True
        self._accepted[signature] = now
        return False


def web_app(
    app: AsyncApp, installation: Installation, signatures: Signatures, background: Background
) -> web.Application:
    """`POST /slack/events` and `GET /health`."""

    async def events(request: web.Request) -> web.Response:
        background.front.stir()
        try:
            raw = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return _refused(413, "size")
        problem = signatures.problem(request.headers, raw)
        if problem:
            return _refused(401, problem)
        payload = _payload(raw, request.content_type)
        if payload is None:
            return _refused(400, "body")
        if not installation.is_ours(payload):
            return _refused(401, "app")
        if signatures.replayed(request.headers):
            log.info("duplicate", kind="replayed request")
            REJECTED.labels("replayed").inc()
            return web.Response()
        return await answer(request, raw, is_command=_is_command(payload))

    async def answer(request: web.Request, raw: bytes, *, is_command: bool) -> web.Response:
        bolt = AsyncBoltRequest(body=raw.decode(), query=request.query_string, headers=dict(request.headers))
        dispatched = app.async_dispatch(bolt)
        if not is_command:
            return await to_aiohttp_response(await dispatched)
        background.follow(dispatched, "handle a command")
        return web.Response()

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    served = web.Application(client_max_size=BODY_MOST)
    served.router.add_post(PATH, events)
    served.router.add_get("/health", health)
    return served


def _payload(raw: bytes, content_type: str) -> Mapping[str, Any] | None:
    """What the body says, in either of Slack's two forms; `None` when it is neither."""
    try:
        text = raw.decode()
        if content_type == "application/json":
            loaded = json.loads(text)
        else:
            fields = dict(parse_qsl(text, keep_blank_values=True))
            loaded = json.loads(fields["payload"]) if "payload" in fields else fields
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def _is_command(payload: Mapping[str, Any]) -> bool:
    """Whether it is a command of ours with all that a command has: Bolt would find nothing wrong with it."""
    try:
        return bool(payload.get("command") == COMMAND and of_command(payload))
    except NONSENSE:
        return False


def _refused(status: int, why: str) -> web.Response:
    log.warning("a request was refused", status=status, why=why)
    REJECTED.labels(why).inc()
    return web.Response(status=status, text="refused")
