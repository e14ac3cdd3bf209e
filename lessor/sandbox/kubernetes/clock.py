"""The cluster's time: real time, and what tests and the page add to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """Now, in UTC, and ahead by what `advance` was told."""

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now or (lambda: datetime.now(UTC))
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return self._now() + self.ahead

    def advance(self, by: timedelta) -> None:
        self.ahead += by

    def stamp(self) -> str:
        """Now as objects carry it: whole seconds."""
        return stamp(self.now())


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(text: str) -> datetime:
    """The time that an object carries. Raises `ValueError`."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
