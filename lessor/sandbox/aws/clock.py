"""The simulator's time, so that tests move it forward instead of sleeping."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SimulatedClock:
    """Real UTC time plus what `advance` added; `freeze` makes it stand still except for `advance`."""

    def __init__(self) -> None:
        self._offset = timedelta()
        self._frozen: datetime | None = None

    def now(self) -> datetime:
        return (self._frozen or datetime.now(UTC)) + self._offset

    def advance(self, seconds: float) -> datetime:
        """Move time forward by `seconds` and return the new instant."""
        self._offset += timedelta(seconds=seconds)
        return self.now()

    def freeze(self) -> None:
        if self._frozen is None:
            self._frozen = datetime.now(UTC)
