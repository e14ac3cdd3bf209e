"""What is being told to whom, and what came of it: the words between those who tell and those who reach people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.blocks.message import Message
from lessor.domain.people import Person
from lessor.notify import Letter


@dataclass(frozen=True)
class Telling:
    """A notice on its way: the letter for those whom Slack does not reach, and whether Slack's failures are waited out.

    Without patience, a person whom Slack cannot reach now gets the letter at once.
    """

    letter: Letter | None = None
    patient: bool = True


_NOTHING = Telling()
_TOLD_NOW: ContextVar[Telling] = ContextVar("told_now", default=_NOTHING)


@contextmanager
def telling(letter: Letter | None, *, patient: bool) -> Iterator[None]:
    """What the block posts, in whatever tasks it starts, is also this letter."""
    before = _TOLD_NOW.set(Telling(letter, patient))
    try:
        yield
    finally:
        _TOLD_NOW.reset(before)


def told_now() -> Telling:
    """What is being told where this is asked."""
    return _TOLD_NOW.get()


@dataclass(frozen=True)
class Recipient:
    """A person or a channel. `zone` is a single reader's, empty where many read.

    `away_until` is set for somebody who is told because the owner is away so long.
    """

    name: str
    person: Person | None = None
    away_until: datetime | None = None

    @property
    def zone(self) -> str:
        return self.person.tz if self.person else ""

    @property
    def via(self) -> str:
        return "slack:dm" if self.person else "slack:channel"


@dataclass(frozen=True)
class Told:
    """`via` is empty when the recipient was not reached; `problem` is what went wrong, also on the way to success.

    `error` is what may be over later.
    """

    via: str = ""
    problem: str = ""
    error: Exception | None = None


class Topic(Protocol):
    """What a message is about: a lease, or another occasion. It can have been posted since `requested_at`."""

    @property
    def id(self) -> str: ...

    @property
    def requested_at(self) -> datetime: ...


Write = Callable[[Recipient], Message]
"""Builds a message for one recipient, in their zone."""


def joined(told: Iterable[Told]) -> str:
    """All that went wrong, in one line."""
    return "; ".join(one.problem for one in told if one.problem)


def raise_what_may_pass(told: Iterable[Told]) -> None:
    """Raise the first failure that another try may heal."""
    for one in told:
        if one.error:
            raise one.error
