"""Keeps what was said across restarts of `lessor up`: one JSON file, and beside it the uploaded files."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from lessor.sandbox.slack.files import File, Files
from lessor.sandbox.slack.store import Store


class Snapshot:
    """Loads the store from `path`, and writes it there soon after it changes."""

    def __init__(self, path: Path, quiet_seconds: float = 0.5) -> None:
        self._path = path
        self._quiet = quiet_seconds

    async def keep(self, store: Store, files: Files) -> None:
        """Save after every burst of changes, until cancelled."""
        saved = store.revision
        while True:
            revision = await store.changed(saved, 3600.0)
            await asyncio.sleep(self._quiet)
            if revision != saved:
                self.save(store, files)
                saved = revision

    def load(self, store: Store, files: Files) -> None:
        """Take over the file's content; a missing file is an empty workspace, an unreadable one is an error."""
        if not self._path.exists():
            return
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            store.load(data)
            files.known = {one["id"]: File(**one, content=self._content(one["id"])) for one in data.get("files", ())}
        except (ValueError, KeyError, TypeError) as wrong:
            raise ValueError(f"{self._path} is no sandbox state ({wrong}); move it away to start afresh") from wrong

    def save(self, store: Store, files: Files) -> None:
        """Completed files only: an upload that was under way begins anew."""
        completed = [file for file in files.known.values() if file.completed_at]
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in completed:
            if not (self._folder / file.id).exists():
                _replace(self._folder / file.id, file.content or b"")
        kept = [{name: value for name, value in vars(file).items() if name != "content"} for file in completed]
        _replace(self._path, json.dumps({**store.dump(), "files": kept}).encode())

    @property
    def _folder(self) -> Path:
        return self._path.with_suffix(".files")

    def _content(self, file_id: str) -> bytes | None:
        path = self._folder / file_id
        return path.read_bytes() if path.exists() else None


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
