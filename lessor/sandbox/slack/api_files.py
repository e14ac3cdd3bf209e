"""files.*: the upload in three steps (a URL is asked for, the content is sent there, the upload is completed)."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.files import File
from lessor.sandbox.slack.places import place_of, writable

Json = dict[str, Any]


async def get_upload_url(core: Core, args: Args) -> Json:
    length = args.number("length", 0)
    if length <= 0:
        raise SlackError("invalid_arguments", ["missing required field: length"])
    alt_txt = args.text("alt_txt")
    if len(alt_txt) > limits.FILE_ALT_TEXT:
        raise SlackError("alt_txt_too_large")
    file = core.files.announce(args.required("filename"), length, alt_txt)
    return {"file_id": file.id, "upload_url": f"{core.base_url}/upload/{file.id}"}


async def complete_upload(core: Core, args: Args) -> Json:
    listed = args.structure("files")
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        raise SlackError("invalid_arguments", ["missing required field: files"])
    channels = [name for name in (args.text("channel_id"), *args.text("channels").split(",")) if name]
    for channel in channels:
        writable(core, place_of(core, channel).id)
    comment = args.text("initial_comment")
    blocks = [] if comment else args.structure("blocks") or []
    core.check_blocks(blocks)
    uploaded = [(_sent(core, str(entry.get("id", ""))), str(entry.get("title") or "")) for entry in listed]
    for file, title in uploaded:
        core.files.complete(file, title, core.switches.file_seconds)
    core.store.touch()
    described = [core.files.described(file) for file, _ in uploaded]
    bot, thread_ts = core.workspace.app.bot_user_id, args.text("thread_ts")
    for channel in channels:
        core.post(channel, bot, comment, blocks, files=described, thread_ts=thread_ts)
    return {"files": described}


async def info(core: Core, args: Args) -> Json:
    file = _sent(core, args.required("file", "file_not_found"))
    if not file.completed_at:
        raise SlackError("file_not_found")
    return {"file": core.files.described(file)}


METHODS: dict[str, Method] = {
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
    "files.info": info,
}


def _sent(core: Core, file_id: str) -> File:
    file = core.files.known.get(file_id)
    if file is None or file.content is None:
        raise SlackError("file_not_found")
    return file
