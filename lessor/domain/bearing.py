"""What the GPUs of a place cost an hour, by who bears it: leases, whoever runs without one, and the place itself.

What nobody uses is a line of its own, never negative, and borne by the place: no tenant ever pays for it (case F33).
The lines add up to the price of all GPUs to the cent (case F32), with what has no owner among them (case F37).
"""

from __future__ import annotations

from dataclasses import dataclass

from lessor.domain.fleet import Line
from lessor.domain.money import Money


@dataclass(frozen=True)
class Bearing:
    """An hour of one model in one place. `unused` of its units are neither leased nor held by anybody."""

    leased: Money
    ownerless: Money
    idle: Money
    unused: int

    @property
    def total(self) -> Money:
        return self.leased + self.ownerless + self.idle


def bearing(line: Line) -> Bearing | None:
    """Who bears what of a line; `None` where a number or the price is not known, and where there is no total.

    Where more is handed out than there is, such as GPUs that are shared in turns, the price of all there is is shared
    by those who have it, and nothing is idle.
    """
    total, ownerless = line.total, line.ownerless
    if line.hourly is None or total is None or ownerless is None:
        return None
    unused = max(total - line.leased - ownerless, 0)
    weights = (line.leased, ownerless, unused)
    if not any(weights):
        nothing = (line.hourly * 0).rounded()
        return Bearing(nothing, nothing, nothing, 0)
    leased, stray, idle = (line.hourly * total).split(weights)
    return Bearing(leased, stray, idle, unused)
