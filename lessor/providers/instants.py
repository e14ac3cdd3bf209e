"""How an instant stands on resources, whichever kind of place they are in."""

from __future__ import annotations

from datetime import UTC, datetime


def instant(at: datetime) -> str:
    """ISO 8601 in UTC, to the second: what the guard reads back."""
    return at.astimezone(UTC).replace(microsecond=0).isoformat()
