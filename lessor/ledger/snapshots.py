"""The one place where values of the domain become JSON text and come back.

Text written by another version still reads: fields that are unknown here are left out, fields that are missing get
their default. Instants are written in UTC; one without a zone is refused: it would mean another moment to each reader.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from lessor.domain.errors import instant
from lessor.domain.lease import Lease
from lessor.domain.request import Place, Request

T = TypeVar("T")


class UnreadableSnapshotError(Exception):
    """Stored text that this version cannot read: it was written by a newer version, or changed by hand."""


class Snapshot(Generic[T]):
    """Turns one kind of frozen dataclass into JSON text and back; equal after the round trip, Decimals and all."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._adapter = TypeAdapter(kind)

    def dump(self, value: T) -> str:
        """JSON text. Raises `Refused` ("naive-time") for an instant without a zone anywhere inside."""
        return self._adapter.dump_json(in_utc(value)).decode()

    def load(self, text: str) -> T:
        """The value. Raises `UnreadableSnapshotError` with the place and kind of the first thing that does not fit."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise UnreadableSnapshotError(
                f"the stored {self._kind.__name__.lower()} cannot be read ({where}: {first['msg']}); it was kept. "
                "Use the version of lessor that wrote it, or a newer one"
            ) from error


LEASE = Snapshot(Lease)
REQUEST = Snapshot(Request)
PLACE = Snapshot(Place)


def digest(text: str) -> str:
    """SHA-256 of stored text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def in_utc(value: Any) -> Any:
    """`value` with every instant inside it in UTC; the same object when all of them are already."""
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, tuple):
        items = tuple(in_utc(item) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {name: getattr(value, name) for name in _timed(type(value))}
    moved = {name: in_utc(part) for name, part in found.items() if part is not None}
    moved = {name: part for name, part in moved.items() if part is not found[name]}
    return replace(value, **moved) if moved else value


def _utc(value: datetime) -> datetime:
    return value if value.utcoffset() == timedelta() else instant("an instant of the record", value)


@cache
def _timed(kind: type) -> tuple[str, ...]:
    """The names of the fields of a dataclass that are instants or hold some."""
    hints = get_type_hints(kind)
    return tuple(f.name for f in fields(kind) if _mentions_time(hints[f.name]))


def _mentions_time(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, datetime) or (is_dataclass(hint) and bool(_timed(hint)))
    return any(_mentions_time(part) for part in get_args(hint))
