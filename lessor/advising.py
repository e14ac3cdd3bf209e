"""What would be said of a request that nobody has sent yet: by the policy, and by quotas and budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lessor.casework import Casework
from lessor.domain.budget import BudgetRoom
from lessor.domain.case import Judge
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.policy import Decision
from lessor.domain.quota import Headroom
from lessor.domain.quote import Quote
from lessor.domain.request import Request


@dataclass(frozen=True)
class Advice:
    """The decision as of now, and the ceilings without what the request itself would take."""

    decision: Decision
    rooms: tuple[Headroom, ...] = ()
    budgets: tuple[BudgetRoom, ...] = ()


class Advising:
    """Judges as the assessment will, and keeps nothing."""

    def __init__(self, judge: Judge, casework: Casework, clock: Callable[[], datetime]) -> None:
        self._judge = judge
        self._casework = casework
        self._clock = clock

    def advice(self, request: Request, quote: Quote | None, person: Person) -> Advice:
        """It reads the ledger, so it blocks."""
        now = self._clock()
        case = self._casework.case(Lease("", request, request.requester, now), quote, person, now)
        return Advice(self._judge(case), case.rooms or (), case.budgets or ())
