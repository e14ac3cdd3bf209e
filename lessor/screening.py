"""What is wrong with a request before it is sent: its fields, what nobody sells, its cap, and money that is used up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from lessor.accounting import Accounting
from lessor.domain import budget
from lessor.domain.capping import unfit
from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.identity import lease_id
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need, Place, Request, validate
from lessor.offering import Offering
from lessor.ports import LedgerUnavailableError

log = structlog.get_logger(__name__)

Quoting = Callable[[Need, Place, Market], Awaitable[Quote]]
"""The price now; raises `Refused` ("no-offer", or another code when it cannot be known now)."""


class Screening:
    """What cannot be known now is left to the assessment: unknown is no reason to refuse."""

    def __init__(
        self, offering: Offering, accounting: Accounting, quoting: Quoting, clock: Callable[[], datetime]
    ) -> None:
        self._offering = offering
        self._accounting = accounting
        self._quoting = quoting
        self._clock = clock

    async def errors(self, request: Request, person: Person) -> tuple[FieldError, ...]:
        """One for each bad field, with what is allowed there."""
        found: list[FieldError] = []
        try:
            validate(request, self._offering.limits(person), self._clock())
        except Invalid as invalid:
            found.extend(invalid.errors)
        quote = None
        if not any(e.field in ("place", "count") for e in found):
            quote, problem = await self._quoted(request)
            found += [problem] if problem else []
        if quote and not any(e.field in ("end", "start", "cap") for e in found):
            short = unfit(request.cap, quote, request.length(self._clock()))
            found += [short] if short else []
        if not any(e.field in ("team", "project") for e in found):
            found += await self._frozen(request, quote)
        return tuple(found)

    async def _quoted(self, request: Request) -> tuple[Quote | None, FieldError | None]:
        try:
            return await self._quoting(request.need, request.place, request.market), None
        except Refused as refusal:
            if refusal.code == "no-offer":
                return None, FieldError("need", str(refusal))
            log.warning("quote-unavailable", place=str(request.place), why=str(refusal))
        return None, None

    async def _frozen(self, request: Request, quote: Quote | None) -> list[FieldError]:
        """Money that is used up in a month that the request would reach. What the same request has taken counts not."""
        now = self._clock()
        lease = Lease(lease_id(request.interaction), request, request.requester, now, quote=quote)
        try:
            rooms = await asyncio.to_thread(self._accounting.budgets, lease, now)
        except LedgerUnavailableError as error:
            log.warning("budgets-unread", team=request.team, why=str(error))
            return []
        return [
            FieldError("project" if room.scope.startswith("project:") else "team", budget.frozen_words(room))
            for room in rooms
            if budget.frozen(room)
        ][:1]
