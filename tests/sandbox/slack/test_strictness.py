"""Blocks and views are refused where Slack refuses them, with the reason and the place."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.sandbox.slack.blockkit import check_message_blocks, check_view
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.schema import BLOCKS, ELEMENTS
from tests.sandbox.slack.rehearsal import button, card, options, plain, request_view, section

Json = dict[str, Any]
KEYS = sorted(
    {"type", "text", "blocks", "title", "value", "label", *(key for shape in BLOCKS.values() for key in shape.optional)}
    | {key for shape in (*BLOCKS.values(), *ELEMENTS.values()) for key in (*shape.required, *shape.optional)}
)


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def fields(*texts: str) -> Json:
    return {"type": "section", "fields": [{"type": "mrkdwn", "text": text} for text in texts]}


def select(*offered: Json, **more: Any) -> Json:
    return {"type": "static_select", "action_id": "s", "options": list(offered), **more}


def option(text: str = "A", value: str = "a") -> Json:
    return {"text": plain(text), "value": value}


ACCEPTED: list[list[Json]] = [
    [],
    card(),
    card("Approved"),
    [section("x")] * 50,
    [section("x" * 3000)],
    [fields(*["x" * 1000] * 10)],
    [actions(button("a", "x" * 75, value="v" * 2000))],
    [actions(*(button(f"a{number}", "x") for number in range(25)))],
    [actions(select(*(option(value=str(number)) for number in range(100))))],
    [actions(select(option("x" * 75, "v" * 150), placeholder=plain("p" * 150)))],
    [{"type": "header", "text": plain("x" * 150)}],
    [{"type": "divider", "block_id": "b" * 255}],
    [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 10}],
    [{"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"}],
]

REFUSED: list[tuple[Any, str]] = [
    ([section("x")] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    ([section("x" * 3001)], "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
    ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    ([fields(*["x"] * 11)], "no more than 10 items allowed [json-pointer:/blocks/0/fields]"),
    ([fields("x" * 2001)], "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]"),
    ([{"type": "section"}], "must define either `text` or `fields` [json-pointer:/blocks/0]"),
    (
        [actions(button("a", "x" * 76))],
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    (
        [actions(button("a", "x", value="v" * 2001))],
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    (
        [actions(button("a" * 256, "x"))],
        "must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]",
    ),
    (
        [actions(button("a", "x", style="blue"))],
        "must be one of: primary, danger [json-pointer:/blocks/0/elements/0/style]",
    ),
    ([actions()], "no less than 1 items allowed [json-pointer:/blocks/0/elements]"),
    (
        [actions(*(button(f"a{number}", "x") for number in range(26)))],
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    (
        [actions(button("a", "x"), button("a", "y"))],
        "`action_id` must be unique within a block [json-pointer:/blocks/0]",
    ),
    ([actions(select())], "no less than 1 items allowed [json-pointer:/blocks/0/elements/0/options]"),
    (
        [actions({"type": "static_select", "action_id": "s"})],
        "must define either `options` or `option_groups` [json-pointer:/blocks/0/elements/0]",
    ),
    (
        [actions(select(*(option(value=str(number)) for number in range(101))))],
        "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    (
        [actions(select(option("x" * 76)))],
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/options/0/text/text]",
    ),
    (
        [actions(select(option(value="v" * 151)))],
        "must be less than 151 characters [json-pointer:/blocks/0/elements/0/options/0/value]",
    ),
    (
        [actions(select(option(), initial_option=option("B", "b")))],
        "initial option must be one of the options [json-pointer:/blocks/0/elements/0]",
    ),
    (
        [actions(select(option(), placeholder=plain("p" * 151)))],
        "must be less than 151 characters [json-pointer:/blocks/0/elements/0/placeholder/text]",
    ),
    (
        [{"type": "header", "text": plain("x" * 151)}],
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    (
        [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
        "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
    ),
    (
        [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ),
    (
        [{"type": "divider", "block_id": "b" * 256}],
        "must be less than 256 characters [json-pointer:/blocks/0/block_id]",
    ),
    (
        [{"type": "divider", "block_id": "same"}, {"type": "divider", "block_id": "same"}],
        "`block_id` already exists: same [json-pointer:/blocks/1/block_id]",
    ),
    ([{"type": "carousel"}], "unsupported type: carousel [json-pointer:/blocks/0/type]"),
    ([{}], "missing required field: type [json-pointer:/blocks/0]"),
    (
        [section("x", colour="red")],
        "invalid additional property: colour [json-pointer:/blocks/0]",
    ),
    (
        [{"type": "section", "text": {"type": "mrkdwn", "text": "x", "emoji": True}}],
        "invalid additional property: emoji [json-pointer:/blocks/0/text]",
    ),
    (
        [actions({"type": "plain_text_input", "action_id": "p"})],
        "unsupported type: plain_text_input [json-pointer:/blocks/0/elements/0/type]",
    ),
    (
        [{"type": "image", "image_url": "https://example.com/a.png"}],
        "missing required field: alt_text [json-pointer:/blocks/0]",
    ),
    ("nonsense", "must be an array [json-pointer:/blocks]"),
    (
        [section("x", accessory=button("a", "x", confirm={"title": plain("t" * 101), "text": plain("t")}))],
        "must be less than 101 characters [json-pointer:/blocks/0/accessory/confirm/title/text]",
    ),
]


@pytest.mark.parametrize("blocks", ACCEPTED)
def test_blocks_at_their_limits_are_accepted(blocks: list[Json]) -> None:
    check_message_blocks(blocks)


@pytest.mark.parametrize(("blocks", "reason"), REFUSED)
def test_blocks_beyond_a_limit_are_refused_with_the_reason(blocks: Any, reason: str) -> None:
    with pytest.raises(SlackError) as refused:
        check_message_blocks(blocks)
    assert refused.value.answer() == {
        "ok": False,
        "error": "invalid_blocks",
        "errors": [reason],
        "response_metadata": {"messages": [f"[ERROR] {reason}"]},
    }


def test_all_single_limits_kept_and_yet_too_long_in_total() -> None:
    check_message_blocks([section("x" * 3000)] * 4)
    with pytest.raises(SlackError) as refused:
        check_message_blocks([section("x" * 3000)] * 5)
    assert refused.value.answer() == {"ok": False, "error": "msg_blocks_too_long"}


def test_every_kind_of_field_is_accepted_in_a_modal() -> None:
    check_view(request_view(), "modal")


VIEWS: list[tuple[Json, str]] = [
    ({"title": plain("t" * 25)}, "must be less than 25 characters [json-pointer:/view/title/text]"),
    ({"submit": plain("t" * 25)}, "must be less than 25 characters [json-pointer:/view/submit/text]"),
    ({"close": plain("t" * 25)}, "must be less than 25 characters [json-pointer:/view/close/text]"),
    ({"private_metadata": "m" * 3001}, "must be less than 3001 characters [json-pointer:/view/private_metadata]"),
    ({"callback_id": "c" * 256}, "must be less than 256 characters [json-pointer:/view/callback_id]"),
    ({"blocks": [section("x")] * 101}, "no more than 100 items allowed [json-pointer:/view/blocks]"),
    ({"title": None}, "missing required field: title [json-pointer:/view]"),
    ({"blocks": None}, "missing required field: blocks [json-pointer:/view]"),
    ({"submit": None}, "`submit` is required when an `input` is within blocks [json-pointer:/view]"),
    ({"type": "wizard"}, "unsupported type: wizard [json-pointer:/view]"),
    ({"colour": "red"}, "invalid additional property: colour [json-pointer:/view]"),
]


@pytest.mark.parametrize(("change", "reason"), VIEWS)
def test_a_view_beyond_a_limit_is_refused_with_the_reason(change: Json, reason: str) -> None:
    with pytest.raises(SlackError) as refused:
        check_view({**request_view(), **change}, "modal")
    assert refused.value.code == "invalid_arguments"
    assert refused.value.messages == [reason]


def test_a_view_at_its_limits_is_accepted() -> None:
    view = {"title": plain("t" * 24), "private_metadata": "m" * 3000, "blocks": [section("x")] * 100}
    check_view({**request_view(), **view}, "modal")


def test_a_huge_view_is_too_large() -> None:
    many = [{**section("x" * 3000), "accessory": select(*options(*[f"o{n}" for n in range(9)]))} for _ in range(80)]
    with pytest.raises(SlackError) as refused:
        check_view({**request_view(), "blocks": many}, "modal")
    assert refused.value.code == "view_too_large"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(JSON)
def test_no_garbage_is_accepted_or_crashes_the_check(garbage: Any) -> None:
    for check in (lambda: check_message_blocks([garbage]), lambda: check_view(garbage, "modal")):
        with pytest.raises(SlackError):
            check()


@given(st.sampled_from(sorted(BLOCKS)), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_blocks_of_a_known_type_with_garbage_inside_never_crash_the_check(kind: str, parts: Json) -> None:
    with contextlib.suppress(SlackError):
        check_message_blocks([{**parts, "type": kind}])
