"""Uploaded files: announced, sent, completed, and only some time later usable in a message, as at Slack.

Slack answers files.completeUploadExternal before it has looked at the file. Until it has, a block that shows the file
is refused as `invalid slack file` and files.info tells no `mimetype` (python-slack-sdk#1521, #1658).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from lessor.sandbox.slack.blockkit import images_of
from lessor.sandbox.slack.clock import Clock
from lessor.sandbox.slack.rules import problem

Json = dict[str, Any]

IMAGES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}
"""What an image block may show, by its media type."""

_SIGNATURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass
class File:
    """One file. `completed_at` is 0 until the app says that it has sent it all, `usable_at` when Slack is done."""

    id: str
    name: str
    size: int
    title: str = ""
    alt_txt: str = ""
    completed_at: float = 0.0
    usable_at: float = 0.0
    content: bytes | None = None

    @property
    def mimetype(self) -> str:
        """By the content, as Slack finds it, whatever the file is called."""
        content = self.content or b""
        return next((kind for start, kind in _SIGNATURES if content.startswith(start)), "application/octet-stream")


class Files:
    """Files by id, and whether blocks may show them."""

    def __init__(self, clock: Clock, base_url: str = "") -> None:
        self._clock = clock
        self.base_url = base_url
        self.known: dict[str, File] = {}

    def announce(self, name: str, size: int, alt_txt: str = "") -> File:
        file = File(f"F0{secrets.token_hex(5).upper()}", name, size, title=name, alt_txt=alt_txt)
        self.known[file.id] = file
        return file

    def complete(self, file: File, title: str, seconds: float) -> None:
        """Everything of it was sent; it can be shown `seconds` from now."""
        file.title = title or file.title
        file.completed_at = file.completed_at or self._clock.now()
        file.usable_at = file.usable_at or file.completed_at + seconds

    def usable(self, file: File) -> bool:
        return bool(file.completed_at) and self._clock.now() >= file.usable_at

    def described(self, file: File) -> Json:
        """Slack's file object; what it finds out later is empty until then."""
        kind = file.mimetype if self.usable(file) else ""
        address = f"{self.base_url}/files/{file.id}/{quote(file.name)}"
        return {
            "id": file.id,
            "name": file.name,
            "title": file.title,
            "size": file.size,
            "alt_txt": file.alt_txt,
            "created": int(file.completed_at),
            "timestamp": int(file.completed_at),
            "mimetype": kind,
            "filetype": IMAGES.get(kind, "binary") if kind else "",
            "url_private": address,
            "permalink": address,
        }

    def problems(self, blocks: list[Json], at: str) -> Iterator[str]:
        """Why images in `blocks` (which are well formed) cannot be shown, in Slack's words."""
        for image, pointer in images_of(blocks, at):
            wanted = image.get("slack_file")
            if wanted is not None and not self._shows(wanted):
                yield problem("invalid slack file", f"{pointer}/slack_file")

    def _shows(self, wanted: Json) -> bool:
        file = self.known.get(wanted["id"]) if "id" in wanted else self._by_address(wanted["url"])
        return file is not None and self.usable(file) and file.mimetype in IMAGES

    def _by_address(self, url: str) -> File | None:
        return next((file for file in self.known.values() if self.described(file)["url_private"] == url), None)
