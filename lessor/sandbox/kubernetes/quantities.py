"""Quantities as Kubernetes writes them: 500m, 2, 16Gi."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_SUFFIXES = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("0.001"),
    "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip
_PATTERN = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d+)?(n|u|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$")
PATTERN_TEXT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


def amount(text: Any) -> Decimal:
    """The number that a quantity means. Raises `ValueError`."""
    found = _PATTERN.match(str(text))
    if found is None:
        raise ValueError(f"quantities must match the regular expression '{PATTERN_TEXT}'")
    return Decimal(found[1] + (found[2] or "")) * _SUFFIXES[found[3] or ""]


def written(number: Decimal, like: str = "") -> str:
    """A number as a quantity, in the unit of `like` where it comes out whole."""
    found = _PATTERN.match(like)
    suffix = found[3] or "" if found and number else ""
    for unit in (suffix, ""):
        value = number / _SUFFIXES[unit]
        if value == value.to_integral_value():
            return f"{int(value)}{unit}"
    return f"{int(number * 1000)}m"


def added(*parts: Mapping[str, Any]) -> dict[str, Decimal]:
    """The sum of lists of resources."""
    total: dict[str, Decimal] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, Decimal(0)) + amount(value)
    return total
