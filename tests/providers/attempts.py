"""Heartbeats for tests: what an attempt is told while it runs, and how it is stopped in the middle."""

from __future__ import annotations

from dataclasses import dataclass, field


def silent(_: str) -> None:
    """A heartbeat that is always current."""


@dataclass
class Beats:
    """A heartbeat that remembers what it was told and stops the attempt at call `stop_at`, counted from 0.

    Waiting that is told again and again is one call: nothing was done in between but to look.
    """

    stop_at: int | None = None
    told: list[str] = field(default_factory=list)
    calls: int = 0

    def __call__(self, what: str) -> None:
        if not (what.startswith("waiting ") and self.told[-1:] == [what]):
            if self.calls == self.stop_at:
                raise Stopped(what)
            self.calls += 1
        self.told.append(what)


class Stopped(BaseException):
    """The attempt is no longer current. Not an `Exception`, as a cancelled activity is none."""
