"""Whole numbers that people type for GPUs, their memory and the disk: what is allowed, and the words that say so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lessor.domain.errors import FieldError
from lessor.domain.readable import quoted

if TYPE_CHECKING:
    from lessor.domain.request import Limits

MEMORY_MAX_GIB = 1_024
DISK_MIN_GIB = 8
_WHOLE = re.compile(r"-?[0-9]+")
_DIGITS_MOST = 9


def allowed(field: str, limits: Limits) -> str:
    """What `count`, `disk_gib`, or in `need` the memory of each GPU in GiB may be."""
    ranges = {
        "count": (1, limits.max_gpus, " in one request"),
        "disk_gib": (DISK_MIN_GIB, limits.max_disk_gib, ""),
        "need": (1, MEMORY_MAX_GIB, ""),
    }
    least, most, where = ranges[field]
    return f"{least} to {most:,} are allowed{where}"


def whole(field: str, text: str, limits: Limits, errors: list[FieldError]) -> int:
    """The number in `text`, within the limits or not; 0, and one more in `errors`, where nobody can take it for one."""
    word = text.strip()
    digits = word.lstrip("-0") or "0"
    if _WHOLE.fullmatch(word) and len(digits) <= _DIGITS_MOST:
        return -int(digits) if word.startswith("-") else int(digits)
    errors.append(FieldError(field, misread(field, word, limits)))
    return 0


def misread(field: str, word: str, limits: Limits) -> str:
    """Why `word` cannot be taken as the number, and what is allowed."""
    if not word:
        return f"give a whole number; {allowed(field, limits)}"
    if not _WHOLE.fullmatch(word):
        return f"{quoted(word)} is not a whole number; {allowed(field, limits)}"
    return f"{quoted(word)} is too {'small' if word.startswith('-') else 'large'}; {allowed(field, limits)}"
