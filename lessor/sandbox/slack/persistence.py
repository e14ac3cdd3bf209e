"""Keeps what was said across restarts of `lessor up`, in one JSON file."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from lessor.sandbox.slack.store import Store


class Snapshot:
    """Loads the store from `path`, and writes it there soon after it changes."""

    def __init__(self, path: Path, quiet_seconds: float = 0.5) -> None:
        self._path = path
        self._quiet = quiet_seconds

    async def keep(self, store: Store) -> None:
        """Save after every burst of changes, until cancelled."""
        saved = store.revision
        while True:
            revision = await store.changed(saved, 3600.0)
            await asyncio.sleep(self._quiet)
            if revision != saved:
                self.save(store)
                saved = revision

    def load(self, store: Store) -> None:
        """Take over the file's content; a missing file is an empty workspace, an unreadable one is an error."""
        if not self._path.exists():
            return
        try:
            store.load(json.loads(self._path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError) as wrong:
            raise ValueError(f"{self._path} is no sandbox state ({wrong}); move it away to start afresh") from wrong

    def save(self, store: Store) -> None:
        partial = self._path.with_suffix(".partial")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(store.dump()), encoding="utf-8")
        os.replace(partial, self._path)
