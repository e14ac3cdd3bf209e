"""How an instant stands on resources, whichever kind of place they are in, and how it is read back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def instant(at: datetime) -> str:
    """ISO 8601 in UTC, to the second: what the guard reads back."""
    return at.astimezone(UTC).replace(microsecond=0).isoformat()


def latest_end(written: Sequence[str]) -> datetime | None:
    """The latest of these ends in UTC; `None` where any is missing, spoilt, or says no zone: it is unknown then."""
    ends: list[datetime] = []
    for one in written:
        try:
            end = datetime.fromisoformat(one)
        except ValueError:
            return None
        if end.tzinfo is None:
            return None
        ends.append(end.astimezone(UTC))
    return max(ends, default=None)
