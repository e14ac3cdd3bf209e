"""The Web API with manners: a limited method is left alone for as long as Slack said, and nothing is sent twice.

The SDK's own handlers sleep call by call, so others keep knocking, and repeat a post whose answer was lost.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import aiohttp
import structlog
from prometheus_client import Counter
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot import slack_errors

LIMITED = Counter("lessor_slack_rate_limited", "Calls that Slack refused for their rate", ["method"])
REFUSED = Counter("lessor_slack_refusals", "Calls that Slack refused", ["method", "error"])

_ONE_AT_A_TIME = {"chat.update": "", "chat.postMessage": "channel"}
"""Methods whose calls queue up (by the value of an argument), since they are limited to about one a second anyway."""

_NOT_AGAIN = frozenset({"chat.postMessage", "chat.postEphemeral", "views.open", "views.push"})
"""Methods that would take effect twice if they were repeated after a lost answer."""

_PAUSES = (0.2, 1.0)
_MOST_WAITS = 50

log = structlog.get_logger(__name__)


class SlackClient(AsyncWebClient):
    """`AsyncWebClient` that honours `Retry-After` per method and repeats what is safe to repeat.

    Raises `SlackApiError` for refusals and `aiohttp.ClientError`/`TimeoutError` when Slack cannot be reached.
    """

    def __init__(
        self,
        token: str,
        *,
        base_url: str = "",
        session: aiohttp.ClientSession | None = None,
        timeout: int = 10,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        address = f"{(base_url or self.BASE_URL).rstrip('/')}/"
        super().__init__(token=token, base_url=address, session=session, timeout=timeout, retry_handlers=[])
        self._now = now
        self._sleep = sleep
        self._closed_until: dict[str, float] = {}
        self._queues: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def api_call(self, api_method: str, **arguments: Any) -> AsyncSlackResponse:
        """One call of the API, after whatever wait its method is under."""
        async with self._queue(api_method, arguments):
            for _ in range(_MOST_WAITS):
                await self._wait(api_method)
                try:
                    return await self._call(api_method, arguments)
                except SlackApiError as error:
                    if slack_errors.status(error) != 429:
                        REFUSED.labels(api_method, slack_errors.code(error)).inc()
                        raise
                    self._close(api_method, error)
            raise TimeoutError(f"{api_method} was rate limited {_MOST_WAITS} times in a row")

    async def _wait(self, method: str) -> None:
        while (pause := self._closed_until.get(method, 0.0) - self._now()) > 0:
            await self._sleep(pause)

    async def _call(self, method: str, arguments: dict[str, Any]) -> AsyncSlackResponse:
        pauses = () if method in _NOT_AGAIN else _PAUSES
        for pause in pauses:
            try:
                return await super().api_call(method, **arguments)
            except (SlackApiError, *slack_errors.UNREACHABLE) as error:
                if not slack_errors.transient(error) or _limited(error):
                    raise
            await self._sleep(pause)
        return await super().api_call(method, **arguments)

    def _close(self, method: str, error: SlackApiError) -> None:
        headers = {name.lower(): value for name, value in (error.response.headers or {}).items()}
        seconds = float(headers.get("retry-after", 1))
        self._closed_until[method] = max(self._closed_until.get(method, 0.0), self._now() + seconds)
        LIMITED.labels(method).inc()
        log.warning("slack is limiting", method=method, seconds=seconds)

    def _queue(self, method: str, arguments: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        if method not in _ONE_AT_A_TIME:
            return nullcontext()
        name = _ONE_AT_A_TIME[method]
        sent = arguments.get("json") or arguments.get("data") or arguments.get("params") or {}
        return self._queues[f"{method} {sent.get(name, '')}" if name else method]


def _limited(error: Exception) -> bool:
    return isinstance(error, SlackApiError) and slack_errors.status(error) == 429
