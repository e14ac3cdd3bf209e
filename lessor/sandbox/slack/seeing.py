"""What one person sees: their conversations, the messages in them, their modals and App Home."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.api_people import described
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.screens import View
from lessor.sandbox.slack.store import Direct, Post
from lessor.sandbox.slack.workspace import Channel, Person

Json = dict[str, Any]

STATUS = ("status_text", "status_emoji", "status_expiration")


def conversations(core: Core, person: Person) -> list[Json]:
    """Channels first, then the app, then people; `kind` is channel, app, or direct."""
    bot = core.workspace.app.bot_user_id
    channels = [_channel(core, person, channel) for channel in core.workspace.channels if person.id in channel.members]
    mine = [direct for direct in core.store.directs.values() if person.id in direct.members]
    with_app = [direct for direct in mine if bot in direct.members]
    others = [direct for direct in mine if bot not in direct.members]
    return [*channels, *(_direct(core, person, direct) for direct in [*with_app, *others])]


def accounts(core: Core) -> Json:
    """What is shown beside everybody's name: whether the account is deactivated, and the status that holds now."""
    shown_of = {person.id: described(core, person)["profile"] for person in core.workspace.people}
    return {
        person.id: {"deleted": person.deleted, **{name: shown_of[person.id][name] for name in STATUS}}
        for person in core.workspace.people
    }


def unread_of(core: Core, person: Person) -> int:
    """How many messages wait for a person, all conversations together."""
    return sum(int(one["unread"]) for one in conversations(core, person))


def messages(core: Core, person: Person, place: Channel | Direct, thread_ts: str = "") -> list[Json]:
    """Messages of a conversation (or of one thread in it), oldest first, others' ephemerals left out."""
    posts = [post for post in core.store.posts.get(place.id, ()) if post.visible_to in ("", person.id)]
    if thread_ts:
        wanted = [post for post in posts if thread_ts in (post.ts, post.thread_ts)]
    else:
        wanted = [post for post in posts if not post.thread_ts or post.broadcast or post.thread_ts == post.ts]
    return [seen(core, post) for post in wanted]


def seen(core: Core, post: Post) -> Json:
    """A message as a client holds it: Slack's own fields and where, who, for whom, and what is selected in it."""
    bot = core.workspace.app.bot_user_id
    names = {bot: post.username or core.workspace.app.name, "USLACKBOT": "Slackbot"}
    author = core.workspace.person(post.user)
    return {
        **core.store.message(post),
        "channel": post.channel,
        "ephemeral": bool(post.visible_to),
        "author": names.get(post.user) or (author.role if author else post.user),
        "from_app": post.user == bot,
        "values": post.state,
    }


def ephemerals(core: Core, person: Person) -> list[Json]:
    """Every ephemeral message shown to the person, in any conversation, oldest first."""
    found = [post for posts in core.store.posts.values() for post in posts if post.visible_to == person.id]
    return [seen(core, post) for post in sorted(found, key=lambda post: post.ts)]


def direct_messages(core: Core, person: Person) -> list[Json]:
    """Everything in the person's direct conversations with the app, threads included, oldest first."""
    bot = core.workspace.app.bot_user_id
    mine = [one.id for one in core.store.directs.values() if person.id in one.members and bot in one.members]
    found = [post for channel in mine for post in core.store.posts.get(channel, ())]
    return [seen(core, post) for post in sorted(found, key=lambda post: post.ts) if post.visible_to in ("", person.id)]


def views(core: Core, person: Person) -> list[Json]:
    """The person's open modals, the visible one last."""
    return [shown(view) for view in core.screens.stacks.get(person.id, ())]


def home(core: Core, person: Person) -> Json | None:
    view = core.screens.homes.get(person.id)
    return shown(view) if view is not None else None


def shown(view: View) -> Json:
    """Slack's view object with the field errors and the trouble the client shows."""
    return {**view.described(), "errors": view.errors, "trouble": view.trouble}


def _channel(core: Core, person: Person, channel: Channel) -> Json:
    return {
        "id": channel.id,
        "kind": "channel",
        "name": channel.name,
        "topic": channel.topic,
        "private": channel.is_private,
        "archived": channel.is_archived,
        "members": len(channel.members),
        "unread": _unread(core, person, channel.id),
    }


def _direct(core: Core, person: Person, direct: Direct) -> Json:
    bot = core.workspace.app.bot_user_id
    others = [core.workspace.person(member) for member in direct.members if member not in (person.id, bot)]
    names = [other.role for other in others if other is not None]
    with_app = bot in direct.members and not names
    return {
        "id": direct.id,
        "kind": "app" if with_app else "direct",
        "name": core.workspace.app.name if with_app else ", ".join(names) or person.role,
        "with": [member for member in direct.members if member != person.id],
        "unread": _unread(core, person, direct.id),
    }


def _unread(core: Core, person: Person, channel_id: str) -> int:
    read = core.store.read.get(f"{person.id} {channel_id}", "0")
    posts = core.store.posts.get(channel_id, ())
    return sum(
        1
        for post in posts
        if float(post.ts) > float(read) and post.user != person.id and post.visible_to in ("", person.id)
    )
