"""The payloads Slack sends about what people do, field by field as its reference shows them."""

from __future__ import annotations

import uuid
from typing import Any

from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.screens import View
from lessor.sandbox.slack.store import Direct, Post
from lessor.sandbox.slack.workspace import Channel, Person

Json = dict[str, Any]


def slash_command(core: Core, person: Person, place: Channel | Direct, command: str, text: str) -> Json:
    return {
        "token": "sandbox",
        "team_id": _team_id(core, person),
        "team_domain": core.workspace.team_domain,
        "channel_id": place.id,
        "channel_name": core.place_name(place),
        "user_id": _shown_id(core, person),
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": core.workspace.app.id,
        "is_enterprise_install": "false",
        "response_url": core.new_response_url(place.id, person.id),
        "trigger_id": core.screens.issue_trigger(person.id),
    }


def action_on_message(core: Core, person: Person, place: Channel | Direct, post: Post, action: Json) -> Json:
    container: Json = {"type": "message", "message_ts": post.ts, "channel_id": post.channel}
    container["is_ephemeral"] = bool(post.visible_to)
    if post.thread_ts:
        container["thread_ts"] = post.thread_ts
    return {
        **_interaction(core, person, "block_actions"),
        "container": container,
        "trigger_id": core.screens.issue_trigger(person.id),
        "channel": {"id": place.id, "name": core.place_name(place)},
        "message": core.store.message(post),
        "state": {"values": post.state},
        "response_url": core.new_response_url(place.id, person.id, post.ts, post.thread_ts),
        "actions": [action],
    }


def action_in_view(core: Core, person: Person, view: View, action: Json) -> Json:
    return {
        **_interaction(core, person, "block_actions"),
        "container": {"type": "view", "view_id": view.id},
        "trigger_id": core.screens.issue_trigger(person.id),
        "view": view.described(),
        "actions": [action],
    }


def view_submission(core: Core, person: Person, view: View) -> Json:
    return {
        **_interaction(core, person, "view_submission"),
        "trigger_id": core.screens.issue_trigger(person.id),
        "view": view.described(),
        "response_urls": [],
    }


def view_closed(core: Core, person: Person, view: View, *, cleared: bool) -> Json:
    return {**_interaction(core, person, "view_closed"), "view": view.described(), "is_cleared": cleared}


def suggestion(core: Core, person: Person, where: Json, block_id: str, action_id: str, typed: str) -> Json:
    """Asks the app for the options of an external select; `where` names the message or view it stands in."""
    return {
        **_interaction(core, person, "block_suggestion"),
        **where,
        "block_id": block_id,
        "action_id": action_id,
        "value": typed,
    }


def shortcut(core: Core, person: Person, callback_id: str) -> Json:
    return {
        **_interaction(core, person, "shortcut"),
        "callback_id": callback_id,
        "action_ts": core.store.next_ts(),
        "trigger_id": core.screens.issue_trigger(person.id),
    }


def message_shortcut(core: Core, person: Person, place: Channel | Direct, post: Post, callback_id: str) -> Json:
    return {
        **_interaction(core, person, "message_action"),
        "callback_id": callback_id,
        "action_ts": core.store.next_ts(),
        "message_ts": post.ts,
        "channel": {"id": place.id, "name": core.place_name(place)},
        "message": core.store.message(post),
        "response_url": core.new_response_url(place.id, person.id, post.ts, post.thread_ts),
        "trigger_id": core.screens.issue_trigger(person.id),
    }


def event(core: Core, inner: Json) -> Json:
    app = core.workspace.app
    return {
        "token": "sandbox",
        "team_id": core.workspace.team_id,
        "api_app_id": app.id,
        "event": inner,
        "type": "event_callback",
        "event_id": f"Ev{uuid.uuid4().hex[:10].upper()}",
        "event_time": int(core.clock.now()),
        "authorizations": [
            {
                "enterprise_id": core.workspace.enterprise_id or None,
                "team_id": core.workspace.team_id,
                "user_id": app.bot_user_id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def _interaction(core: Core, person: Person, kind: str) -> Json:
    team = {"id": _team_id(core, person), "domain": core.workspace.team_domain}
    enterprise = {"id": core.workspace.enterprise_id, "name": "Sandbox"} if core.workspace.enterprise_id else None
    return {
        "type": kind,
        "user": {
            "id": _shown_id(core, person),
            "username": person.name,
            "name": person.name,
            "team_id": person.team_id or team["id"],
        },
        "api_app_id": core.workspace.app.id,
        "token": "sandbox",
        "team": team,
        "enterprise": enterprise,
        "is_enterprise_install": False,
    }


def _shown_id(core: Core, person: Person) -> str:
    return person.enterprise_id if core.switches.enterprise_ids and person.enterprise_id else person.id


def _team_id(core: Core, person: Person) -> str:
    return core.switches.interaction_team_id or core.workspace.team_id
