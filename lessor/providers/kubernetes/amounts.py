"""Amounts and times as the API server writes them; what cannot be read is `None`, never zero."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
BINARY = {f"{prefix}i": Fraction(1024**power) for power, prefix in enumerate("KMGTPE", start=1)}
DECIMAL = {prefix: Fraction(1000**power) for power, prefix in enumerate("kMGTPE", start=1)}
SMALL = {"m": Fraction(1, 1000), "u": Fraction(1, 1000**2), "n": Fraction(1, 1000**3)}
SUFFIXES = BINARY | DECIMAL | SMALL


def quantity(value: Any) -> Fraction | None:
    """`8`, `1500m`, `2Gi`, `1e3`: exactly."""
    match = QUANTITY.fullmatch(str(value).strip())
    if match is None:
        return None
    power = Fraction(10) ** int(match[2]) if match[2] else SUFFIXES.get(match[3], Fraction(1))
    return Fraction(match[1]) * power


def count(value: Any) -> int | None:
    """A whole number of things, such as devices."""
    exact = quantity(value)
    return int(exact) if exact is not None and exact.denominator == 1 and exact >= 0 else None


def digits(exact: Fraction) -> int | Decimal:
    """The same amount as a number with all its digits, which every amount that `quantity` reads has."""
    places = next(n for n in range(200) if (exact * 10**n).denominator == 1)
    return Decimal(f"{int(exact * 10**places)}E-{places}") if places else int(exact)


def moment(value: Any) -> datetime | None:
    """`2026-11-28T08:00:00Z`, in UTC."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None
