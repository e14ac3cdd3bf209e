"""Modals around blocks: titles and buttons cut to what Slack takes, and what a view remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot.blocks.message import plain_text
from bot.blocks.text import cut
from lessor.rendering import Renderer

TITLE_MOST = 24


class Views:
    """Views with the organisation's words on their buttons."""

    def __init__(self, wording: Renderer) -> None:
        self._wording = wording

    def form(
        self, callback: str, remembered: Mapping[str, str], title: str, blocks: Sequence[Block], submit: str
    ) -> View:
        """A view that asks something."""
        words = self._wording.parts("views.j2")
        return _view(callback, remembered, title, blocks, words["cancel"], submit)

    def words(self, callback: str, remembered: Mapping[str, str], title: str, blocks: Sequence[Block]) -> View:
        """A view that says something and asks nothing."""
        words = self._wording.parts("views.j2")
        return _view(callback, remembered, words.get(title, title), blocks, words["close"])


def _view(
    callback: str, remembered: Mapping[str, str], title: str, blocks: Sequence[Block], close: str, submit: str = ""
) -> View:
    return View(
        type="modal",
        callback_id=callback,
        private_metadata=json.dumps(dict(remembered)),
        title=plain_text(cut(title, TITLE_MOST)),
        submit=plain_text(cut(submit, TITLE_MOST)) if submit else None,
        close=plain_text(cut(close, TITLE_MOST)),
        blocks=list(blocks),
    )
