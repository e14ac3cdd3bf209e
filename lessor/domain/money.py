"""Exact money: decimals only, rounded once at the end, split without losing a cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import total_ordering

_NONE = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE = "BHD IQD JOD KWD LYD OMR TND"
_FOUR = "CLF UYW"
MINOR_DIGITS = {code: digits for digits, codes in ((0, _NONE), (3, _THREE), (4, _FOUR)) for code in codes.split()}
"""Digits after the point by currency where they are not two; source: ISO 4217."""


@total_ordering
@dataclass(frozen=True)
class Money:
    """An exact amount in one currency; `amount` keeps all its digits until `rounded`."""

    amount: Decimal
    currency: str = "USD"

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal):
            raise TypeError(f"money needs a Decimal, got {type(self.amount).__name__}")
        if not self.amount.is_finite():
            raise ValueError(f"money needs a number, got {self.amount}")

    @classmethod
    def of(cls, exact: Fraction, currency: str) -> Money:
        """An exact amount rounded half to even, to the digits that the currency has."""
        digits = MINOR_DIGITS.get(currency, 2)
        return cls(Decimal(round(exact * 10**digits)).scaleb(-digits), currency)

    def __lt__(self, other: Money) -> bool:
        self._same_currency(other)
        return self.amount < other.amount

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
        rounded = self.amount.quantize(self._unit, ROUND_HALF_EVEN)
        return Money(rounded if rounded else abs(rounded), self.currency)

    def split(self, weights: Sequence[Decimal | int]) -> tuple[Money, ...]:
        """Shares by weight, in the given order, that add up to the rounded total exactly.

        The units lost by rounding down go to the largest remainders, earlier ones first. Raises ValueError
        when there is no positive weight.
        """
        if not any(weights) or min(weights) < 0:
            raise ValueError("split needs weights of at least 0, and one above 0")
        units = int(self.rounded().amount / self._unit)
        parts = [Fraction(w) for w in weights]
        exact = [abs(units) * part / sum(parts) for part in parts]
        shares = [e // 1 for e in exact]
        order = sorted(range(len(exact)), key=lambda i: (shares[i] - exact[i], i))
        for i in order[: abs(units) - sum(shares)]:
            shares[i] += 1
        sign = -1 if units < 0 else 1
        return tuple(Money(sign * share * self._unit, self.currency) for share in shares)

    @property
    def exact(self) -> str:
        """All its digits, for the record and for rates: `0.526 USD`, never fewer digits than the currency has."""
        digits = max(-int(self._unit.as_tuple().exponent), -int(self.amount.normalize().as_tuple().exponent))
        return f"{self.amount:,.{digits}f} {self.currency}"

    @property
    def _unit(self) -> Decimal:
        """The smallest amount that the currency has."""
        return Decimal(1).scaleb(-MINOR_DIGITS.get(self.currency, 2))

    def _same_currency(self, other: Money) -> None:
        if self.currency != other.currency:
            raise ValueError(f"cannot combine {self.currency} with {other.currency}")

    def __str__(self) -> str:
        rounded = self.rounded()
        return f"{rounded.amount:,f} {self.currency}"
