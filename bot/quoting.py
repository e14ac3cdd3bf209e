"""The quote under the form: follows the choices, and an older answer never overwrites a newer one."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slack_sdk.errors import SlackApiError

from bot import slack_errors, wish
from bot.ask import Ask, metadata
from bot.blocks import request_form
from bot.desk import Desk
from bot.wish import Wish
from lessor.domain.errors import Refused
from lessor.domain.request import Market

if TYPE_CHECKING:
    from lessor.gateway import Choices

_VIEWS_MOST = 5_000


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
        text = await self.text(wanted, choices)
        if turn != progress.newest:
            return
        view = request_form.form(wanted, choices, text, metadata(ask.view))
        for known in (progress.hash or ask.view["hash"], ""):
            try:
                answer = await self._desk.slack.views_update(view_id=view_id, hash=known or None, view=view)
            except SlackApiError as error:
                word = slack_errors.code(error)
                if word in ("not_found", "view_not_found") or turn != progress.newest:
                    return
                if word != "hash_conflict":
                    raise
                continue
            progress.hash = answer["view"]["hash"]
            return

    async def text(self, wanted: Wish, choices: Choices) -> str:
        """The price in words, escaped; unknown is said plainly."""
        values: dict[str, object] = {"quote": None, "problem": "", "length": None, "total": None}
        try:
            request = wish.to_request(wanted, choices, self._desk.now(), "quote")
            values["length"] = request.length(self._desk.now())
        except Refused:
            request = None
        try:
            count = int(wanted.count) if wanted.count.strip().isdigit() else 0
            if count > 0:
                quote = await self._desk.gateway.quote(
                    wish.need(wanted, count), wish.place(wanted, choices), Market(wanted.market)
                )
                values |= {"quote": quote, "total": quote.total(values["length"]) if request else None}  # type: ignore[arg-type]
        except Refused as refused:
            values["problem"] = str(refused)
        return self._desk.wording.parts("quote.j2", zone=choices.person.tz, **values)["title"]

    def _progress(self, view_id: str) -> _Progress:
        progress = self._views.setdefault(view_id, _Progress())
        self._views.move_to_end(view_id)
        while len(self._views) > _VIEWS_MOST:
            self._views.popitem(last=False)
        return progress
