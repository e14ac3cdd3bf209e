"""What may be written on resources in a requester's own words: tags, and the cost centre."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lessor.domain.errors import FieldError
from lessor.domain.readable import quoted, unreadable

COST_CENTER_MAX = 128
_SPELLING = re.compile(r"[\s_-]+")
TAG_KEY = re.compile(r"[\w .:/=+@-]{1,128}")


def uncharged(cost_center: str) -> FieldError | None:
    """What is wrong with a cost centre."""
    if len(cost_center) > COST_CENTER_MAX:
        return FieldError("cost_center", f"has {len(cost_center):,} characters; at most {COST_CENTER_MAX} are allowed")
    return unreadable("cost_center", cost_center)


def said(tags: Mapping[str, str], names: Iterable[str]) -> str:
    """What resources say of themselves under the first of these names that they have, in any spelling (case F35).

    Where two spellings of it have different values nobody chooses between them: it is a conflict, in words.
    """
    spelt: dict[str, dict[str, str]] = {}
    for key, value in tags.items():
        if value.strip():
            spelt.setdefault(folded(key), {})[key.strip()] = value.strip()
    found = next((spelt[folded(name)] for name in names if folded(name) in spelt), {})
    if len(set(found.values())) < 2:
        return next(iter(found.values()), "")
    return "conflict: " + ", ".join(f"{key} is {value}" for key, value in sorted(found.items()))


def folded(key: str) -> str:
    """A key in the one spelling by which it is compared: `Cost Center`, `cost-center` and `cost_center` are one."""
    return _SPELLING.sub("", key).casefold()


def untaggable(tags: Mapping[str, str]) -> FieldError | None:
    """What is wrong with tags: keys are reserved, or no provider takes them."""
    for key, value in tags.items():
        if key.strip().lower().startswith(("aws:", "lessor:")) or key.strip() == "Name":
            return FieldError(
                "tags", f"{quoted(key)} is reserved; keys may not be Name and not start with aws: or lessor:"
            )
        if not TAG_KEY.fullmatch(key) or len(value) > 256:
            return FieldError(
                "tags", f"{quoted(key)} does not fit; keys of 1 to 128 and values of at most 256 characters"
            )
    twice = _twice(tags)
    if twice:
        return FieldError("tags", f"{' and '.join(map(quoted, twice))} are one key in two spellings; keep one of them")
    if len(tags) > 40:
        return FieldError("tags", f"{len(tags)} tags; at most 40 are allowed")
    return unreadable("tags", *tags.values())


def _twice(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Two keys that whoever reads them later takes for the same."""
    first: dict[str, str] = {}
    for key in tags:
        other = first.setdefault(folded(key), key)
        if other is not key:
            return other, key
    return ()
