"""Amounts as Kubernetes writes them, such as `500m` or `32Gi`, taken several times."""

from __future__ import annotations

import re
from decimal import Decimal

from lessor.ports import PermanentError

QUANTITY = re.compile(r"(\d+(?:\.\d+)?|\.\d+)((?:[EPTGMk]i?|Ki|m|u|n)?|[eE][+-]?\d+)")


def times(quantity: str, count: int, what: str) -> str:
    """`count` times a quantity, in its own unit. `what` names it if it is none, which is a `PermanentError`."""
    found = QUANTITY.fullmatch(quantity.strip())
    if found is None:
        raise PermanentError(
            f"{what} is {quantity[:40]!r} in lessor.yaml, which is no amount for Kubernetes; amounts look like 4, 500m "
            "or 32Gi. Nothing was created; an administrator has to correct it",
            "bad-quantity",
        )
    number, unit = found.groups()
    return f"{(Decimal(number) * count).normalize():f}{unit}"
