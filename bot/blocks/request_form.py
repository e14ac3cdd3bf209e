"""The request form: a loading view first, then fields whose quote follows the choices, errors at the field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slack_sdk.models.blocks import (
    Block,
    CheckboxesElement,
    InputBlock,
    NumberInputElement,
    Option,
    PlainTextInputElement,
    SectionBlock,
    StaticSelectElement,
)
from slack_sdk.models.views import View

from bot.blocks.message import markdown, plain_text, sections
from bot.blocks.text import cut, label, labels
from bot.ids import Form
from bot.wish import PURPOSE_PART, TYPE_PREFIX, Wish
from lessor.domain.errors import FieldError
from lessor.domain.request import Workload
from lessor.rendering import mrkdwn

if TYPE_CHECKING:
    from lessor.gateway import Choices, PlaceChoice

OPTIONS_MOST = 100
QUOTE_BLOCK = "quote"

_FIELDS = {"disk_gib": "disk", "need": "model"}
_NUMBER_CHANGES = {"trigger_actions_on": ["on_character_entered"]}
_TEXT_CHANGES = {"trigger_actions_on": ["on_enter_pressed"]}


def loading(callback: str, metadata: Mapping[str, str], text: str) -> View:
    """What opens within the three seconds that Slack gives, whatever is still to be read."""
    return modal(callback, metadata, "One moment", sections(text))


def words(callback: str, metadata: Mapping[str, str], title: str, blocks: Sequence[Block]) -> View:
    """A view that says something and asks nothing."""
    return modal(callback, metadata, title, blocks)


def form(wish: Wish, choices: Choices, quote: str, metadata: Mapping[str, str], problems: str = "") -> View:
    """The form with `wish` filled in. `quote` and `problems` are escaped text for people."""
    hidden = {"memory": str(wish.memory_gib or ""), "region": wish.region, "zone": wish.zone, "cost": wish.cost_center}
    remembered = {**metadata, **{name: value for name, value in hidden.items() if value}}
    blocks = [
        *(sections(problems) if problems else ()),
        _select("team", "Team", [(t.key, t.name or t.key) for t in choices.teams], wish.team),
        _select("model", "GPU", _models(wish, choices), wish.model, dispatch=True),
        _number("count", "How many GPUs", wish.count, _counts(wish, choices), dispatch=True),
        _select("place", "Where", [(p.name, p.label or p.name) for p in choices.places], wish.place, dispatch=True),
        _markets(wish, choices),
        _text("end", "Until when", wish.end, _TEXT_CHANGES, "8h, 3d, friday 18:00 or 2026-12-24; in your time zone"),
        *_purposes(wish),
        _select("workload", "Workload", [(w.value, w.value) for w in Workload], wish.workload),
        _number("disk", "Disk in GiB", wish.disk, ""),
        _options(wish),
        _tags(wish),
        SectionBlock(block_id=QUOTE_BLOCK, text=markdown(cut(quote))),
    ]
    return modal(Form.REQUEST, remembered, "Request GPUs", blocks, submit="Send")


def field_errors(view: Mapping[str, Any], errors: Iterable[FieldError]) -> dict[str, str]:
    """Messages by block id, as an acknowledgement takes them; a field that is not in the form speaks at the purpose."""
    blocks = {
        block["element"]["action_id"].removeprefix("wish-"): block["block_id"]
        for block in view["blocks"]
        if block["type"] == "input"
    }
    found: dict[str, str] = {}
    for error in errors:
        name = _FIELDS.get(error.field, error.field)
        block, text = (blocks[name], error.message) if name in blocks else (blocks["purpose"], str(error.message))
        found[block] = cut(f"{found[block]}; {text}" if block in found else text, 1_000)
    return found


def _models(wish: Wish, choices: Choices) -> list[tuple[str, str]]:
    offered = [(m.model, m.label or m.model) for m in choices.models]
    if wish.model.startswith(TYPE_PREFIX):
        offered.insert(0, (wish.model, f"instance type {wish.model.removeprefix(TYPE_PREFIX)}"))
    return offered


def _counts(wish: Wish, choices: Choices) -> str:
    counts = next((m.counts for m in choices.models if m.model == wish.model), ())
    return f"machines come with {', '.join(map(str, counts))}" if counts else ""


def _markets(wish: Wish, choices: Choices) -> Block:
    place: PlaceChoice | None = next((p for p in choices.places if p.name == wish.place), None)
    markets = [(m.value, m.value) for m in place.markets] if place else []
    # The block is another one for every place, since a choice that the new place lacks must not stay chosen.
    suffix = hashlib.sha256(wish.place.encode()).hexdigest()[:8]
    return _select("market", "Market", markets, wish.market, dispatch=True, block_id=f"market-{suffix}")


def _select(
    name: str,
    title: str,
    offered: Sequence[tuple[str, str]],
    chosen: str,
    *,
    dispatch: bool = False,
    block_id: str = "",
) -> Block:
    shown = offered[:OPTIONS_MOST]
    texts = labels([mrkdwn(text) for _, text in shown])
    options = [Option(value=value, text=plain_text(text)) for (value, _), text in zip(shown, texts, strict=True)]
    initial = next((option for option in options if option.value == chosen), None)
    rest = len(offered) - len(shown)
    hint = plain_text(f"and {rest} more, which can be typed: /gpu request ...") if rest else None
    element = StaticSelectElement(action_id=f"wish-{name}", options=options, initial_option=initial)
    return InputBlock(
        block_id=block_id or name,
        label=plain_text(title),
        element=element,
        dispatch_action=dispatch or None,
        hint=hint,
    )


def _number(name: str, title: str, value: str, hint: str, *, dispatch: bool = False) -> Block:
    element = NumberInputElement(
        action_id=f"wish-{name}",
        is_decimal_allowed=False,
        initial_value=value or None,
        dispatch_action_config=_NUMBER_CHANGES if dispatch else None,
    )
    return InputBlock(
        block_id=name,
        label=plain_text(title),
        element=element,
        dispatch_action=dispatch or None,
        hint=plain_text(hint) if hint else None,
    )


def _text(name: str, title: str, value: str, changes: dict[str, Any], hint: str) -> Block:
    element = PlainTextInputElement(
        action_id=f"wish-{name}", initial_value=value or None, dispatch_action_config=changes, max_length=200
    )
    return InputBlock(
        block_id=name, label=plain_text(title), element=element, dispatch_action=True, hint=plain_text(hint)
    )


def _purposes(wish: Wish) -> list[Block]:
    blocks: list[Block] = []
    for number, part in enumerate(wish.purposes, start=1):
        name = "purpose" if number == 1 else f"purpose-{number}"
        title = "Purpose" if number == 1 else f"Purpose, continued ({number})"
        element = PlainTextInputElement(
            action_id=f"wish-{name}", initial_value=part or None, multiline=True, max_length=PURPOSE_PART
        )
        blocks.append(InputBlock(block_id=name, label=plain_text(title), element=element, optional=number > 1 or None))
    return blocks


def _options(wish: Wish) -> Block:
    offered = {"snapshot": "Keep a snapshot of the disks when it is deleted"}
    if wish.anyway_offered:
        offered["anyway"] = "Make another one although a similar request is open"
    options = [Option(value=value, text=plain_text(label(text))) for value, text in offered.items()]
    chosen = [o for o in options if (o.value == "snapshot" and wish.snapshot) or (o.value == "anyway" and wish.anyway)]
    element = CheckboxesElement(action_id="wish-options", options=options, initial_options=chosen or None)
    return InputBlock(
        block_id="options-anyway" if wish.anyway_offered else "options",
        label=plain_text("Options"),
        element=element,
        optional=True,
    )


def _tags(wish: Wish) -> Block:
    element = PlainTextInputElement(
        action_id="wish-tags", initial_value=wish.tags or None, multiline=True, max_length=PURPOSE_PART
    )
    return InputBlock(
        block_id="tags",
        label=plain_text("Tags"),
        element=element,
        optional=True,
        hint=plain_text("one key=value on each line; they go onto the resources"),
    )


def modal(callback: str, metadata: Mapping[str, str], title: str, blocks: Sequence[Block], submit: str = "") -> View:
    return View(
        type="modal",
        callback_id=callback,
        private_metadata=json.dumps(dict(metadata)),
        title=plain_text(cut(title, 24)),
        submit=plain_text(submit) if submit else None,
        close=plain_text("Cancel" if submit else "Close"),
        blocks=list(blocks),
    )
