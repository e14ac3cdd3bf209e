"""What a lease remembers of what was said and tried: warnings, announcements, refused acts, tries without capacity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.domain.quote import Offer


@dataclass(frozen=True)
class Warned:
    """A warning that was delivered for the end that holds now: how long before, when, and by which channel."""

    before: timedelta
    at: datetime
    via: str = "slack"


@dataclass(frozen=True)
class Announced:
    """The coming stop by the schedule was announced: when it comes, when and by which channel people were told.

    `next_try` is when a stop that failed is tried again.
    """

    stops_at: datetime
    at: datetime
    via: str = "slack"
    next_try: datetime | None = None


@dataclass(frozen=True)
class Refusal:
    """The last act that was not allowed: who tried what, and why it had no effect."""

    by: str
    verb: str
    why: str
    at: datetime


@dataclass(frozen=True)
class Unfit:
    """Machines that people were told do not pass their check since `at`, and what it says; none once all do again."""

    machines: tuple[str, ...]
    words: str
    at: datetime


@dataclass(frozen=True)
class Capacity:
    """A try to provision, or to start again, that found no capacity: what was tried and how often.

    `alternatives` are what else would have fitted the request, cheapest first. One that is `queued` keeps its place in
    the queue of a cluster, and `tried` says which.
    """

    tries: int
    tried: tuple[str, ...]
    next_try: datetime
    first_try: datetime
    alternatives: tuple[Offer, ...] = ()
    queued: bool = False
