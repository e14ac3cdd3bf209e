"""The kinds of values that conditions work with, so that a wrong comparison is found when the file is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import UnionType
from typing import Any, Final, get_args, get_origin


class Unknown:
    """The value of a fact that is not known, and of everything that would need it."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("unknown is neither true nor false")


UNKNOWN: Final = Unknown()
Values = Mapping[str, Any]
"""Facts by dotted name, and the variables of `exists` and `all` by their own."""
Run = Callable[[Values], Any]


@dataclass(frozen=True)
class Kind:
    """`element` is what a list or map holds; `None` for the empty list, which fits every list."""

    name: str
    element: Kind | None = None

    @property
    def number(self) -> bool:
        return self.name in ("int", "double")

    def fits(self, other: Kind) -> bool:
        """Whether values of both kinds can be compared: numbers among each other, else the same kind."""
        if self.number and other.number:
            return True
        if self.name != other.name:
            return False
        return self.element is None or other.element is None or self.element.fits(other.element)

    def __str__(self) -> str:
        return f"a {self.name} of {self.element}" if self.element else WORDS.get(self.name, f"a {self.name}")


WORDS: Final = {
    "bool": "true or false",
    "int": "a whole number",
    "double": "a number",
    "string": "text",
    "timestamp": "an instant",
    "duration": "a length of time",
}
BOOL, INT, DOUBLE, STRING = Kind("bool"), Kind("int"), Kind("double"), Kind("string")
TIMESTAMP, DURATION, EMPTY_LIST = Kind("timestamp"), Kind("duration"), Kind("list")
PYTHON: Final[dict[type, Kind]] = {
    bool: BOOL,
    int: INT,
    Decimal: DOUBLE,
    str: STRING,
    datetime: TIMESTAMP,
    timedelta: DURATION,
}


@dataclass(frozen=True)
class Typed:
    """A compiled expression: its kind, how to compute it, and its value if it is a literal."""

    kind: Kind
    run: Run
    literal: Any = None


class ConditionError(Exception):
    """A condition that cannot be used; `line` and `column` count from 1 within the condition."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def kind_of(hint: Any) -> Kind:
    """The kind of a fact from its Python type; `None` in a union is the unknown that every fact may be."""
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint in PYTHON:
        return PYTHON[hint]
    name = "map" if get_origin(hint) is Mapping else "list"
    return Kind(name, STRING)
