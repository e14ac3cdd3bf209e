"""The quote under the form: follows the choices, and an older answer never overwrites a newer one."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.models.views import View

from bot import slack_errors, wish
from bot.around import after_approval, capacity
from bot.ask import Ask, metadata
from bot.blocks import request_form
from bot.desk import Desk
from bot.facts import kind_words
from bot.wish import TYPE_PREFIX, Wish
from lessor.domain.errors import FieldError, Refused
from lessor.domain.lease import Lease
from lessor.domain.quote import Quote
from lessor.domain.request import Market, to_the_minute

if TYPE_CHECKING:
    from lessor.gateway import Choices

ROOMS_MOST = 6
CAPACITY_WITHIN = timedelta(seconds=2)
"""How long the price waits for what is free."""
CAPACITY_AT_LAST = timedelta(seconds=10)
"""How long the form is redrawn once more for it, where the price came first."""
_VIEWS_MOST = 5_000


log = structlog.get_logger(__name__)


@dataclass
class _Progress:
    """Of one open form: the newest choice that was made, and the content that it shows."""

    newest: int = 0
    hash: str = ""


class Quoting:
    """Redraws open request forms when a choice in them changes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._views: OrderedDict[str, _Progress] = OrderedDict()

    async def follow(self, ask: Ask) -> None:
        """Show the form for what is chosen now, with its price."""
        view_id = ask.view["id"]
        progress = self._progress(view_id)
        progress.newest += 1
        turn = progress.newest
        choices = await self._desk.gateway.choices(ask.user)
        wanted = wish.completed(wish.of_view(ask.view), choices)
        for patience in (CAPACITY_WITHIN, CAPACITY_AT_LAST):
            text = await self.text(wanted, choices, patience)
            if turn != progress.newest:
                return
            view = request_form.form(self._desk.wording, wanted, choices, text, metadata(ask.view))
            late = patience is CAPACITY_AT_LAST
            if not await self._redrawn(ask, view, progress, turn, late=late) or not self.unsettled(wanted, choices):
                return

    async def _redrawn(self, ask: Ask, view: View, progress: _Progress, turn: int, *, late: bool) -> bool:
        """Whether the form shows it now; not where it was closed, or something newer was chosen.

        What comes `late` may find that the form was sent: then it is never drawn over what that view shows.
        """
        known_hash = progress.hash or ask.view["hash"]
        for known in (known_hash,) if late else (known_hash, ""):
            try:
                answer = await self._desk.slack.views_update(view_id=ask.view["id"], hash=known or None, view=view)
            except SlackApiError as error:
                word = slack_errors.code(error)
                if word in ("not_found", "view_not_found") or late or turn != progress.newest:
                    return False
                if word != "hash_conflict":
                    raise
                continue
            progress.hash = answer["view"]["hash"]
            return True
        return False

    def unsettled(self, wanted: Wish, choices: Choices) -> bool:
        """Whether what is free there was not waited for and is soon known."""
        return self._desk.gateway.fleet.reading(wish.place(wanted, choices))

    async def text(self, wanted: Wish, choices: Choices, patience: timedelta = CAPACITY_WITHIN) -> str:
        """The price in words, escaped; unknown is said plainly."""
        now, zone = self._desk.now(), choices.person.tz
        quote, length, problem, starts, ends = None, None, "", "", ""
        if wanted.end.strip():
            errors: list[FieldError] = []
            start, end = wish.times(wanted, choices, now, errors)
            begins = start.at if start else now
            wrong = {error.field: error.message for error in errors}
            starts = wrong.get("start") or (start.confirmation() if start else "")
            ends = wrong.get("end") or ("" if errors else end.confirmation(begins))
            length = None if errors else to_the_minute(end.instant(begins) - begins)
        if re.fullmatch(r"[1-9][0-9]{0,5}", wanted.count.strip()):
            need = wish.need(wanted, int(wanted.count))
            try:
                quote = await self._desk.gateway.quote(need, wish.place(wanted, choices), Market(wanted.market))
            except Refused as refused:
                problem = str(refused)
        total = quote.total(length) if quote and length else None
        values: dict[str, object] = {"quote": quote, "total": total, "length": length, "problem": problem}
        values |= {"starts": starts, "ends": ends, "kind": kind_words(wish.kind(wanted))}
        values["capacity"] = await self._capacity(wanted, choices, quote, patience)
        values |= await self._advice(wanted, choices, quote)
        return "\n".join(self._desk.wording.parts("quote.j2", zone=zone, **values).values())

    async def _capacity(self, wanted: Wish, choices: Choices, quote: Quote | None, patience: timedelta) -> str:
        """What is free where it is wished for; nothing where nobody can know before it is tried."""
        model = quote.offer.gpu_model if quote else wanted.model
        if model.startswith(TYPE_PREFIX):
            return ""
        found = await self._desk.gateway.fleet.vacancy(wish.place(wanted, choices), model, patience)
        return capacity(found, quote.offer.gpu_count if quote else 1)

    async def _advice(self, wanted: Wish, choices: Choices, quote: Quote | None) -> dict[str, object]:
        """What policy, quota and budget would say, once the form says enough; nothing while it does not."""
        nothing: dict[str, object] = {"policy": None, "rooms": (), "suggested": ()}
        if quote is None:
            return nothing
        try:
            request = wish.to_request(wanted, choices, self._desk.now(), "")
            advice = await self._desk.gateway.advice(request, quote)
        except Refused:
            return nothing
        except Exception as error:
            log.warning("no advice on a request", problem=repr(error)[:200])
            return nothing
        if advice is None:
            return nothing
        lease = Lease("", request, request.requester, self._desk.now(), quote=quote)
        rooms = after_approval(lease, advice.rooms, advice.budgets)
        return {"policy": advice.decision, "rooms": rooms[:ROOMS_MOST], "suggested": advice.decision.suggestions}

    def _progress(self, view_id: str) -> _Progress:
        progress = self._views.setdefault(view_id, _Progress())
        self._views.move_to_end(view_id)
        while len(self._views) > _VIEWS_MOST:
            self._views.popitem(last=False)
        return progress
