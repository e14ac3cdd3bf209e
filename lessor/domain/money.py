"""Exact money: decimals only, rounded once at the end, split without losing a cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal

MINOR_DIGITS = {"BHD": 3, "CLP": 0, "ISK": 0, "JPY": 0, "KRW": 0, "KWD": 3, "OMR": 3, "TND": 3, "VND": 0}
"""Digits after the point by currency where they are not two; source: ISO 4217."""


@dataclass(frozen=True, order=True)
class Money:
    """An exact amount in one currency; `amount` keeps all its digits until `rounded`."""

    amount: Decimal
    currency: str = "USD"

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal):
            raise TypeError(f"money needs a Decimal, got {type(self.amount).__name__}")

    def __add__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.amount + other.amount, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.amount - other.amount, self.currency)

    def __mul__(self, factor: Decimal | int) -> Money:
        return Money(self.amount * factor, self.currency)

    def for_time(self, elapsed: timedelta) -> Money:
        """The cost of `elapsed` at this hourly rate, exact to the microsecond and not rounded."""
        microseconds = elapsed // timedelta(microseconds=1)
        return Money(self.amount * microseconds / Decimal(3_600_000_000), self.currency)

    def rounded(self) -> Money:
        """Rounded half to even, to the digits that the currency has."""
        digits = MINOR_DIGITS.get(self.currency, 2)
        return Money(self.amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN), self.currency)

    def split(self, weights: Sequence[Decimal | int]) -> tuple[Money, ...]:
        """Shares by weight, in the given order, that add up to the rounded total exactly.

        The units lost by rounding down go to the largest remainders, earlier ones first. Raises ValueError
        when there is no positive weight.
        """
        total_weight = sum(weights, Decimal(0))
        if total_weight <= 0 or min(weights) < 0:
            raise ValueError("split needs weights of at least 0, and one above 0")
        unit = Decimal(1).scaleb(-MINOR_DIGITS.get(self.currency, 2))
        units = int(self.rounded().amount / unit)
        exact = [Decimal(units) * w / total_weight for w in weights]
        floors = [int(e // 1) for e in exact]
        order = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
        for i in order[: units - sum(floors)]:
            floors[i] += 1
        return tuple(Money(f * unit, self.currency) for f in floors)

    def _same_currency(self, other: Money) -> None:
        if self.currency != other.currency:
            raise ValueError(f"cannot combine {self.currency} with {other.currency}")

    def __str__(self) -> str:
        rounded = self.rounded()
        return f"{rounded.amount:,f} {self.currency}"
