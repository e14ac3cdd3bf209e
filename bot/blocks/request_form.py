"""The request form: a loading view first, then fields whose quote follows the choices, errors at the field."""

from __future__ import annotations

import hashlib
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
from bot.blocks.views import Views
from bot.ids import Form
from bot.wish import PURPOSE_PART, TEAMS_OWN, TYPE_PREFIX, Wish
from lessor.domain.errors import FieldError
from lessor.domain.request import Workload
from lessor.rendering import Renderer, Safe, mrkdwn

if TYPE_CHECKING:
    from lessor.gateway import Choices, PlaceChoice

OPTIONS_MOST = 100
QUOTE_BLOCK = "quote"
NUMBER_MOST = 64
PROJECT_MOST = HIDDEN_MOST = TIME_MOST = 200
"""More than any of these may have: what is too long stays too long in the form, rather than be something else."""
PROJECTS_MOST = 8
CAP_MOST = 40

_FIELDS = {"disk_gib": "disk", "need": "model"}
_EVERY_CHANGE = {"trigger_actions_on": ["on_character_entered"]}
_ENTER = {"trigger_actions_on": ["on_enter_pressed"]}


def form(
    wording: Renderer, wish: Wish, choices: Choices, quote: str, metadata: Mapping[str, str], problems: str = ""
) -> View:
    """The form with `wish` filled in. `quote` and `problems` are escaped text for people."""
    hidden = {"memory": str(wish.memory_gib or ""), "region": wish.region, "zone": wish.zone}
    hidden["cost"] = wish.cost_center[:HIDDEN_MOST]
    remembered = {**metadata, **{name: value for name, value in hidden.items() if value}}
    fields = _Fields(wording, wish, choices)
    blocks = [
        *(sections(problems) if problems else ()),
        fields.select("team", [(t.key, t.name or t.key) for t in choices.teams], wish.team, dispatch=True),
        fields.words_of("project", wish.project, PROJECT_MOST),
        fields.select("model", fields.models(), wish.model, dispatch=True),
        fields.number("count", wish.count),
        fields.select("place", [(p.name, p.label or p.name) for p in choices.places], wish.place, dispatch=True),
        *fields.kinds(),
        fields.markets(),
        fields.words_of("start", wish.start, TIME_MOST),
        fields.end(),
        *fields.schedules(),
        *fields.purposes(),
        fields.select("workload", [(w.value, w.value) for w in Workload], wish.workload, dispatch=True),
        *fields.data(),
        fields.number("disk", wish.disk),
        fields.words_of("cap", wish.cap, CAP_MOST),
        fields.options(),
        fields.tags(),
        SectionBlock(block_id=QUOTE_BLOCK, text=markdown(cut(quote))),
    ]
    return Views(wording).form(Form.REQUEST, remembered, fields.words["heading"], blocks, fields.words["send"])


def field_errors(wording: Renderer, view: Mapping[str, Any], errors: Iterable[FieldError]) -> dict[str, str]:
    """Messages by block id, as an acknowledgement takes them.

    What is not in the form was typed: it speaks at the purpose, under its name, and says where it can be changed.
    """
    blocks = {
        block["element"]["action_id"].removeprefix("wish-"): block["block_id"]
        for block in view["blocks"]
        if block["type"] == "input"
    }
    found: dict[str, str] = {}
    for error in errors:
        name = _FIELDS.get(error.field, error.field)
        block, text = blocks.get(name, blocks["purpose"]), error.message
        if name not in blocks:
            text = wording.part("elsewhere.j2", "title", field=name, message=Safe(text))
        found[block] = cut(f"{found[block]}; {text}" if block in found else text, 1_000)
    return found


