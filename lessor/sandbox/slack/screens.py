"""What each person has open: a stack of modals, App Home, and the trigger ids that let the app open more."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.blockkit import BlockNames
from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.elements import untouched
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.rules import problem
from lessor.sandbox.slack.workspace import Workspace

Json = dict[str, Any]


@dataclass
class View:
    """A modal or App Home as stored; `body` is Slack's view object, `errors` what the fields show."""

    id: str
    person: str
    body: Json
    state: Json = field(default_factory=dict)
    errors: Json = field(default_factory=dict)
    trouble: str = ""

    def described(self) -> Json:
        """The view object as the app receives it, state included."""
        return {**self.body, "state": {"values": self.state}}


@dataclass
class _Trigger:
    person: str
    expires: float
    used: bool = False


class Screens:
    """Views by id, stacks and homes by person, triggers by id."""

    def __init__(self, workspace: Workspace, clock: Clock, names: BlockNames) -> None:
        self._workspace = workspace
        self._clock = clock
        self._names = names
        self._numbers = itertools.count(1)
        self._triggers: dict[str, _Trigger] = {}
        self.stacks: dict[str, list[View]] = {}
        self.homes: dict[str, View] = {}

    def issue_trigger(self, person: str) -> str:
        """A trigger id that lasts three seconds, works once, and never comes again, not even after a restart."""
        number = next(self._numbers)
        digest = secrets.token_hex(16)
        trigger = f"{1_000_000_000 + number}.{7_000_000_000 + number}.{digest}"
        self._triggers[trigger] = _Trigger(person, self._clock.now() + limits.TRIGGER_SECONDS)
        return trigger

    def exchange(self, trigger_id: str, shape: str = "code", *, expired: bool = False) -> str:
        """Use a trigger up; gives the id of the person it was issued to.

        `shape` "arguments" refuses in the second of the two forms seen in the field.
        """
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise self._refusal("invalid_trigger_id", "invalid `trigger_id`", shape)
        if expired or self._clock.now() > trigger.expires:
            raise self._refusal("expired_trigger_id", "`trigger_id` expired", shape)
        if trigger.used:
            raise self._refusal("exchanged_trigger_id", "`trigger_id` already exchanged", shape)
        trigger.used = True
        return trigger.person

    def open(self, person: str, view: Json) -> View:
        """Show a modal in place of whatever modals were open."""
        opened = self._create(person, view, previous=None)
        self.stacks[person] = [opened]
        return opened

    def push(self, person: str, view: Json) -> View:
        stack = self.stacks.get(person, [])
        if not stack:
            raise SlackError("not_found")
        if len(stack) >= limits.VIEW_STACK:
            raise SlackError("push_limit_reached")
        pushed = self._create(person, view, previous=stack[-1])
        stack.append(pushed)
        return pushed

    def publish(self, person: str, view: Json, wanted_hash: str = "") -> View:
        current = self.homes.get(person)
        if wanted_hash and current is not None and current.body["hash"] != wanted_hash:
            raise SlackError("hash_conflict")
        if current is None:
            self.homes[person] = self._create(person, view, previous=None)
        else:
            self._replace(current, view)
        return self.homes[person]

    def update(self, view: View, body: Json, wanted_hash: str = "") -> View:
        """Give an open view new content; what was typed in blocks that stay is kept."""
        if wanted_hash and view.body["hash"] != wanted_hash:
            raise SlackError("hash_conflict")
        self._replace(view, body)
        return view

    def find(self, view_id: str = "", external_id: str = "") -> View | None:
        every = [view for stack in self.stacks.values() for view in stack] + list(self.homes.values())
        for view in every:
            if view_id == view.id or (external_id and view.body.get("external_id") == external_id):
                return view
        return None

    def close(self, view: View, *, everything: bool = False) -> list[View]:
        """Take a view (or its whole stack) off the screen; gives those closed, top first."""
        stack = self.stacks.get(view.person, [])
        closed = list(reversed(stack)) if everything else [view]
        self.stacks[view.person] = [one for one in stack if one not in closed]
        return closed

    def _create(self, person: str, view: Json, previous: View | None) -> View:
        if view.get("external_id") and self.find(external_id=view["external_id"]):
            raise SlackError("duplicate_external_id")
        view_id = f"V0{next(self._numbers):07d}"
        created = View(view_id, person, {})
        root = previous.body["root_view_id"] if previous else view_id
        created.body = self._body(view_id, view, root, previous.id if previous else None)
        created.state = initial_state(created.body["blocks"])
        return created

    def _replace(self, view: View, body: Json) -> None:
        view.body = self._body(view.id, body, view.body["root_view_id"], view.body["previous_view_id"])
        fresh = initial_state(view.body["blocks"])
        view.state = {
            block: {action: view.state.get(block, {}).get(action, value) for action, value in actions.items()}
            for block, actions in fresh.items()
        }
        view.errors, view.trouble = {}, ""

    def _body(self, view_id: str, view: Json, root: str, previous: str | None) -> Json:
        app = self._workspace.app
        empty: Json = {"private_metadata": "", "callback_id": "", "external_id": "", "title": None, "submit": None}
        empty |= {"close": None, "clear_on_close": False, "notify_on_close": False}
        return {
            **empty,
            **view,
            "id": view_id,
            "team_id": self._workspace.team_id,
            "app_id": app.id,
            "app_installed_team_id": self._workspace.team_id,
            "bot_id": app.bot_id,
            "blocks": self._names.fill(view["blocks"]),
            "hash": f"{int(self._clock.now())}.{next(self._numbers):08x}",
            "root_view_id": root,
            "previous_view_id": previous,
        }

    def _refusal(self, code: str, message: str, shape: str) -> SlackError:
        if shape == "arguments":
            return SlackError("invalid_arguments", [problem(message, "/trigger_id")])
        return SlackError(code)


def initial_state(blocks: list[Json]) -> Json:
    """`state.values` of blocks nobody has touched yet."""
    state: Json = {}
    for block in blocks:
        elements = [block.get("element"), block.get("accessory"), *(block.get("elements") or [])]
        for element in elements:
            value = untouched(element) if isinstance(element, dict) else None
            if value is not None and isinstance(element, dict):
                state.setdefault(block["block_id"], {})[element["action_id"]] = value
    return state
