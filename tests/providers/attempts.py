"""Heartbeats for tests: what an attempt is told while it runs, and how it is stopped in the middle."""

from __future__ import annotations

from dataclasses import dataclass, field


def silent(_: str) -> None:
    """A heartbeat that is always current."""


@dataclass
class Beats:
    """A heartbeat that remembers what it was told and stops the attempt at call `stop_at`, counted from 0."""

    stop_at: int | None = None
    told: list[str] = field(default_factory=list)

    def __call__(self, what: str) -> None:
        if len(self.told) == self.stop_at:
            raise Stopped(what)
        self.told.append(what)


class Stopped(BaseException):
    """The attempt is no longer current. Not an `Exception`, as a cancelled activity is none."""
