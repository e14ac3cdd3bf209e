"""What people type or paste: every invisible space is a separator, every quote is a quote (cases A15, A17)."""

from __future__ import annotations

import re
from dataclasses import dataclass

INVISIBLE = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\x00-\x1f\x7f-\x9f"
SEPARATORS = re.compile(rf"[\s{INVISIBLE}]+")
DOUBLE = '"“”„‟«»'
SINGLE = "'‘’‚‛`"
KEYED = re.compile(r"[\w-]+[:=]")


@dataclass(frozen=True)
class Token:
    """One word, or the inside of one pair of quotes. `key` is what stood before a colon right before the quotes."""

    text: str
    quoted: bool = False
    key: str = ""


def single_spaced(text: str) -> str:
    """`text` with every run of separators as one space, and none around it."""
    return SEPARATORS.sub(" ", text).strip()


def tokens(text: str) -> tuple[Token, ...]:
    """Words and quoted parts, in order; nothing is lost.

    A quote opens only where a word begins and closes only where one ends, so apostrophes inside words are letters. A
    quote that is never closed is a letter too.
    """
    plain = single_spaced(text)
    found: list[Token] = []
    unpaired: set[str] = set()
    position = 0
    while position < len(plain):
        if plain[position] == " ":
            position += 1
            continue
        token, position = _next(plain, position, unpaired)
        found.append(token)
    return tuple(found)


def _next(plain: str, start: int, unpaired: set[str]) -> tuple[Token, int]:
    key = KEYED.match(plain, start)
    opening = key.end() if key else start
    end = _closing(plain, opening, unpaired)
    if end is not None:
        inside = plain[opening + 1 : end].strip()
        return Token(inside, quoted=True, key=key.group()[:-1] if key else ""), end + 1
    end = plain.find(" ", start)
    end = len(plain) if end < 0 else end
    return Token(plain[start:end]), end


def _closing(plain: str, opening: int, unpaired: set[str]) -> int | None:
    """The index of the quote that closes the one at `opening`; `None` if there is no pair.

    `unpaired` remembers the marks that close nowhere any more, so that many open quotes stay cheap.
    """
    mark = plain[opening : opening + 1]
    marks = next((kind for kind in (DOUBLE, SINGLE) if mark and mark in kind), "")
    if not marks or marks in unpaired:
        return None
    for index in range(opening + 1, len(plain)):
        if plain[index] in marks and (index + 1 == len(plain) or not plain[index + 1].isalnum()):
            return index if plain[opening + 1 : index].strip() else None
    unpaired.add(marks)
    return None


def quoted(text: str) -> str:
    """`text` as `tokens` reads it back in one piece: in quotes that do not end inside it."""
    plain = single_spaced(text)
    for opening, closing, marks in (('"', '"', DOUBLE), ("'", "'", SINGLE)):
        if not any(mark in plain for mark in marks):
            return f"{opening}{plain}{closing}"
    return plain
