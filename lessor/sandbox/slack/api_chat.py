"""chat.* and reactions.add."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.mrkdwn import normalise
from lessor.sandbox.slack.places import address, members_of, place_of, writable
from lessor.sandbox.slack.screens import initial_state
from lessor.sandbox.slack.store import Post

Json = dict[str, Any]


async def post_message(core: Core, args: Args) -> Json:
    channel = address(core, args.required("channel", "channel_not_found"))
    writable(core, channel)
    blocks, attachments = _content(core, args)
    thread_ts = args.text("thread_ts")
    if thread_ts and core.store.find(channel, thread_ts) is None:
        thread_ts = ""  # Slack does not refuse a reply to a missing root: it lands at channel level.
    post = core.post(
        channel,
        core.workspace.app.bot_user_id,
        args.text("text"),
        blocks,
        attachments=attachments,
        thread_ts=thread_ts,
        broadcast=args.flag("reply_broadcast"),
        metadata=args.structure("metadata"),
        username=args.text("username"),
    )
    return {"channel": channel, "ts": post.ts, "message": core.store.message(post)}


async def post_ephemeral(core: Core, args: Args) -> Json:
    channel = address(core, args.required("channel", "channel_not_found"))
    writable(core, channel)
    person = core.workspace.person(args.required("user", "user_not_found"))
    if person is None or person.deleted or person.id not in members_of(core, place_of(core, channel)):
        raise SlackError("user_not_in_channel")
    blocks, attachments = _content(core, args)
    if len(args.text("text")) > limits.MESSAGE_TEXT:
        raise SlackError("msg_too_long")
    post = core.post(
        channel,
        core.workspace.app.bot_user_id,
        args.text("text"),
        blocks,
        attachments=attachments,
        thread_ts=args.text("thread_ts"),
        visible_to=person.id,
    )
    return {"message_ts": post.ts}


async def update(core: Core, args: Args) -> Json:
    post = _own_message(core, args, "cant_update_message")
    blocks = args.structure("blocks")
    attachments = args.structure("attachments")
    if "text" not in args.values and blocks is None and attachments is None:
        raise SlackError("no_text")
    if len(args.text("text")) > limits.UPDATE_TEXT:
        raise SlackError("msg_too_long")
    if blocks is not None:
        core.check_blocks(blocks)
    revise(core, post, args.values.get("text"), blocks, attachments)
    return {"channel": post.channel, "ts": post.ts, "text": post.text, "message": core.store.message(post)}


def revise(core: Core, post: Post, text: str | None, blocks: list[Json] | None, attachments: list[Json] | None) -> None:
    """New content as chat.update defines it: text alone removes blocks and marks the message as edited."""
    if text is not None:
        post.text = normalise(text)
    if blocks is not None:
        post.blocks = core.names.fill(blocks)
    elif text is not None:
        post.blocks = []
        post.edited_ts = core.store.next_ts()
    if attachments is not None:
        post.attachments = attachments
    post.state = initial_state(post.blocks)
    core.store.touch()


async def delete(core: Core, args: Args) -> Json:
    post = _own_message(core, args, "cant_delete_message")
    core.store.remove(post)
    return {"channel": post.channel, "ts": post.ts}


async def get_permalink(core: Core, args: Args) -> Json:
    channel = place_of(core, args.required("channel", "channel_not_found")).id
    ts = args.required("message_ts", "message_not_found")
    if core.store.find(channel, ts) is None:
        raise SlackError("message_not_found")
    return {"channel": channel, "permalink": f"{core.base_url}/archives/{channel}/p{ts.replace('.', '')}"}


async def add_reaction(core: Core, args: Args) -> Json:
    channel = place_of(core, args.required("channel", "channel_not_found")).id
    post = core.store.find(channel, args.text("timestamp"))
    if post is None:
        raise SlackError("message_not_found")
    name, bot = args.required("name", "invalid_name"), core.workspace.app.bot_user_id
    reaction = next((one for one in post.reactions if one["name"] == name), None)
    if reaction is None:
        post.reactions.append({"name": name, "users": [bot], "count": 1})
    elif bot in reaction["users"]:
        raise SlackError("already_reacted")
    else:
        reaction["users"].append(bot)
        reaction["count"] += 1
    core.store.touch()
    return {}


METHODS: dict[str, Method] = {
    "chat.postMessage": post_message,
    "chat.postEphemeral": post_ephemeral,
    "chat.update": update,
    "chat.delete": delete,
    "chat.getPermalink": get_permalink,
    "reactions.add": add_reaction,
}


def _content(core: Core, args: Args) -> tuple[list[Json], list[Json]]:
    blocks = args.structure("blocks") or []
    attachments = args.structure("attachments") or []
    if not blocks and not attachments and not args.text("text").strip():
        raise SlackError("no_text")
    core.check_blocks(blocks)
    return blocks, attachments


def _own_message(core: Core, args: Args, refusal: str) -> Post:
    # Slack takes an id here and nothing else: a name or a person's id is channel_not_found.
    channel = place_of(core, args.required("channel", "channel_not_found")).id
    writable(core, channel)
    post = core.store.find(channel, args.required("ts", "message_not_found"))
    if post is None or post.visible_to:
        raise SlackError("message_not_found")
    if post.user != core.workspace.app.bot_user_id:
        raise SlackError(refusal)
    return post