class _Fields:
    """The fields of one form, with the words of `form.j2`."""

    def __init__(self, wording: Renderer, wish: Wish, choices: Choices) -> None:
        self._wish = wish
        self._choices = choices
        self._wording = wording
        self.words = self._said()

    def models(self) -> list[tuple[str, str]]:
        offered = [(m.model, m.label or m.model) for m in self._choices.models]
        if self._wish.model.startswith(TYPE_PREFIX):
            offered.insert(0, (self._wish.model, self.words["instance_type"]))
        elif self._wish.model not in [model for model, _ in offered]:
            offered.insert(0, (self._wish.model, self._wish.model))
        return offered

    def markets(self) -> Block:
        place = self._place()
        offered = [(m.value, m.value) for m in place.markets] if place else []
        return self.select("market", offered, self._wish.market, dispatch=True, block_id=self._of_place("market"))

    def kinds(self) -> list[Block]:
        """What is leased; no field where the place has only one kind."""
        place = self._place()
        offered = [(kind.value, self.words[f"kind_{kind.value}"]) for kind in place.kinds] if place else []
        if len(offered) < 2:
            return []
        return [self.select("kind", offered, self._wish.kind, dispatch=True, block_id=self._of_place("kind"))]

    def select(
        self,
        name: str,
        offered: Sequence[tuple[str, str]],
        chosen: str,
        *,
        dispatch: bool = False,
        block_id: str = "",
    ) -> Block:
        """One of what is offered; what does not fit into Slack's list is mentioned, not dropped in silence."""
        shown = offered[:OPTIONS_MOST]
        texts = labels([mrkdwn(text) for _, text in shown])
        options = [Option(value=value, text=plain_text(text)) for (value, _), text in zip(shown, texts, strict=True)]
        initial = next((option for option in options if option.value == chosen), None)
        rest = len(offered) - len(shown)
        return InputBlock(
            block_id=block_id or name,
            label=plain_text(self.words[name]),
            element=StaticSelectElement(action_id=f"wish-{name}", options=options, initial_option=initial),
            dispatch_action=dispatch or None,
            hint=plain_text(self._said(more=rest)["more"]) if rest else None,
        )

    def number(self, name: str, value: str) -> Block:
        element = NumberInputElement(
            action_id=f"wish-{name}",
            is_decimal_allowed=False,
            initial_value=value[:NUMBER_MOST] or None,
            dispatch_action_config=_EVERY_CHANGE,
        )
        hint = self.words.get(f"{name}_hint")
        return InputBlock(
            block_id=name,
            label=plain_text(self.words[name]),
            element=element,
            dispatch_action=True,
            hint=plain_text(hint) if hint else None,
        )

    def schedules(self) -> list[Block]:
        """When it runs; no field where the organisation has no schedules."""
        names = self._choices.limits.schedules
        if not names:
            return []
        offered = [(TEAMS_OWN, self.words["schedule_team"]), *((name, name) for name in names)]
        return [self.select("schedule", offered, self._wish.schedule or TEAMS_OWN, dispatch=True)]

    def data(self) -> list[Block]:
        """How sensitive the data is; no field where the organisation has no classes of it."""
        classes = self._choices.limits.data
        offered = [(name, name) for name in classes]
        return [self.select("data", offered, self._wish.data, dispatch=True)] if classes else []

    def words_of(self, name: str, value: str, most: int) -> Block:
        """An optional line of text."""
        hint = self.words.get(f"{name}_hint")
        element = PlainTextInputElement(
            action_id=f"wish-{name}",
            initial_value=value[:most] or None,
            dispatch_action_config=_ENTER,
            max_length=most,
        )
        return InputBlock(
            block_id=name,
            label=plain_text(self.words[name]),
            element=element,
            dispatch_action=True,
            optional=True,
            hint=plain_text(hint) if hint else None,
        )

    def end(self) -> Block:
        element = PlainTextInputElement(
            action_id="wish-end",
            initial_value=self._wish.end[:TIME_MOST] or None,
            dispatch_action_config=_ENTER,
            max_length=TIME_MOST,
        )
        return InputBlock(
            block_id="end",
            label=plain_text(self.words["end"]),
            element=element,
            dispatch_action=True,
            hint=plain_text(self.words["end_hint"]),
        )

    def purposes(self) -> list[Block]:
        blocks: list[Block] = []
        for number, part in enumerate(self._wish.purposes, start=1):
            name = "purpose" if number == 1 else f"purpose-{number}"
            title = self.words["purpose"] if number == 1 else f"{self.words['purpose_more']} ({number})"
            element = PlainTextInputElement(
                action_id=f"wish-{name}", initial_value=part or None, multiline=True, max_length=PURPOSE_PART
            )
            blocks.append(
                InputBlock(block_id=name, label=plain_text(title), element=element, optional=number > 1 or None)
            )
        return blocks

    def options(self) -> Block:
        wish = self._wish
        ticked = {"checkpoints": wish.checkpoints, "snapshot": wish.snapshot, "anyway": wish.anyway}
        offered = ["checkpoints", "snapshot", *(["anyway"] if self._wish.anyway_offered else [])]
        options = [Option(value=name, text=plain_text(label(self.words[name]))) for name in offered]
        element = CheckboxesElement(
            action_id="wish-options",
            options=options,
            initial_options=[option for option in options if ticked[option.value]] or None,
        )
        return InputBlock(
            block_id="options-anyway" if self._wish.anyway_offered else "options",
            label=plain_text(self.words["options"]),
            element=element,
            dispatch_action=True,
            optional=True,
        )

    def tags(self) -> Block:
        element = PlainTextInputElement(
            action_id="wish-tags", initial_value=self._wish.tags or None, multiline=True, max_length=PURPOSE_PART
        )
        return InputBlock(
            block_id="tags",
            label=plain_text(self.words["tags"]),
            element=element,
            optional=True,
            hint=plain_text(self.words["tags_hint"]),
        )

    def _place(self) -> PlaceChoice | None:
        return next((p for p in self._choices.places if p.name == self._wish.place), None)

    def _of_place(self, name: str) -> str:
        """Another block for every place, since a choice that the new place lacks must not stay chosen."""
        return f"{name}-{hashlib.sha256(self._wish.place.encode()).hexdigest()[:8]}"

    def _said(self, more: int = 0) -> dict[str, str]:
        counts = next((m.counts for m in self._choices.models if m.model == self._wish.model), ())
        instance_type = self._wish.model.removeprefix(TYPE_PREFIX)
        listed = ", ".join(str(count) for count in counts)
        projects = ", ".join(self._choices.projects[:PROJECTS_MOST])
        values = {"counts": listed, "instance_type": instance_type, "more": more, "projects": projects}
        values["currency"] = self._choices.limits.currency
        return self._wording.parts("form.j2", **values)
