"""What a slice is of a whole GPU: exact fractions, so that sevenths of GPUs add up (case D04)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

PROFILE = re.compile(
    r"(?:(?P<computes>\d{1,2})c\.)?(?P<slices>\d{1,2})g\.(?P<memory>\d{1,4})gb(?P<extra>(?:[.+-][a-z.]+)?)"
)


@dataclass(frozen=True)
class Profile:
    """A profile of NVIDIA's MIG as it is written, such as `1g.10gb`: so many compute slices, so much memory in GB.

    `computes` are its compute slices where it is a part of a larger slice (`1c.3g.40gb`), else 0.
    """

    name: str
    slices: int
    memory_gib: int
    computes: int = 0

    def share(self, of: int) -> Fraction:
        """What it is of a whole GPU with `of` compute slices; never more than the whole."""
        return min(Fraction(self.computes or self.slices, of), Fraction(1))


def profile(text: str) -> Profile | None:
    """The profile that `text` spells (`1g.10gb`, `1g.10gb.me`, `1c.3g.40gb`); `None` for anything else."""
    match = PROFILE.fullmatch(text.casefold())
    if match is None or not int(match["slices"]):
        return None
    name = match[0].replace("+", ".")
    return Profile(name, int(match["slices"]), int(match["memory"]), int(match["computes"] or 0))


def shared(share: Fraction, replicas: int) -> Fraction:
    """What one of `replicas` is that take turns on what `share` is of a whole GPU."""
    return share / max(replicas, 1)


def whole_gpus(units: int, share: Fraction) -> Fraction:
    """How many whole GPUs `units` of a share each are together: two slices of 1g on a GPU of seven are 2/7."""
    return units * share
