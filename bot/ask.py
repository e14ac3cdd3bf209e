"""Who asks, from where, and under which business key: taken from whatever payload Slack sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]

NONSENSE = (KeyError, IndexError, TypeError, AttributeError)
"""What reading a payload raises when it has not the parts that every payload of its kind has."""


@dataclass(frozen=True)
class Ask:
    """One command, click, submission or message.

    `key` is the business key: the same for a redelivery, whatever envelope or event id it comes with. `channel` and
    `ts` say where the message stands that was clicked or written; `teams` are all workspace and organisation ids
    that came with it, `home` the one that the person belongs to.
    """

    key: str
    user: str
    channel: str = ""
    ts: str = ""
    text: str = ""
    value: str = ""
    trigger_id: str = ""
    response_url: str = ""
    ephemeral: bool = False
    written: bool = False
    home: str = ""
    teams: frozenset[str] = frozenset()
    view: Json = field(default_factory=dict)


def of_command(body: Json) -> Ask:
    """A slash command."""
    team = str(body.get("team_id") or "")
    return Ask(
        key=f"command:{team}:{body['user_id']}:{body['trigger_id']}",
        user=body["user_id"],
        channel=body.get("channel_id", ""),
        text=body.get("text") or "",
        trigger_id=body["trigger_id"],
        response_url=body.get("response_url", ""),
        teams=_teams(team, body.get("enterprise_id")),
    )


def of_action(body: Json) -> Ask:
    """A click on a button, or a choice in a form."""
    action, container = body["actions"][0], body.get("container") or {}
    place = container.get("message_ts") or container.get("view_id") or ""
    return Ask(
        key=f"{action['action_id']}:{body['user']['id']}:{place}:{action.get('action_ts', '')}",
        user=body["user"]["id"],
        channel=(body.get("channel") or {}).get("id") or container.get("channel_id", ""),
        ts=container.get("message_ts", ""),
        value=str(action.get("value") or ""),
        trigger_id=body.get("trigger_id", ""),
        response_url=body.get("response_url", ""),
        ephemeral=bool(container.get("is_ephemeral")),
        home=str(body["user"].get("team_id") or ""),
        teams=_teams_of(body),
        view=body.get("view") or {},
    )


def of_view(body: Json) -> Ask:
    """A submitted form. Its key is in the form since it was opened, with a digest of what was filled in.

    Sending the same twice is one wish, also when `2h more` would mean another end by then; what was mended after an
    error is another one.
    """
    view = body["view"]
    filled = hashlib.sha256(json.dumps(view["state"]["values"], sort_keys=True).encode()).hexdigest()[:16]
    opened = metadata(view).get("key", view["id"])
    return Ask(
        key=f"form:{view['callback_id']}:{body['user']['id']}:{opened}:{filled}",
        user=body["user"]["id"],
        channel=metadata(view).get("channel", ""),
        trigger_id=body.get("trigger_id", ""),
        home=str(body["user"].get("team_id") or ""),
        teams=_teams_of(body),
        view=view,
    )


def of_shortcut(body: Json) -> Ask:
    """A global or message shortcut."""
    message = body.get("message") or {}
    return Ask(
        key=f"shortcut:{body['user']['id']}:{body.get('action_ts', '')}",
        user=body["user"]["id"],
        channel=(body.get("channel") or {}).get("id", ""),
        text=message.get("text") or "",
        trigger_id=body.get("trigger_id", ""),
        response_url=body.get("response_url", ""),
        home=str(body["user"].get("team_id") or ""),
        teams=_teams_of(body),
    )


def of_event(body: Json) -> Ask:
    """A message to the app, a mention of it, or a look at its Home."""
    event = body["event"]
    team = str(body.get("team_id") or "")
    user = str(event.get("user") or "")
    stamp = event.get("ts") or event.get("event_ts") or ""
    return Ask(
        key=f"{event['type']}:{team}:{event.get('channel', '')}:{user}:{stamp}",
        user=user,
        channel=event.get("channel", ""),
        ts=event.get("ts", ""),
        text=event.get("text") or "",
        written=True,
        home=str(event.get("user_team") or event.get("team") or ""),
        teams=_teams(team, body.get("enterprise_id")),
    )


def metadata(view: Json) -> dict[str, str]:
    """What a form remembers: ids only."""
    try:
        found = json.loads(view.get("private_metadata") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _teams_of(body: Json) -> frozenset[str]:
    return _teams((body.get("team") or {}).get("id"), (body.get("enterprise") or {}).get("id"))


def _teams(*ids: Any) -> frozenset[str]:
    return frozenset(str(one) for one in ids if one)
