"""What is stored once a minute for every lease, as short text: values in the order of their fields, without names.

New fields of a packed dataclass go to its end and have a default, so that what was stored before still reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_type_hints

T = TypeVar("T")

Turn = Callable[[Any], Any]


class Packed(Generic[T]):
    """Turns one kind of frozen dataclass, and those inside it, into a JSON array and back; equal after the round trip.

    Instants are seconds since 1970; fields at the end that have their default are left out.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        hints = get_type_hints(kind)
        names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
        turns = [(place, *_turns(hints[name])) for place, name in enumerate(names)]
        self._get = attrgetter(*names)
        self._outward = [(place, out) for place, out, _ in turns if out]
        self._inward = [(place, back) for place, _, back in turns if back]
        self._defaults = [_default(f) for f in fields(kind)]  # type: ignore[arg-type]
        for place, out in self._outward:
            if self._defaults[place] is not MISSING:
                self._defaults[place] = out(self._defaults[place])

    def dump(self, value: T) -> str:
        return json.dumps(self.row(value), separators=(",", ":"), ensure_ascii=False)

    def load(self, text: str) -> T:
        return self.made(json.loads(text))

    def row(self, value: T) -> list[Any]:
        row = list(self._get(value))
        for place, out in self._outward:
            row[place] = out(row[place])
        defaults, length = self._defaults, len(row)
        while length and row[length - 1] == defaults[length - 1]:
            length -= 1
        return row[:length]

    def made(self, row: list[Any]) -> T:
        """The value of a row; what a later version added at its end is left out."""
        row = row[: len(self._defaults)]
        for place, back in self._inward:
            if place >= len(row):
                break
            row[place] = back(row[place])
        return self._kind(*row)


def _turns(hint: Any) -> tuple[Turn | None, Turn | None]:
    """How a value of this type is written and read; `None` where it is JSON already."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        out, back = _turns(parts[0])
        return (out and _unless_none(out)), (back and _unless_none(back))
    if parts:
        inside = parts[0]
        if is_dataclass(inside):
            packed = Packed(inside)  # type: ignore[arg-type]
            return (lambda many: [packed.row(one) for one in many]), (lambda many: tuple(map(packed.made, many)))
        return list, tuple
    if issubclass(hint, datetime):
        return _seconds, _instant
    if issubclass(hint, StrEnum):
        return str, hint
    return None, None


def _unless_none(turn: Turn) -> Turn:
    return lambda value: None if value is None else turn(value)


def _seconds(at: datetime) -> float:
    seconds = at.timestamp()
    return int(seconds) if seconds.is_integer() else seconds


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()
