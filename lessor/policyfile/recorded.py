"""Facts as text, as a decision keeps them, and back: so that it can be explained and replayed years later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from lessor.domain.request import Request
from lessor.policyfile.facts import documented
from lessor.policyfile.kinds import Kind, kind_of

IN_THE_REQUEST: Mapping[str, Callable[[Request], Any]] = {
    "request.purpose": lambda request: request.purpose,
    "request.tags": lambda request: request.tags,
    "request.workload": lambda request: request.workload.value,
    "request.market": lambda request: request.market.value,
    "request.disk_gib": lambda request: request.disk_gib,
    "request.snapshot": lambda request: request.snapshot,
    "request.project": lambda request: request.project,
    "request.data": lambda request: request.data,
    "request.checkpoints": lambda request: request.checkpoints,
    "request.schedule": lambda request: request.schedule,
    "request.capped": lambda request: request.cap is not None,
    "request.cap": lambda request: request.cap.amount if request.cap else None,
    "place.name": lambda request: request.place.name,
    "place.provider": lambda request: request.place.provider,
}
"""Kept with the lease anyway, which every worker has in memory for each of its leases."""

Pairs = tuple[tuple[str, str], ...]


def to_text(values: Mapping[str, Any]) -> Pairs:
    """The facts that are known, by dotted name, without those that stand in the request itself."""
    return tuple(
        (name, text_of(value)) for name, value in values.items() if value is not None and name not in IN_THE_REQUEST
    )


def from_text(pairs: Iterable[tuple[str, str]], request: Request | None = None) -> dict[str, Any]:
    """Every fact by dotted name, `None` where it was not kept: what was unknown then stays unknown.

    Facts that there are no more are left out. Raises ValueError for text that is no value of its kind.
    """
    kept = dict(pairs)
    values = {name: value_of(kind, kept[name]) if name in kept else None for name, kind in _kinds().items()}
    if request is not None and kept:
        values |= {name: take(request) for name, take in IN_THE_REQUEST.items()}
    return values


def text_of(value: Any) -> str:
    """One value as text: numbers exactly, instants in ISO 8601, lists and maps as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        written = format(value, "f")
        return written.rstrip("0").rstrip(".") if "." in written else written
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    return json.dumps(dict(value) if isinstance(value, Mapping) else list(value), ensure_ascii=False)


def value_of(kind: Kind, text: str) -> Any:
    """The value of `text`. Raises ValueError, with what is allowed, if it is none of this kind."""
    try:
        return _read(kind, text)
    except (ValueError, ArithmeticError, KeyError, AttributeError):
        raise ValueError(f"'{text[:60]}' is not {kind}") from None


def _read(kind: Kind, text: str) -> Any:
    read = _READERS.get(kind.name)
    return read(text) if read else text


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(text)
    return instant


def _json(wanted: type, text: str) -> Any:
    made = json.loads(text)
    if not isinstance(made, wanted):
        raise ValueError(text)
    return made


def _kinds() -> dict[str, Kind]:
    return {name: kind_of(hint) for name, (hint, _) in documented().items()}


_READERS: dict[str, Callable[[str], Any]] = {
    "bool": {"true": True, "false": False}.__getitem__,
    "int": int,
    "double": _number,
    "timestamp": _instant,
    "list": lambda text: tuple(str(item) for item in _json(list, text)),
    "map": lambda text: {str(key): str(value) for key, value in _json(dict, text).items()},
}
