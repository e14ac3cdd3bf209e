"""Which kinds of lease a place has, and whether a request names one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lessor.domain.errors import FieldError

if TYPE_CHECKING:
    from lessor.domain.request import LeaseKind

Kinds = Mapping[str, "tuple[LeaseKind, ...]"]
"""By the name of a place; the first is meant where a request names none. Of a place that is not in it any will do."""


def unoffered(kind: LeaseKind | None, place: str, kinds: Kinds) -> FieldError | None:
    """What is wrong with the kind of lease that was asked for in a place."""
    offered = kinds.get(place)
    if kind is None or not offered or kind in offered:
        return None
    there = " or ".join(one.value for one in offered)
    return FieldError("kind", f"there are no leases of kind {kind.value} in {place}; ask for a {there}, or elsewhere")


def meant(kind: LeaseKind | None, place: str, kinds: Kinds) -> LeaseKind | None:
    """The kind that a request means; `None` where it names none and nobody knows what the place has."""
    return kind or next(iter(kinds.get(place, ())), None)
