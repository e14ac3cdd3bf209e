"""What a signal can be at all: more than the most is taken as the most and counted, what is no amount is unknown."""

from __future__ import annotations

BLANK = 2_147_483_632.0
"""The smallest of the values by which DCGM says that it does not know; so much of anything but bytes is none."""
MOST = {"engine": 1.0, "sm": 1.0, "util": 100.0, "cpu": 100.0}
BYTES = frozenset({"network", "disk"})
BYTES_MOST = 1e13
"""More bytes a second than any machine moves."""


class Ranges:
    """Checks values one by one; `capped` counts those that were out of range."""

    def __init__(self) -> None:
        self.capped = 0

    def within(self, signal: str, value: float | None) -> float | None:
        """The value as it can be; `None` for none, for less than nothing, for no number and for a blank one."""
        if value is None:
            return None
        most = MOST.get(signal)
        blank = BYTES_MOST if signal in BYTES else BLANK
        if 0.0 <= value <= most if most is not None else 0.0 <= value < blank:
            return value
        self.capped += 1
        return most if most is not None and most < value < blank else None

    def whole(self, signal: str, value: float | None) -> int | None:
        """The same of something that is counted."""
        known = self.within(signal, value)
        return None if known is None else int(known)
