"""The functions of conditions. There is no `matches`: a pattern could hang a worker on a long purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from lessor.policyfile.kinds import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UNKNOWN, Kind, Run, Typed, Values
from lessor.policyfile.operators import KindError, strict

GLOBAL = ("has", "size", "int", "double", "timestamp", "duration")
METHODS = ("startsWith", "endsWith", "contains", "lowerAscii", "size", "exists", "all", "exists_one")
MACROS = ("exists", "all", "exists_one")
SIZED = ("string", "list", "map")
DURATION_FORM = re.compile(r"-?(?:\d+(?:\.\d+)?(?:h|m|s))+")
SECONDS = {"h": 3_600, "m": 60, "s": 1}

TEXT: dict[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": lambda text, part: part in text,
}


def call(name: str, arguments: list[Typed]) -> Typed:
    """A global function; `has` is not among them, since it looks at a name and not at a value."""
    if len(arguments) != 1:
        raise KindError(f"gives {len(arguments)} values to {name}(); it takes one")
    (value,) = arguments
    if name == "size":
        return _size(value)
    if name in ("int", "double"):
        return _number(name, value)
    if not isinstance(value.literal, str):
        raise KindError(f"{name}() takes text in quotes")
    made: Any = _timestamp(value.literal) if name == "timestamp" else _duration(value.literal)
    return Typed(TIMESTAMP if name == "timestamp" else DURATION, lambda _: made)


def method(name: str, target: Typed, arguments: list[Typed]) -> Typed:
    """A function behind a dot, but for those that run over a list."""
    if name in ("size", "lowerAscii"):
        if arguments:
            raise KindError(f"gives a value to {name}(); it takes none")
        return _size(target) if name == "size" else Typed(STRING, strict(str.lower, _text(name, target).run))
    if len(arguments) != 1:
        raise KindError(f"gives {len(arguments)} values to {name}(); it takes one")
    return Typed(BOOL, strict(TEXT[name], _text(name, target).run, _text(name, arguments[0]).run))


def over(name: str, target: Typed, variable: str, test: Typed) -> Typed:
    """`target.exists(variable, test)`, `all`, `exists_one`, over the items of a list or the keys of a map."""
    if test.kind != BOOL:
        raise KindError(f"{name}() needs a test that is true or false, not {test.kind}")
    judge = {"exists": _exists, "all": _all, "exists_one": _exists_one}[name]

    def run(values: Values) -> Any:
        items = target.run(values)
        if items is UNKNOWN:
            return UNKNOWN
        return judge([test.run({**values, variable: item}) for item in items])

    return Typed(BOOL, run)


def items_of(target: Typed, name: str) -> Kind:
    """The kind of what `exists` and `all` run over."""
    if target.kind.name == "map":
        return STRING
    if target.kind.name != "list" or target.kind.element is None:
        raise KindError(f"{name}() runs over a list, not {target.kind}")
    return target.kind.element


def _exists(results: Iterable[Any]) -> Any:
    known = list(results)
    if any(result is True for result in known):
        return True
    return UNKNOWN if any(result is UNKNOWN for result in known) else False


def _all(results: Iterable[Any]) -> Any:
    known = list(results)
    if any(result is False for result in known):
        return False
    return UNKNOWN if any(result is UNKNOWN for result in known) else True


def _exists_one(results: Iterable[Any]) -> Any:
    known = list(results)
    return UNKNOWN if any(result is UNKNOWN for result in known) else known.count(True) == 1


def _size(value: Typed) -> Typed:
    if value.kind.name not in SIZED:
        raise KindError(f"asks for the size of {value.kind}")
    return Typed(INT, strict(len, value.run))


def _number(name: str, value: Typed) -> Typed:
    if not value.kind.number:
        raise KindError(f"makes a number of {value.kind}")
    convert: Callable[[Any], Any] = int if name == "int" else Decimal
    return Typed(INT if name == "int" else DOUBLE, strict(convert, value.run))


def _text(name: str, value: Typed) -> Typed:
    if value.kind != STRING:
        raise KindError(f"uses {name}() with {value.kind}; it works on text")
    return value


def _timestamp(text: str) -> datetime:
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        made = None
    if made is None or made.tzinfo is None:
        raise KindError(f"'{text[:40]}' is no instant with a zone, such as 2026-12-24T18:00:00Z")
    return made


def _duration(text: str) -> timedelta:
    if not DURATION_FORM.fullmatch(text):
        raise KindError(f"'{text[:40]}' is no length of time; h, m and s are possible, such as 1h30m")
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    length = sum((timedelta(seconds=float(number) * SECONDS[unit]) for number, unit in parts), timedelta())
    return -length if text.startswith("-") else length


def variable(name: str) -> Run:
    """The value of a macro's variable."""
    return lambda values: values[name]
