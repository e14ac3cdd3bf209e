"""Block Kit as data: which blocks and elements exist, what they require, and how long each part may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.rules import Choice, Flag, Free, Many, Number, OneOf, Rule, Shape, Text, problem


def _plain(most: int) -> OneOf:
    return OneOf({"plain_text": Shape({"text": Text(most)}, {"emoji": Flag()})})


def _either(most: int) -> OneOf:
    mrkdwn = Shape({"text": Text(most)}, {"verbatim": Flag()})
    return OneOf({"plain_text": Shape({"text": Text(most)}, {"emoji": Flag()}), "mrkdwn": mrkdwn})


def _one_of_two(first: str, second: str) -> Any:
    def across(value: Mapping[str, Any], at: str, found: list[str]) -> None:
        if value.get(first) is None and value.get(second) is None:
            found.append(problem(f"must define either `{first}` or `{second}`", at))

    return across


def _one_alone(first: str, second: str) -> Any:
    def across(value: Mapping[str, Any], at: str, found: list[str]) -> None:
        if (value.get(first) is None) == (value.get(second) is None):
            found.append(problem(f"must define exactly one of `{first}` and `{second}`", at))

    return across


def _choices(value: Mapping[str, Any], at: str, found: list[str]) -> None:
    options, groups = value.get("options"), value.get("option_groups")
    if options is None and groups is None:
        found.append(problem("must define either `options` or `option_groups`", at))
        return
    if options is not None and groups is not None:
        found.append(problem("must not define both `options` and `option_groups`", at))
    offered = [*(options or []), *(one for group in groups or [] for one in group.get("options", []))]
    initial = [value["initial_option"]] if value.get("initial_option") else value.get("initial_options") or []
    values = [one.get("value") for one in offered if isinstance(one, dict)]
    if any(one.get("value") not in values for one in initial if isinstance(one, dict)):
        found.append(problem("initial option must be one of the options", at))
    if len(values) != len(set(values)):
        found.append(problem("option values must be unique", at))


_ID: Final = Text(limits.ELEMENT_ID)
_OPTION_PARTS: Final[dict[str, Rule]] = {"description": _plain(limits.OPTION_TEXT), "url": Text(limits.URL)}
_OPTION: Final = Shape({"text": _plain(limits.OPTION_TEXT), "value": Text(limits.OPTION_VALUE)}, _OPTION_PARTS)
_RICH_OPTION: Final = Shape(
    {"text": _either(limits.OPTION_TEXT), "value": Text(limits.OPTION_VALUE)},
    {"description": _either(limits.OPTION_TEXT)},
)
_GROUP: Final = Shape({"label": _plain(limits.OPTION_TEXT), "options": Many(_OPTION, limits.OPTIONS)})
_CONFIRM: Final = Shape(
    {"title": _plain(limits.CONFIRM_TITLE), "text": _either(limits.CONFIRM_TEXT)},
    {
        "confirm": _plain(limits.CONFIRM_BUTTON),
        "deny": _plain(limits.CONFIRM_BUTTON),
        "style": Choice(("primary", "danger")),
    },
)
_COMMON: Final[dict[str, Rule]] = {"action_id": _ID, "confirm": _CONFIRM, "focus_on_load": Flag()}
_HINTED: Final[dict[str, Rule]] = {**_COMMON, "placeholder": _plain(limits.PLACEHOLDER)}
_MULTI: Final[dict[str, Rule]] = {"max_selected_items": Number(1, limits.OPTIONS)}
_STATIC: Final[dict[str, Rule]] = {
    "options": Many(_OPTION, limits.OPTIONS),
    "option_groups": Many(_GROUP, limits.OPTIONS),
}
_TYPED: Final[dict[str, Rule]] = {
    "action_id": _ID,
    "placeholder": _plain(limits.PLACEHOLDER),
    "focus_on_load": Flag(),
    "dispatch_action_config": Shape(
        {}, {"trigger_actions_on": Many(Choice(("on_enter_pressed", "on_character_entered")), 2)}
    ),
}
_SLACK_FILE: Final = Shape(
    {}, {"id": Text(limits.ELEMENT_ID, pattern="^[F][A-Z0-9]{8,}$"), "url": Text(limits.URL)}, _one_alone("id", "url")
)
_IMAGE: Final[dict[str, Rule]] = {"image_url": Text(limits.URL), "slack_file": _SLACK_FILE}

ELEMENTS: Final[dict[str, Shape]] = {
    "button": Shape(
        {"text": _plain(limits.BUTTON_TEXT)},
        {
            "action_id": _ID,
            "value": Text(limits.BUTTON_VALUE, least=0),
            "url": Text(limits.URL),
            "style": Choice(("primary", "danger")),
            "confirm": _CONFIRM,
            "accessibility_label": Text(limits.BUTTON_TEXT),
        },
    ),
    "static_select": Shape({}, {**_HINTED, **_STATIC, "initial_option": _OPTION}, _choices),
    "multi_static_select": Shape(
        {}, {**_HINTED, **_STATIC, **_MULTI, "initial_options": Many(_OPTION, limits.OPTIONS)}, _choices
    ),
    "external_select": Shape({}, {**_HINTED, "initial_option": _OPTION, "min_query_length": Number(0, 255)}),
    "multi_external_select": Shape(
        {},
        {
            **_HINTED,
            **_MULTI,
            "initial_options": Many(_OPTION, limits.OPTIONS),
            "min_query_length": Number(0, 255),
        },
    ),
    "users_select": Shape({}, {**_HINTED, "initial_user": Text(32)}),
    "multi_users_select": Shape({}, {**_HINTED, **_MULTI, "initial_users": Many(Text(32), 1000)}),
    "conversations_select": Shape(
        {},
        {
            **_HINTED,
            "initial_conversation": Text(32),
            "default_to_current_conversation": Flag(),
            "response_url_enabled": Flag(),
            "filter": Free(),
        },
    ),
    "multi_conversations_select": Shape(
        {},
        {
            **_HINTED,
            **_MULTI,
            "initial_conversations": Many(Text(32), 1000),
            "default_to_current_conversation": Flag(),
            "filter": Free(),
        },
    ),
    "channels_select": Shape({}, {**_HINTED, "initial_channel": Text(32), "response_url_enabled": Flag()}),
    "multi_channels_select": Shape({}, {**_HINTED, **_MULTI, "initial_channels": Many(Text(32), 1000)}),
    "overflow": Shape(
        {"options": Many(_OPTION, limits.OVERFLOW_OPTIONS)}, {"action_id": _ID, "confirm": _CONFIRM}, _choices
    ),
    "checkboxes": Shape(
        {"options": Many(_RICH_OPTION, limits.CHOICES)},
        {**_COMMON, "initial_options": Many(_RICH_OPTION, limits.CHOICES)},
        _choices,
    ),
    "radio_buttons": Shape(
        {"options": Many(_RICH_OPTION, limits.CHOICES)}, {**_COMMON, "initial_option": _RICH_OPTION}, _choices
    ),
    "datepicker": Shape({}, {**_HINTED, "initial_date": Text(10, pattern=r"^\d{4}-\d{2}-\d{2}$")}),
    "timepicker": Shape({}, {**_HINTED, "initial_time": Text(5, pattern=r"^\d{2}:\d{2}$"), "timezone": Text(64)}),
    "datetimepicker": Shape({}, {**_COMMON, "initial_date_time": Number(1_000_000_000, 9_999_999_999)}),
    "plain_text_input": Shape(
        {},
        {
            **_TYPED,
            "initial_value": Text(limits.INPUT_TEXT, least=0),
            "multiline": Flag(),
            "min_length": Number(0, limits.INPUT_TEXT),
            "max_length": Number(1, limits.INPUT_TEXT),
        },
    ),
    "number_input": Shape(
        {"is_decimal_allowed": Flag()},
        {**_TYPED, "initial_value": Text(64), "min_value": Text(64), "max_value": Text(64)},
    ),
    "email_text_input": Shape({}, {**_TYPED, "initial_value": Text(limits.INPUT_TEXT)}),
    "url_text_input": Shape({}, {**_TYPED, "initial_value": Text(limits.INPUT_TEXT)}),
    "image": Shape({"alt_text": Text(limits.ALT_TEXT)}, _IMAGE, _one_of_two("image_url", "slack_file")),
}

TYPED: Final = frozenset({"plain_text_input", "number_input", "email_text_input", "url_text_input"})
SELECTS: Final = frozenset(name for name in ELEMENTS if name.endswith("_select"))
_PICKERS: Final = frozenset({"checkboxes", "radio_buttons", "datepicker", "timepicker"})
_IN_SECTION: Final = SELECTS | _PICKERS | {"button", "overflow", "image"}
_IN_ACTIONS: Final = SELECTS | _PICKERS | {"button", "overflow", "datetimepicker"}
_IN_INPUT: Final = SELECTS | _PICKERS | TYPED | {"datetimepicker"}
_CONTEXT: Final = {**_either(limits.SECTION_TEXT).shapes, "image": ELEMENTS["image"]}
_BLOCK: Final[dict[str, Rule]] = {"block_id": _ID}
_RICH: Final = ("rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted")

BLOCKS: Final[dict[str, Shape]] = {
    "section": Shape(
        {},
        {
            **_BLOCK,
            "text": _either(limits.SECTION_TEXT),
            "fields": Many(_either(limits.FIELD_TEXT), limits.FIELDS),
            "accessory": OneOf(ELEMENTS, _IN_SECTION),
            "expand": Flag(),
        },
        _one_of_two("text", "fields"),
    ),
    "actions": Shape({"elements": Many(OneOf(ELEMENTS, _IN_ACTIONS), limits.ACTIONS_ELEMENTS)}, _BLOCK),
    "context": Shape({"elements": Many(OneOf(_CONTEXT), limits.CONTEXT_ELEMENTS)}, _BLOCK),
    "divider": Shape({}, _BLOCK),
    "header": Shape({"text": _plain(limits.HEADER_TEXT)}, _BLOCK),
    "image": Shape(
        {"alt_text": Text(limits.ALT_TEXT)},
        {**_BLOCK, **_IMAGE, "title": _plain(limits.LABEL_TEXT)},
        _one_of_two("image_url", "slack_file"),
    ),
    "input": Shape(
        {"label": _plain(limits.LABEL_TEXT), "element": OneOf(ELEMENTS, _IN_INPUT)},
        {**_BLOCK, "hint": _plain(limits.LABEL_TEXT), "optional": Flag(), "dispatch_action": Flag()},
    ),
    "markdown": Shape({"text": Text(limits.MARKDOWN_TEXT)}, _BLOCK),
    "rich_text": Shape(
        {
            "elements": Many(
                OneOf(
                    {
                        name: Shape(
                            {"elements": Free()},
                            {"style": Free(), "indent": Free(), "offset": Free(), "border": Free()},
                        )
                        for name in _RICH
                    }
                ),
                most=1000,
            )
        },
        _BLOCK,
    ),
}
