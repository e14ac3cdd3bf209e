"""apps.connections.open and the external file upload."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError
from lessor.sandbox.slack.places import place_of, writable

Json = dict[str, Any]


async def connections_open(core: Core, args: Args) -> Json:
    base = core.base_url.replace("http", "ws", 1)
    return {"url": f"{base}/link/?ticket={core.sockets.ticket()}&app_id={core.workspace.app.id}"}


async def get_upload_url(core: Core, args: Args) -> Json:
    length = args.number("length", 0)
    if length <= 0:
        raise SlackError("invalid_arguments", ["missing required field: length"])
    file_id = f"F0{core.store.number():07d}"
    filename = args.required("filename")
    core.store.files[file_id] = {"id": file_id, "name": filename, "title": filename, "size": length, "done": False}
    return {"file_id": file_id, "upload_url": f"{core.base_url}/upload/{file_id}"}


async def complete_upload(core: Core, args: Args) -> Json:
    listed = args.structure("files")
    if not isinstance(listed, list) or not listed:
        raise SlackError("invalid_arguments", ["missing required field: files"])
    channel = args.text("channel_id") or args.text("channels").split(",")[0]
    if channel:
        writable(core, place_of(core, channel).id)
    files = [_complete(core, entry) for entry in listed]
    if channel:
        core.post(
            channel,
            core.workspace.app.bot_user_id,
            args.text("initial_comment"),
            files=files,
            thread_ts=args.text("thread_ts"),
        )
    return {"files": files}


METHODS: dict[str, Method] = {
    "apps.connections.open": connections_open,
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
}


def _complete(core: Core, entry: Json) -> Json:
    file = core.store.files.get(entry.get("id", ""))
    if file is None or entry["id"] not in core.store.contents:
        raise SlackError("file_not_found")
    file |= {"title": entry.get("title") or file["title"], "done": True}
    url = f"{core.base_url}/files/{file['id']}/{file['name']}"
    return {key: file[key] for key in ("id", "name", "title", "size")} | {"url_private": url, "permalink": url}
