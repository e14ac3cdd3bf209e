"""Fields of small forms. Their words come from the form's template: `NAME` is the label, `NAME_hint` the hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.models.blocks import (
    DateTimePickerElement,
    InputBlock,
    Option,
    PlainTextInputElement,
    StaticSelectElement,
)

from bot import words
from bot.blocks.message import plain_text
from bot.blocks.text import labels
from lessor.rendering import mrkdwn

TEXT_MOST = 2_000
OPTIONS_MOST = 100

Words = Mapping[str, str]


def text(said: Words, name: str, *, long: bool = False, optional: bool = False, most: int = TEXT_MOST) -> InputBlock:
    """Words of the person's own."""
    element = PlainTextInputElement(action_id=name, multiline=long or None, max_length=most)
    return _input(said, name, element, optional=optional)


def moment(said: Words, name: str, proposal: int) -> InputBlock:
    """A date and a time; `proposal` is in seconds since 1970."""
    return _input(said, name, DateTimePickerElement(action_id=name, initial_date_time=proposal), optional=True)


def choice(said: Words, name: str, offered: Sequence[tuple[str, str]], *, required: bool = False) -> list[InputBlock]:
    """One or none of what is offered, as (value, label); no field where nothing is, since Slack takes no empty list.

    Where one is `required`, the first is chosen already.
    """
    shown = offered[:OPTIONS_MOST]
    texts = labels([mrkdwn(label) for _, label in shown])
    options = [Option(value=value, text=plain_text(label)) for (value, _), label in zip(shown, texts, strict=True)]
    if not options:
        return []
    chosen = options[0] if required else None
    element = StaticSelectElement(action_id=name, options=options, initial_option=chosen)
    return [_input(said, name, element, optional=not required)]


def typed(view: Mapping[str, Any], name: str) -> str:
    """What the person typed or chose in a form that was sent; empty for a field that is empty or not there."""
    content = (view["state"]["values"].get(name) or {}).get(name) or {}
    chosen = content.get("selected_option")
    value = chosen["value"] if chosen else content.get("value")
    stripped = str(value or "").strip()
    return stripped if words.clean(stripped) else ""


def picked(view: Mapping[str, Any], name: str) -> int | None:
    """The date and time that were chosen, in seconds since 1970."""
    content = (view["state"]["values"].get(name) or {}).get(name) or {}
    value = content.get("selected_date_time")
    return int(value) if value else None


def _input(said: Words, name: str, element: Any, *, optional: bool) -> InputBlock:
    hint = said.get(f"{name}_hint")
    return InputBlock(
        block_id=name,
        label=plain_text(said[name]),
        element=element,
        optional=optional or None,
        hint=plain_text(hint) if hint else None,
    )
