"""Lengths of time as an organisation writes them in its configuration: `20s`, `15min`, `8h`, `7d`, `1h 30min`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
PART = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(s|sec|m|min|h|d|w)(?![a-z])")
PATTERN = r"^\s*(\d{1,9}(\.\d{1,3})?\s*(s|sec|m|min|h|d|w)\s*)+$"
ALLOWED = "allowed: a number with s, min, h, d or w, such as 20s, 15min, 8h, 7d"


def duration(value: object) -> timedelta:
    """`value` as a length of time. Raises ValueError with what is allowed; a bare number has no unit and is refused."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(f"is the number {value} without a unit; {ALLOWED}")
    if not isinstance(value, str):
        raise ValueError(f"is not a length of time; {ALLOWED}")
    if not re.fullmatch(PATTERN, value):
        raise ValueError(f"is '{value[:40]}'; {ALLOWED}")
    return sum((timedelta(seconds=float(n) * UNITS[unit]) for n, unit in PART.findall(value)), timedelta())


def _written(value: timedelta) -> str:
    """Exact to the millisecond, and readable by `duration`."""
    seconds, milliseconds = divmod(value // timedelta(milliseconds=1), 1_000)
    return f"{seconds}.{milliseconds:03}s" if milliseconds else f"{seconds}s"


Duration = Annotated[
    timedelta,
    PlainValidator(duration),
    PlainSerializer(_written, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": PATTERN, "examples": ["20s", "15min", "8h", "7d"]}),
]
