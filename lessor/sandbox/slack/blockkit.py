"""Checking blocks and views as strictly as Slack does, before anything is stored or shown."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.mrkdwn import normalise_blocks
from lessor.sandbox.slack.rules import Flag, Many, OneOf, Shape, Text, problem
from lessor.sandbox.slack.schema import BLOCKS, ELEMENTS

_BUTTON = OneOf({"plain_text": Shape({"text": Text(limits.VIEW_BUTTON)}, {"emoji": Flag()})})
_TITLE = OneOf({"plain_text": Shape({"text": Text(limits.VIEW_TITLE)}, {"emoji": Flag()})})
_VIEW_BLOCKS = Many(OneOf(BLOCKS), limits.VIEW_BLOCKS, least=0)
_SHARED = {
    "private_metadata": Text(limits.PRIVATE_METADATA, least=0),
    "callback_id": Text(limits.ELEMENT_ID, least=0),
    "external_id": Text(limits.ELEMENT_ID, least=0),
}
_VIEWS = {
    "modal": Shape(
        {"title": _TITLE, "blocks": _VIEW_BLOCKS},
        {
            **_SHARED,
            "close": _BUTTON,
            "submit": _BUTTON,
            "clear_on_close": Flag(),
            "notify_on_close": Flag(),
            "submit_disabled": Flag(),
        },
    ),
    "home": Shape({"blocks": _VIEW_BLOCKS}, _SHARED),
}

Json = dict[str, Any]


class BlockNames:
    """Gives blocks and elements the ids an app left out, as Slack does."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def fill(self, blocks: list[Json]) -> list[Json]:
        """Normalised copies of `blocks` in which everything that needs an id has one."""
        copies: list[Json] = normalise_blocks(blocks)
        for block in copies:
            block.setdefault("block_id", self._next())
            for element in elements_of(block):
                if element.get("type") in ELEMENTS and element["type"] != "image":
                    element.setdefault("action_id", self._next())
        return copies

    def _next(self) -> str:
        return f"b{next(self._count):04x}"


def check_message_blocks(blocks: Any) -> None:
    """Raise `invalid_blocks` with reasons, or `msg_blocks_too_long`, when Slack would."""
    found: list[str] = []
    Many(OneOf(BLOCKS), limits.MESSAGE_BLOCKS, least=0).check(blocks, "/blocks", found)
    if not found:
        found += _duplicates(blocks, "/blocks")
    if found:
        raise SlackError("invalid_blocks", found)
    if _weight(blocks) > limits.BLOCKS_TOTAL:
        raise SlackError("msg_blocks_too_long")


def check_view(view: Any, kind: str) -> None:
    """Raise `invalid_arguments` with reasons (or `view_too_large`) when Slack would; `kind` is modal or home."""
    found: list[str] = []
    if not isinstance(view, dict):
        raise SlackError("invalid_arguments", [problem("must be an object", "/view")])
    if view.get("type") != kind:
        wrong = "missing required field: type" if view.get("type") is None else f"unsupported type: {view['type']}"
        raise SlackError("invalid_arguments", [problem(wrong, "/view")])
    _VIEWS[kind].check(view, "/view", found)
    if not found:
        found += _duplicates(view["blocks"], "/view/blocks")
    has_input = any(block.get("type") == "input" for block in view.get("blocks") or [] if isinstance(block, dict))
    if kind == "modal" and has_input and view.get("submit") is None:
        found.append(problem("`submit` is required when an `input` is within blocks", "/view"))
    if found:
        raise SlackError("invalid_arguments", found)
    if len(json.dumps(view)) > limits.VIEW_BYTES:
        raise SlackError("view_too_large")


def elements_of(block: Json) -> list[Json]:
    """The interactive (and image) elements of a block, in reading order."""
    if block.get("type") == "section":
        return [block["accessory"]] if block.get("accessory") else []
    if block.get("type") == "actions":
        return list(block.get("elements", []))
    if block.get("type") == "input":
        return [block["element"]] if block.get("element") else []
    return []


def images_of(blocks: list[Json], at: str) -> Iterator[tuple[Json, str]]:
    """Image blocks and image elements, each with the JSON pointer to it."""
    for index, block in enumerate(blocks):
        if block.get("type") == "image":
            yield block, f"{at}/{index}"
        accessory = block.get("accessory") or {}
        if accessory.get("type") == "image":
            yield accessory, f"{at}/{index}/accessory"
        for number, element in enumerate(block.get("elements") or [] if block.get("type") == "context" else []):
            if element.get("type") == "image":
                yield element, f"{at}/{index}/elements/{number}"


def _duplicates(blocks: list[Json], at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, block in enumerate(blocks):
        block_id = block.get("block_id")
        if block_id and block_id in seen:
            yield problem(f"`block_id` already exists: {block_id}", f"{at}/{index}/block_id")
        seen.add(block_id or "")
        ids = [element["action_id"] for element in elements_of(block) if element.get("action_id")]
        if len(ids) != len(set(ids)):
            yield problem("`action_id` must be unique within a block", f"{at}/{index}")


def _weight(value: Any) -> int:
    if isinstance(value, list):
        return sum(_weight(item) for item in value)
    if not isinstance(value, dict):
        return 0
    own = len(value["text"]) if isinstance(value.get("text"), str) else 0
    return own + limits.CONTAINER_WEIGHT + sum(_weight(item) for item in value.values())
