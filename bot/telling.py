"""What is being told to whom, and what came of it: the words between those who tell and those who reach people."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.blocks.message import Message
from lessor.contracts import Delivery
from lessor.domain.people import Person
from lessor.notify import Letter

Item = TypeVar("Item")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Telling:
    """A notice on its way: the letter for those whom Slack does not reach, and whether Slack's failures are waited out.

    Without patience, a person whom Slack cannot reach now gets the letter at once, and `failures` collects what Slack
    said, for the case that nobody was reached at all.
    """

    letter: Letter | None = None
    patient: bool = True
    failures: list[Exception] = field(default_factory=list)

    def raise_if_unheard(self, told: Delivery) -> None:
        """Raise the first thing that Slack said when nobody was reached: another try may heal it."""
        if not told.delivered and self.failures:
            raise self.failures[0]


FAILURES = (SlackApiError, *slack_errors.UNREACHABLE)
"""What a call of Slack's API raises."""

_NOTHING = Telling()
_TOLD_NOW: ContextVar[Telling] = ContextVar("told_now", default=_NOTHING)


@contextmanager
def telling(letter: Letter | None, *, patient: bool) -> Iterator[Telling]:
    """What the block posts, in whatever tasks it starts, is also this letter."""
    now = Telling(letter, patient)
    before = _TOLD_NOW.set(now)
    try:
        yield now
    finally:
        _TOLD_NOW.reset(before)


def told_now() -> Telling:
    """What is being told where this is asked."""
    return _TOLD_NOW.get()


@contextmanager
def passing_over(what: str) -> Iterator[None]:
    """While there is patience, what fails in the block is raised; afterwards it is left as it stands.

    For what is not told to anybody but only kept true: it may not hold up the ways that still work.
    """
    try:
        yield
    except FAILURES as error:
        if told_now().patient:
            raise
        log.warning("left as it stands, since Slack cannot be reached", what=what, error=words(error))


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
    """`via` is empty when the recipient was not reached; `problem` is what went wrong, also on the way to success."""

    via: str = ""
    problem: str = ""


class Topic(Protocol):
    """What a message is about: a lease, or another occasion. It can have been posted since `requested_at`."""

    @property
    def id(self) -> str: ...

    @property
    def requested_at(self) -> datetime: ...


Write = Callable[[Recipient], Message]
"""Builds a message for one recipient, in their zone."""


def told_as(delivery: Delivery) -> Told:
    """What came of telling several, as one of those who were to be told."""
    return Told(delivery.via if delivery.delivered else "", delivery.problem)


def heard(told: Sequence[Told]) -> Delivery:
    """Whether any of them was reached, by the channel of the first who was."""
    via = next((one.via for one in told if one.via), "")
    return Delivery(bool(via), via, joined(told) or ("" if via else "there is nobody who could be told"))


async def gathered(work: Iterable[Awaitable[Item]]) -> list[Item]:
    """Await everything; only then raise the first failure, so that one recipient never spoils the others."""
    done = await asyncio.gather(*work, return_exceptions=True)
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in done if not isinstance(outcome, BaseException)]


def joined(told: Iterable[Told]) -> str:
    """All that went wrong, in one line."""
    return "; ".join(one.problem for one in told if one.problem)


def words(error: Exception) -> str:
    """Slack's own word, or what kind of silence it was."""
    return slack_errors.code(error) if isinstance(error, SlackApiError) else f"Slack: {type(error).__name__}"
