"""Whether a place lets lessor do what its leases need, found out before one depends on it."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 12


@dataclass(frozen=True)
class Checkup:
    """What a place says of our rights. `problem` is why it says nothing; `missing` are words, one for each right.

    With `urgent` people cannot wait for the problem to show by itself: leases there cannot be ended.
    """

    place: str
    missing: tuple[str, ...] = ()
    problem: str = ""
    urgent: bool = False

    @property
    def fine(self) -> bool:
        return not self.missing and not self.problem

    def __str__(self) -> str:
        """What is wrong in one text for people; empty when nothing is."""
        more = f"; and {len(self.missing) - SHOWN} more" if len(self.missing) > SHOWN else ""
        return self.problem or "; ".join(self.missing[:SHOWN]) + more
