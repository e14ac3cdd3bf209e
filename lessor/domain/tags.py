"""What may be written on resources in a requester's own words: tags, and the cost centre."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lessor.domain.errors import FieldError
from lessor.domain.readable import quoted, unreadable

COST_CENTER_MAX = 128
TAG_KEY = re.compile(r"[\w .:/=+@-]{1,128}")


def uncharged(cost_center: str) -> FieldError | None:
    """What is wrong with a cost centre."""
    if len(cost_center) > COST_CENTER_MAX:
        return FieldError("cost_center", f"has {len(cost_center):,} characters; at most {COST_CENTER_MAX} are allowed")
    return unreadable("cost_center", cost_center)


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
    if len(tags) > 40:
        return FieldError("tags", f"{len(tags)} tags; at most 40 are allowed")
    return unreadable("tags", *tags.values())
