"""Books in those kinds of place where things are booked; everywhere else there is nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from lessor.books import Bookings
from lessor.domain.lease import Lease


class Booked:
    """Implements `Bookings` over all kinds of place, by provider."""

    def __init__(self, kinds: Mapping[str, Bookings] | None = None) -> None:
        self._kinds = kinds or {}

    def book(self, lease: Lease, at: datetime) -> bool:
        kind = self._of(lease)
        return kind is not None and kind.book(lease, at)

    def prolong(self, lease: Lease, at: datetime) -> None:
        if (kind := self._of(lease)) is not None:
            kind.prolong(lease, at)

    def follow(self, lease: Lease, at: datetime) -> None:
        if (kind := self._of(lease)) is not None:
            kind.follow(lease, at)

    def _of(self, lease: Lease) -> Bookings | None:
        return self._kinds.get(lease.request.place.provider)
