"""Columns of a table, and the cells that several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Obj = dict[str, Any]
Cell = Callable[[Obj, datetime], Any]
NONE = "<none>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400
_SPANS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Up to how many seconds a length is told in which unit, and in which part of it beside."""


@dataclass(frozen=True)
class Column:
    """One column. Those that are `wide` are only shown by `kubectl get -o wide`."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    wide: bool = False

    def definition(self) -> Obj:
        """As the head of a table describes it."""
        told = {"name": self.name, "type": self.type, "format": self.format, "description": ""}
        return told | {"priority": 1 if self.wide else 0}


Columns = tuple[Column, ...]


def column(name: str, cell: Callable[[Obj], Any], type_: str = "string", *, wide: bool = False) -> Column:
    """One whose cells do not depend on the time."""
    return Column(name, lambda obj, _: cell(obj), type_, wide=wide)


def counted(name: str, *path: str) -> Column:
    """A number of an object that is 0 where it is not said."""
    return column(name, lambda obj: found(obj, *path) or 0, "integer")


def said(name: str, *path: str, otherwise: str | None = "", wide: bool = False, type_: str = "string") -> Column:
    """A field of an object as it is."""

    def cell(obj: Obj) -> Any:
        value = found(obj, *path)
        return otherwise if value is None else value

    return column(name, cell, type_, wide=wide)


def found(obj: Mapping[str, Any] | None, *path: str) -> Any:
    """What is there at a path, or None."""
    for part in path:
        obj = (obj or {}).get(part)
    return obj


def since(stamp: str | None, now: datetime) -> str:
    """How long ago something was."""
    return lasting(now - datetime.fromisoformat(stamp)) if stamp else "<unknown>"


def lasting(long: timedelta) -> str:
    """A length of time as people read it, in at most two units: 90s, 5m30s, 3h, 2d1h."""
    seconds = int(long.total_seconds())
    if seconds < 0:
        return "0s" if seconds > -2 else "<invalid>"
    unit, name, part, part_name = next((span[1:] for span in _SPANS if seconds < span[0]), (_YEAR, "y", 0, ""))
    rest = seconds % unit // part if part else 0
    return f"{seconds // unit}{name}" + (f"{rest}{part_name}" if rest else "")


def labels(given: Mapping[str, str] | None) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((given or {}).items())) or NONE


def selector(given: Mapping[str, Any] | None, nothing: str = NONE) -> str:
    """A selector of an object as one would type it."""
    terms = [(name, f"{name}={value}") for name, value in ((given or {}).get("matchLabels") or {}).items()]
    terms += [(one["key"], _expression(one)) for one in (given or {}).get("matchExpressions") or []]
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0])) or nothing


def _expression(one: Mapping[str, Any]) -> str:
    key, values = str(one["key"]), f"({','.join(sorted(one.get('values') or ()))})"
    words = {"Exists": key, "DoesNotExist": f"!{key}", "In": f"{key} in {values}"}
    return words.get(one["operator"], f"{key} notin {values}")


def _age(obj: Obj, now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


NAME = Column("Name", lambda obj, _: obj["metadata"]["name"], format="name")
AGE = Column("Age", _age)
DATED = Column("Created At", lambda obj, _: obj["metadata"]["creationTimestamp"], "date")
