"""The words of PromQL: numbers, durations, names, strings and signs, each with where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lessor.sandbox.gpus.promql.errors import parse_error

NUMBER, DURATION, NAME, STRING, SIGN, END = "number", "duration", "identifier", "string", "sign", "end of input"

_WORDS: Final = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
    | (?P<duration>(?:[0-9]+(?:ms|[smhdwy]))+(?![0-9A-Za-z_]))
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_]))
    | (?P<identifier>[A-Za-z_][A-Za-z0-9_:]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    | (?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^=<>(){}\[\],:@])
    """,
    re.VERBOSE,
)
_UNITS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
    "y": 31_536_000_000,
}
_ESCAPED: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)")
_PLAIN: Final = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{char: char for char in "\\'\""},
}


@dataclass(frozen=True)
class Token:
    """One word; `text` of a string is what it means, of everything else what stands there."""

    kind: str
    text: str
    position: int


def tokens(text: str) -> list[Token]:
    """All words of a query, the last one being its end. Raises `QueryError`."""
    return [*_found(text), Token(END, "", len(text))]


def milliseconds(duration: str) -> int:
    """`1h30m` as milliseconds."""
    return sum(int(count) * _UNITS[unit] for count, unit in re.findall(r"([0-9]+)(ms|[smhdwy])", duration))


def _found(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        match = _WORDS.match(text, position)
        if match is None:
            raise parse_error(text, position, f"unexpected character: {text[position]!r}")
        kind = match.lastgroup or ""
        if kind == STRING:
            yield Token(kind, _unquoted(text, match), position)
        elif kind != "blank":
            yield Token(kind, match[0], position)
        position = match.end()


def _unquoted(text: str, match: re.Match[str]) -> str:
    inside = match[0][1:-1]
    if match[0][0] == "`":
        return inside

    def meant(escape: re.Match[str]) -> str:
        word = escape[1]
        if len(word) > 1:
            return chr(int(word, 8) if word[0] in "01234567" else int(word[1:], 16))
        if word not in _PLAIN:
            raise parse_error(text, match.start(), f"unknown escape sequence U+{ord(word):04X} {word!r}")
        return _PLAIN[word]

    return _ESCAPED.sub(meant, inside)
