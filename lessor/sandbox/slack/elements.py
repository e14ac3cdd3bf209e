"""From what a person does to an element to the object Slack sends about it.

A person gives plain values: the text, an option's value or label, a list of those, `2026-06-01`, `09:00`,
seconds since the epoch, a person's or channel's id or name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from lessor.sandbox.slack.blockkit import elements_of
from lessor.sandbox.slack.errors import PersonError
from lessor.sandbox.slack.schema import TYPED

Json = dict[str, Any]

# element type -> (key of the selection in Slack's object, key of the initial selection in the element)
_KEYS: Final = {
    "static_select": ("selected_option", "initial_option"),
    "external_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "overflow": ("selected_option", ""),
    "multi_static_select": ("selected_options", "initial_options"),
    "multi_external_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "users_select": ("selected_user", "initial_user"),
    "multi_users_select": ("selected_users", "initial_users"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "channels_select": ("selected_channel", "initial_channel"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    **dict.fromkeys(TYPED, ("value", "initial_value")),
}


@dataclass(frozen=True)
class Found:
    """An element and the block it stands in; `dispatches` says whether touching it tells the app."""

    block: Json
    element: Json

    @property
    def dispatches(self) -> bool:
        return self.block["type"] != "input" or bool(self.block.get("dispatch_action"))


def find_element(blocks: list[Json], *, action_id: str = "", block_id: str = "", label: str = "") -> Found:
    """The one element that fits; raises PersonError when none does, or several do."""
    fits = [
        Found(block, element)
        for block in blocks
        for element in elements_of(block)
        if (not block_id or block["block_id"] == block_id)
        and (not action_id or element.get("action_id") == action_id)
        and (not label or label in (_label(element), (block.get("label") or {}).get("text")))
    ]
    wanted = ", ".join(f"{name} `{value}`" for name, value in _named(action_id, block_id, label))
    if not fits:
        offered = [_label(element) or element.get("action_id") for block in blocks for element in elements_of(block)]
        raise PersonError(f"nothing here with {wanted or 'no name given'}; there is: {offered}", 404)
    if len(fits) > 1:
        raise PersonError(f"{len(fits)} elements here with {wanted}; name the block_id as well")
    return fits[0]


def untouched(element: Json) -> Json | None:
    """The state of an element nobody touched, None for those without state (buttons, overflow, images)."""
    keys = _KEYS.get(element.get("type", ""))
    if keys is None or element["type"] == "overflow":
        return None
    selected, initial = keys
    return {"type": element["type"], selected: element.get(initial, [] if _several(element) else None)}


def selection(element: Json, value: Any, resolve: Callable[[str, str], str], offered: list[Json] | None = None) -> Json:
    """Slack's object for `value` chosen in `element`.

    `resolve(kind, name)` turns a person's ("user") or channel's ("channel") name into an id; `offered` are the
    options an external select was last given.
    """
    kind = element["type"]
    if kind == "button":
        return {
            "type": "button",
            "text": element["text"],
            **({"value": element["value"]} if "value" in element else {}),
        }
    key = _KEYS[kind][0]
    several = _several(element)
    if value is None or value == "":
        return {"type": kind, key: [] if several else None}
    values = value if isinstance(value, list) else [value]
    if element.get("max_selected_items") and len(values) > element["max_selected_items"]:
        raise PersonError(f"at most {element['max_selected_items']} can be chosen")
    chosen = [_one(element, single, resolve, offered) for single in values]
    return {"type": kind, key: chosen if several else chosen[0]}


def missing(block: Json, value: Json | None) -> str:
    """What the client says about an input block's value before it sends anything; "" when it is fine."""
    element = block["element"]
    content = next((part for key, part in (value or {}).items() if key != "type"), None)
    if content in (None, "", []):
        return "" if block.get("optional") else "Please complete this required field."
    if element["type"] == "plain_text_input":
        return _wrong_length(element, str(content))
    if element["type"] == "number_input":
        return _wrong_number(element, str(content))
    return ""


def options_of(element: Json) -> list[Json]:
    groups = element.get("option_groups") or []
    return [*(element.get("options") or []), *(option for group in groups for option in group["options"])]


def _one(element: Json, value: Any, resolve: Callable[[str, str], str], offered: list[Json] | None) -> Any:
    kind = element["type"]
    if "users_select" in kind:
        return resolve("user", str(value))
    if "conversations_select" in kind or "channels_select" in kind:
        return resolve("channel", str(value))
    if kind == "datetimepicker":
        return int(value)
    if kind in TYPED or kind in ("datepicker", "timepicker"):
        return str(value)
    options = offered if "external" in kind else options_of(element)
    for option in options or []:
        if value in (option["value"], option["text"]["text"]):
            return option
    raise PersonError(f"`{value}` is not offered; there is: {[one['text']['text'] for one in options or []]}")


def _several(element: Json) -> bool:
    return str(element["type"]).startswith("multi_") or element["type"] == "checkboxes"


def _label(element: Json) -> str:
    text = element.get("text")
    return str(text.get("text", "")) if isinstance(text, dict) else ""


def _named(action_id: str, block_id: str, label: str) -> list[tuple[str, str]]:
    return [
        (name, value) for name, value in (("action_id", action_id), ("block_id", block_id), ("label", label)) if value
    ]


def _wrong_length(element: Json, text: str) -> str:
    if len(text) > element.get("max_length", 3000):
        return f"Please enter at most {element.get('max_length', 3000)} characters."
    if len(text) < element.get("min_length", 0):
        return f"Please enter at least {element['min_length']} characters."
    return ""


def _wrong_number(element: Json, text: str) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return "Please enter a number."
    if not element["is_decimal_allowed"] and number != number.to_integral_value():
        return "Please enter a whole number."
    if "min_value" in element and number < Decimal(element["min_value"]):
        return f"Please enter {element['min_value']} or more."
    if "max_value" in element and number > Decimal(element["max_value"]):
        return f"Please enter {element['max_value']} or less."
    return ""
