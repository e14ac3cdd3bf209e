"""What was asked of the simulated AWS and what became of it, so that tests assert exact numbers of calls."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

Delivered = Literal["answered", "answer-lost", "request-lost"]


@dataclass
class JournalEntry:
    """One call. `error` is the AWS code or empty; `delivery` says whether the caller heard the answer."""

    number: int
    at: datetime
    service: str
    action: str
    region: str
    account: str
    principal: str
    summary: str
    error: str = ""
    delivery: Delivered = "answered"
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "at": self.at.isoformat()}


class Journal:
    """Counts every call; keeps the newest `kept` entries."""

    def __init__(self, kept: int = 5000) -> None:
        self._entries: deque[JournalEntry] = deque(maxlen=kept)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._number = 0

    def open(self, **fields: Any) -> JournalEntry:
        self._number += 1
        entry = JournalEntry(number=self._number, **fields)
        self._entries.append(entry)
        return entry

    def close(self, entry: JournalEntry, error: str, delivery: Delivered) -> None:
        entry.error, entry.delivery = error, delivery
        self._counts[(entry.action, error)] += 1

    def count(self, action: str, error: str | None = None) -> int:
        """Calls of `action`; only those that ended with `error` when given (`""` counts the successful ones)."""
        return sum(n for (name, code), n in self._counts.items() if name == action and error in (None, code))

    def counts(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for (action, _), number in self._counts.items():
            totals[action] += number
        return dict(totals)

    def entries(self, action: str | None = None, last: int | None = None) -> list[JournalEntry]:
        """Oldest first, at most the `last` newest ones."""
        chosen = [entry for entry in self._entries if action in (None, entry.action)]
        return chosen[-last:] if last else chosen
