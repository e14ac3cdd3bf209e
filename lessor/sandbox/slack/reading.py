"""Reading messages and views as a person does: their words, their buttons, their fields."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.blockkit import elements_of
from lessor.sandbox.slack.mrkdwn import unescape

Json = dict[str, Any]


def visible_text(item: Json) -> str:
    """All words of a message or view, a line for each piece: blocks when there are any, else the text."""
    blocks = item.get("blocks") or []
    title = item.get("title") or {}
    pieces = [str(title.get("text", "")), *_texts(blocks)] if blocks or title else [str(item.get("text", ""))]
    pieces += [str(error) for error in (item.get("errors") or {}).values()]
    return "\n".join(unescape(piece) for piece in pieces if piece)


def buttons(item: Json) -> list[str]:
    """Labels of the buttons in a message or view, in reading order."""
    found = [element for block in item.get("blocks") or [] for element in elements_of(block)]
    return [unescape(element["text"]["text"]) for element in found if element["type"] == "button"]


def action_ids(item: Json) -> list[str]:
    """Action ids of everything that can be touched, in reading order."""
    found = [element for block in item.get("blocks") or [] for element in elements_of(block)]
    return [element["action_id"] for element in found if "action_id" in element]


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for key, item in value.items() if key != "confirm" for text in _texts(item)]
