"""Text that people can read: what is refused in what they type, and how it is repeated in a message."""

from __future__ import annotations

import unicodedata

from lessor.domain.errors import FieldError


def unreadable(field: str, *texts: str) -> FieldError | None:
    """Control characters and halves of characters, which databases, tags and messages cannot hold."""
    found = next((c for text in texts for c in text if _is_control(c)), None)
    if found is None:
        return None
    return FieldError(
        field, f"holds the control character U+{ord(found):04X}; remove it, only readable text is allowed"
    )


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\r\t"


def quoted(text: str) -> str:
    """What somebody typed, for a message: short, on one line, without anything invisible."""
    return "'" + "".join(c if c.isprintable() else "?" for c in text[:40]) + "'"
