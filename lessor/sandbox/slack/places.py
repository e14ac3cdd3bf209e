"""Channels and direct conversations as the app may see, name and write to them."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.store import Direct
from lessor.sandbox.slack.workspace import Channel

Json = dict[str, Any]


def place_of(core: Core, channel_id: str) -> Channel | Direct:
    """By id only; a private channel the app has not joined does not exist for it."""
    channel = next((one for one in core.workspace.channels if one.id == channel_id), None)
    if channel is not None and (not channel.is_private or channel.app_in):
        return channel
    direct = core.store.directs.get(channel_id)
    if direct is None or core.workspace.app.bot_user_id not in direct.members:
        raise SlackError("channel_not_found")
    return direct


def address(core: Core, given: str) -> str:
    """Where chat.postMessage writes: a channel's id or name, a conversation's id, or a person's id.

    An existing conversation with somebody deactivated still takes messages, that nobody reads
    (python-slack-sdk#1156); a new one cannot be opened.
    """
    person = core.workspace.person(given) if given[:1] in ("U", "W") else None
    if person is not None:
        existing = core.store.find_direct(person.id, core.workspace.app.bot_user_id)
        if existing is None and person.deleted:
            raise SlackError("channel_not_found")
        return (existing or core.store.direct(person.id, core.workspace.app.bot_user_id)).id
    named = core.workspace.channel(given)
    return place_of(core, named.id if named is not None else given).id


def writable(core: Core, channel_id: str) -> None:
    """Raise `is_archived` or `not_in_channel` when the app cannot write there."""
    place = place_of(core, channel_id)
    if isinstance(place, Channel):
        if place.is_archived:
            raise SlackError("is_archived")
        if not place.app_in:
            raise SlackError("not_in_channel")


def members_of(core: Core, place: Channel | Direct) -> list[str]:
    if isinstance(place, Direct):
        return list(place.members)
    return [*place.members, *([core.workspace.app.bot_user_id] if place.app_in else [])]


def described(core: Core, place: Channel | Direct) -> Json:
    """A conversation object."""
    if isinstance(place, Direct):
        others = [member for member in place.members if member != core.workspace.app.bot_user_id]
        return {"id": place.id, "is_im": len(place.members) == 2, "is_mpim": len(place.members) > 2, "user": others[0]}
    return {
        "id": place.id,
        "name": place.name,
        "name_normalized": place.name,
        "is_channel": not place.is_private,
        "is_group": place.is_private,
        "is_private": place.is_private,
        "is_im": False,
        "is_mpim": False,
        "is_archived": place.is_archived,
        "is_member": place.app_in,
        "num_members": len(members_of(core, place)),
        "topic": {"value": place.topic, "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
        "context_team_id": core.workspace.team_id,
    }
