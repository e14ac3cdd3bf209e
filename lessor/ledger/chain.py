"""The hash chain over all events: an entry covers all that is in it and the entry before, so that no edit goes unseen.

Pure functions. An auditor can repeat them on an export: `entry_hash` is SHA-256 over the canonical JSON of the entry
without its hash (keys sorted, no spaces, ASCII, instants in UTC with six digits of a second).
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import NamedTuple

GENESIS = "0" * 64
"""The previous hash of the first entry."""


class Entry(NamedTuple):
    """One row of the chain. `data` is the canonical JSON text of the event's data."""

    seq: int
    lease_id: str
    revision: int
    position: int
    type: str
    at: datetime
    actor: str
    data: str
    snapshot_hash: str
    prev_hash: str
    hash: str = ""

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.lease_id}, {self.type})"


def canonical(value: object) -> str:
    """The one JSON text of a value that everybody gets: sorted, compact, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def entry_hash(entry: Entry) -> str:
    """The hash that belongs to the content of `entry`, its place and the hash before it."""
    content = entry._asdict()
    del content["hash"]
    content["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    return hashlib.sha256(canonical(content).encode()).hexdigest()


class ChainReader:
    """Follows the chain entry by entry, in order of `seq`, and says in words what does not fit."""

    def __init__(self, limit: int = 20) -> None:
        self.problems: list[str] = []
        self.read = 0
        self.last_hash = GENESIS
        self._expected = 1
        self._limit = limit

    def follow(self, entry: Entry) -> None:
        self._gap(entry)
        changed = entry_hash(entry) != entry.hash
        unlinked = entry.prev_hash != self.last_hash
        if changed and unlinked:
            self.report(f"{entry} is not the one that was written here: it was moved or replaced")
        elif changed:
            self.report(f"{entry} was changed after it was written")
        elif unlinked:
            self.report(f"{entry} does not follow the entry before it: one of the two was put in or replaced")
        self.read += 1
        self.last_hash = entry.hash
        self._expected = entry.seq + 1

    def finish(self, count: int, head_hash: str) -> None:
        """Compare the end of what was read with the head of the ledger."""
        last = self._expected - 1
        if last < count:
            missing = f"entry {count} is" if count == last + 1 else f"entries {last + 1} to {count} are"
            self.report(f"{missing} missing at the end: {count} were written")
        elif last > count:
            self.report(f"{last - count} more at the end than the {count} entries that were written")
        elif self.last_hash != head_hash:
            self.report(f"the last entry, {last}, is not the one that the head of the chain names")

    def report(self, problem: str) -> None:
        """Keep the first problems; one bad entry must not hide in the noise of those after it."""
        if len(self.problems) < self._limit:
            self.problems.append(problem)

    def _gap(self, entry: Entry) -> None:
        if entry.seq > self._expected:
            last = entry.seq - 1
            span = f"entry {last} is" if last == self._expected else f"entries {self._expected} to {last} are"
            self.report(f"{span} missing")
            self.last_hash = entry.prev_hash
        elif entry.seq < self._expected:
            self.report(f"{entry} stands before the first place of the chain")
