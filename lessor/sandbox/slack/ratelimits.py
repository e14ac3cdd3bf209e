"""Slack's rate limits as token buckets, off until switched on (tests would crawl otherwise)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.errors import SlackError


@dataclass
class _Bucket:
    tokens: float
    filled: float


class RateLimits:
    """`check` raises the 429 a real workspace would answer; a method's tier is its capacity for a minute."""

    def __init__(self, clock: Clock, *, enabled: bool = False) -> None:
        self.enabled = enabled
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def check(self, method: str, channel: str = "") -> None:
        if not self.enabled:
            return
        if method == "chat.postMessage":
            self._take(f"{method} {channel}", capacity=1, per_second=1.0)
        elif method in limits.METHOD_TIERS:
            a_minute = limits.TIERS[limits.METHOD_TIERS[method]]
            self._take(method, capacity=a_minute, per_second=a_minute / 60)

    def _take(self, key: str, *, capacity: int, per_second: float) -> None:
        now = self._clock.now()
        bucket = self._buckets.setdefault(key, _Bucket(float(capacity), now))
        bucket.tokens = min(float(capacity), bucket.tokens + (now - bucket.filled) * per_second)
        bucket.filled = now
        if bucket.tokens < 1:
            raise SlackError("ratelimited", retry_after=max(1, math.ceil((1 - bucket.tokens) / per_second)))
        bucket.tokens -= 1
