"""Text that fits: every length is measured after escaping, no cut falls into an entity or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lessor.rendering import Safe, mrkdwn

SECTION_MOST = 3_000
LABEL_MOST = 75
FALLBACK_MOST = 4_000

_TOKEN = re.compile(r"&(?:amp|lt|gt);|<[^<>\n]*>|.", re.DOTALL)
_SOFT = ("\n", ", ", " ")


def cut(text: str, most: int = SECTION_MOST) -> str:
    """Escaped `text` of at most `most` characters, with an ellipsis when something was left out."""
    if len(text) <= most:
        return text
    return _head(text, most - 1).rstrip() + "…"


def pieces(text: str, most: int = SECTION_MOST) -> list[str]:
    """Escaped `text` in pieces of at most `most` characters; nothing is lost, breaks fall between lines or words."""
    found = []
    while len(text) > most:
        head = _head(text, most)
        end = next((at for at in (head.rfind(soft) + len(soft) for soft in _SOFT) if at > most // 2), len(head))
        found.append(text[:end].rstrip())
        text = text[end:].lstrip("\n")
    return [*found, text] if text.strip() else found


def quoted(text: str, most: int) -> Safe:
    """Somebody's words set off line by line and cut to `most` characters, both after escaping."""
    lines = mrkdwn(text.strip()).splitlines() or [""]
    return Safe(cut("\n".join(f"&gt; {line}" for line in lines), most))


def label(text: str, most: int = LABEL_MOST) -> str:
    """Escaped `text` on one line for a button or an option."""
    return cut(" ".join(text.split()) or "-", most)


def labels(texts: Sequence[str], most: int = LABEL_MOST) -> list[str]:
    """Escaped labels that can be told apart: where cutting makes two alike, the ends are kept, then numbers added."""
    short = [label(text, most) for text in texts]
    for again in (_ends, _numbered):
        repeated = {one for one in short if short.count(one) > 1}
        if not repeated:
            return short
        short = [
            again(text, most, index) if one in repeated else one
            for index, (one, text) in enumerate(zip(short, texts, strict=True))
        ]
    return short


def _ends(text: str, most: int, index: int) -> str:
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    tail = _tail(line, most // 2)
    return f"{_head(line, most - 1 - len(tail)).rstrip()}…{tail}"


def _numbered(text: str, most: int, index: int) -> str:
    suffix = f" ({index + 1})"
    return label(text, most - len(suffix)) + suffix


def _head(text: str, most: int) -> str:
    end = 0
    for token in _tokens(text):
        if end + len(token) > most:
            break
        end += len(token)
    return text[:end]


def _tail(text: str, most: int) -> str:
    kept: list[str] = []
    length = 0
    for token in reversed(list(_tokens(text))):
        length += len(token)
        if length > most:
            break
        kept.append(token)
    return "".join(reversed(kept))


def _tokens(text: str) -> Iterator[str]:
    return (match.group() for match in _TOKEN.finditer(text))
