"""Text on its way through Slack: what it escapes by itself, and what a client makes of typed mentions.

Slack escapes the `&`, `<` and `>` an app left bare, and hands the longer text back in history and in
interaction payloads. A card redrawn from such text can therefore exceed a limit it met when posted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# <@U…>, <#C…|name>, <!here>, <!date^…>, <https://…|label>, <mailto:…>
_CONTROL = re.compile(r"<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+|![a-z]+|(?:https?://|mailto:|slack://)[^\s<>|]+)[^<>]*>")
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_MENTION = re.compile(r"(?<![\w<@])@([\w.-]*\w)")
_CHANNEL = re.compile(r"(?<![\w<#&])#([\w-]+)")


def escape(text: str) -> str:
    """Escape all of `text`: the result shows exactly the characters given."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The inverse of `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def normalise(text: str) -> str:
    """`text` as Slack stores it: control sequences and entities stay, bare characters are escaped."""
    pieces: list[str] = []
    position = 0
    for match in _CONTROL.finditer(text):
        pieces += [_escape_bare(text[position : match.start()]), match.group()]
        position = match.end()
    return "".join([*pieces, _escape_bare(text[position:])])


def normalise_blocks(value: Any) -> Any:
    """A copy of blocks (or any part of them) whose text objects are stored as Slack stores them."""
    if isinstance(value, list):
        return [normalise_blocks(item) for item in value]
    if not isinstance(value, dict):
        return value
    copied = {key: normalise_blocks(item) for key, item in value.items()}
    if copied.get("type") in ("mrkdwn", "plain_text") and isinstance(copied.get("text"), str):
        copied["text"] = normalise(copied["text"])
    return copied


def from_typed(text: str, person_id: Callable[[str], str | None], channel_id: Callable[[str], str | None]) -> str:
    """What a client sends for typed text: escaped, with `@name` and `#channel` turned into ids when they exist."""

    def mention(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in ("channel", "here", "everyone"):
            return f"<!{name}>"
        found = person_id(name)
        return f"<@{found}>" if found else match.group()

    def channel(match: re.Match[str]) -> str:
        found = channel_id(match.group(1))
        return f"<#{found}|{match.group(1)}>" if found else match.group()

    already = _CONTROL.split(text)
    kept = [match.group() for match in _CONTROL.finditer(text)]
    typed = [_CHANNEL.sub(channel, _MENTION.sub(mention, escape(part))) for part in already]
    return "".join(part + (kept[index] if index < len(kept) else "") for index, part in enumerate(typed))


def _escape_bare(text: str) -> str:
    pieces: list[str] = []
    position = 0
    for match in _ENTITY.finditer(text):
        pieces += [escape(text[position : match.start()]), match.group()]
        position = match.end()
    return "".join([*pieces, escape(text[position:])])
