"""conversations.*"""

from __future__ import annotations

import base64
from typing import Any, TypeVar

from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.places import described, members_of, place_of
from lessor.sandbox.slack.store import Post
from lessor.sandbox.slack.workspace import Channel

Json = dict[str, Any]
Item = TypeVar("Item")


async def open_conversation(core: Core, args: Args) -> Json:
    if args.text("channel"):
        place = place_of(core, args.text("channel"))
        return {"channel": {"id": place.id}}
    names = [name.strip() for name in args.text("users").split(",") if name.strip()]
    if not names:
        raise SlackError("users_list_not_supplied")
    people = [core.workspace.person(name) if name[:1] in ("U", "W") else None for name in names]
    found = [person for person in people if person is not None]
    if len(found) < len(names):
        raise SlackError("user_not_found")
    if any(person.deleted for person in found):
        raise SlackError("user_disabled")
    bot = core.workspace.app.bot_user_id
    members = [person.id for person in found]
    already = core.store.find_direct(bot, *members) is not None
    channel = core.store.direct(bot, *members)
    answer: Json = {"channel": described(core, channel) if args.flag("return_im") else {"id": channel.id}}
    return {**answer, **({"already_open": True, "no_op": True} if already else {})}


async def list_conversations(core: Core, args: Args) -> Json:
    types = args.text("types", "public_channel").split(",")
    channels = [
        channel
        for channel in core.workspace.channels
        if ("private_channel" if channel.is_private else "public_channel") in types
        and (not channel.is_private or channel.app_in)
        and not (args.flag("exclude_archived") and channel.is_archived)
    ]
    found = [described(core, channel) for channel in channels]
    if "im" in types:
        bot = core.workspace.app.bot_user_id
        found += [described(core, direct) for direct in core.store.directs.values() if bot in direct.members]
    page, following = page_of(found, args)
    return {"channels": page, "response_metadata": {"next_cursor": following}}


async def info(core: Core, args: Args) -> Json:
    return {"channel": described(core, place_of(core, args.required("channel", "channel_not_found")))}


async def members(core: Core, args: Args) -> Json:
    place = place_of(core, args.required("channel", "channel_not_found"))
    page, following = page_of(members_of(core, place), args)
    return {"members": page, "response_metadata": {"next_cursor": following}}


async def join(core: Core, args: Args) -> Json:
    place = place_of(core, args.required("channel", "channel_not_found"))
    if not isinstance(place, Channel) or place.is_private:
        raise SlackError("method_not_supported_for_channel_type")
    if place.is_archived:
        raise SlackError("is_archived")
    return {"channel": described(core, core.workspace.change_channel(place.id, app_in=True))}


async def history(core: Core, args: Args) -> Json:
    place = place_of(core, args.required("channel", "channel_not_found"))
    _member(core, place.id)
    posts = [post for post in core.store.posts.get(place.id, ()) if not post.visible_to]
    top = [post for post in posts if not post.thread_ts or post.thread_ts == post.ts or post.broadcast]
    page, following = page_of(list(reversed(_between(top, args))), args)
    answer = {"messages": [core.store.message(post) for post in page], "has_more": bool(following)}
    return {**answer, "response_metadata": {"next_cursor": following}}


async def replies(core: Core, args: Args) -> Json:
    place = place_of(core, args.required("channel", "channel_not_found"))
    _member(core, place.id)
    root = core.store.find(place.id, args.required("ts", "thread_not_found"))
    if root is None or root.visible_to:
        raise SlackError("thread_not_found")
    posts = [root, *(post for post in core.store.replies(place.id, root.ts) if not post.visible_to)]
    page, following = page_of(posts, args)
    answer = {"messages": [core.store.message(post) for post in page], "has_more": bool(following)}
    return {**answer, "response_metadata": {"next_cursor": following}}


METHODS: dict[str, Method] = {
    "conversations.open": open_conversation,
    "conversations.list": list_conversations,
    "conversations.info": info,
    "conversations.members": members,
    "conversations.join": join,
    "conversations.history": history,
    "conversations.replies": replies,
}


def page_of(items: list[Item], args: Args) -> tuple[list[Item], str]:
    """One page of `items` (`limit`, `cursor`) and the cursor of the next ("" at the end)."""
    size = max(1, min(args.number("limit", 100), 1000))
    start = 0
    if args.text("cursor"):
        try:
            start = int(base64.b64decode(args.text("cursor"), validate=True).decode().removeprefix("next:"))
        except ValueError as wrong:
            raise SlackError("invalid_cursor") from wrong
    following = base64.b64encode(f"next:{start + size}".encode()).decode() if start + size < len(items) else ""
    return items[start : start + size], following


def _member(core: Core, channel_id: str) -> None:
    place = place_of(core, channel_id)
    if isinstance(place, Channel) and not place.app_in:
        raise SlackError("not_in_channel")


def _between(posts: list[Post], args: Args) -> list[Post]:
    oldest, latest = args.text("oldest", "0"), args.text("latest")
    inclusive = args.flag("inclusive")
    return [
        post
        for post in posts
        if (float(post.ts) > float(oldest) or (inclusive and post.ts == oldest))
        and (not latest or float(post.ts) < float(latest) or (inclusive and post.ts == latest))
    ]
