"""HTTP mode: the same deliveries as signed requests to the app's own address."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import aiohttp

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.clock import Clock, in_time
from lessor.sandbox.slack.delivery import COMMAND, EVENT, INTERACTIVE, Ack, Attempt

Json = dict[str, Any]


class HttpTarget:
    """POSTs each attempt to `url`, signed with the app's signing secret (scheme v0)."""

    def __init__(self, url: str, signing_secret: str, clock: Clock) -> None:
        self.url = url
        self._secret = signing_secret
        self._clock = clock

    async def attempt(self, attempt: Attempt) -> Ack:
        body, content_type = _body(attempt)
        headers = {"Content-Type": content_type, **self.signature(body)}
        if attempt.kind == EVENT and attempt.number:
            headers |= {"X-Slack-Retry-Num": str(attempt.number), "X-Slack-Retry-Reason": _reason(attempt.reason)}
        work = asyncio.ensure_future(self._post(body, headers))
        if await in_time(self._clock, work, limits.ACK_SECONDS):
            return work.result()
        work.cancel()
        return Ack("operation_timeout")

    async def verify(self) -> bool:
        """Slack's `url_verification` handshake: whether the app gives the challenge back."""
        body = json.dumps({"token": "sandbox", "challenge": "sandbox-challenge", "type": "url_verification"})
        headers = {"Content-Type": "application/json", **self.signature(body)}
        async with aiohttp.ClientSession() as session, session.post(self.url, data=body, headers=headers) as answer:
            return answer.status == 200 and "sandbox-challenge" in await answer.text()

    def signature(self, body: str) -> dict[str, str]:
        """The two headers that prove `body` came from here, now."""
        timestamp = str(int(self._clock.now()))
        base = f"v0:{timestamp}:{body}".encode()
        digest = hmac.new(self._secret.encode(), base, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}

    async def _post(self, body: str, headers: dict[str, str]) -> Ack:
        try:
            async with aiohttp.ClientSession() as session, session.post(self.url, data=body, headers=headers) as answer:
                text = await answer.text()
                if answer.status != 200:
                    return Ack("http_error", final=answer.headers.get("X-Slack-No-Retry") == "1")
                return Ack(payload=_payload(text, answer.content_type))
        except aiohttp.ClientError:
            return Ack("dispatch_failed")


def _body(attempt: Attempt) -> tuple[str, str]:
    if attempt.kind == COMMAND:
        return urlencode(attempt.payload), "application/x-www-form-urlencoded"
    if attempt.kind == INTERACTIVE:
        return urlencode({"payload": json.dumps(attempt.payload)}), "application/x-www-form-urlencoded"
    return json.dumps(attempt.payload), "application/json"


def _payload(text: str, content_type: str) -> Json:
    if not text.strip():
        return {}
    if content_type != "application/json":
        return {"text": text}
    loaded = json.loads(text)
    return loaded if isinstance(loaded, dict) else {}


def _reason(failure: str) -> str:
    return {"timeout": "http_timeout", "dispatch_failed": "connection_failed"}.get(failure, failure or "http_error")
