"""How an instant stands on resources, whichever kind of place they are in, and how it is read back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def instant(at: datetime) -> str:
    """ISO 8601 in UTC, to the second: what the guard reads back."""
    return at.astimezone(UTC).replace(microsecond=0).isoformat()


PLAUSIBLE = range(2000, 2200)
"""Years in which a lease may end: what stands for `never`, or is of a broken clock, is no end to count on."""


def latest_end(written: Sequence[str]) -> datetime | None:
    """The latest of these ends in UTC.

    `None` where any is missing, spoilt, beyond all plausible years, or says no zone: it is unknown then.
    """
    ends: list[datetime] = []
    for one in written:
        try:
            end = datetime.fromisoformat(one)
        except ValueError:
            return None
        if end.tzinfo is None or end.year not in PLAUSIBLE:
            return None
        ends.append(end.astimezone(UTC))
    return max(ends, default=None)
