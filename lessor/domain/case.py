"""What a request is judged by: everything that a rule may look at, gathered before anybody decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lessor.domain.budget import BudgetRoom
from lessor.domain.people import Person
from lessor.domain.policy import Decision
from lessor.domain.quota import Headroom
from lessor.domain.quote import Quote
from lessor.domain.request import Request


@dataclass(frozen=True)
class Similar:
    """An open lease of the requester that resembles the request; `summary` is one line for people."""

    lease_id: str
    summary: str = ""


@dataclass(frozen=True)
class Case:
    """One request as it is judged at `now`.

    `quote`, `rooms`, `budgets` and `similar` are `None` where they could not be read: unknown is neither free nor
    empty. `rooms` are without what this request itself would take. `extensions` counts those that the lease has had.
    """

    request: Request
    quote: Quote | None
    person: Person
    now: datetime
    rooms: tuple[Headroom, ...] | None = ()
    budgets: tuple[BudgetRoom, ...] | None = ()
    similar: tuple[Similar, ...] | None = ()
    extensions: int = 0


Judge = Callable[[Case], Decision]
"""What the organisation's policy decides of a case."""
