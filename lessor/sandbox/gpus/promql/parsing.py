"""Reads a query of PromQL: the part of the language that is here is read as Prometheus reads it, the rest refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from lessor.sandbox.gpus.promql.errors import QueryError, parse_error
from lessor.sandbox.gpus.promql.tokens import DURATION, END, NAME, NUMBER, SIGN, STRING, Token, milliseconds, tokens
from lessor.sandbox.gpus.promql.tree import (
    Aggregate,
    Binary,
    Call,
    Kind,
    Matcher,
    Negated,
    Node,
    Number,
    Range,
    Selector,
    String,
    Subquery,
    shifted,
)

AGGREGATORS: Final = frozenset({"max", "min", "sum", "count", "avg"})
SIGNATURES: Final[dict[str, tuple[tuple[Kind, ...], Kind]]] = {
    **{
        f"{name}_over_time": (("matrix",), "vector")
        for name in ("max", "min", "avg", "sum", "count", "last", "present")
    },
    "changes": (("matrix",), "vector"),
    "resets": (("matrix",), "vector"),
    "label_replace": (("vector", "string", "string", "string", "string"), "vector"),
    "scalar": (("vector",), "scalar"),
    "time": ((), "scalar"),
    "timestamp": (("vector",), "vector"),
    "vector": (("scalar",), "vector"),
}
"""What each function takes and gives."""

SETS: Final = frozenset({"or", "and", "unless"})
COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})
_LEVELS: Final = (frozenset({"or"}), frozenset({"and", "unless"}), COMPARISONS, frozenset("+-"), frozenset("*/%"))
_MATCHES: Final = ("=", "!=", "=~", "!~")
_KINDS: Final = {"scalar": "scalar", "vector": "instant vector", "matrix": "range vector", "string": "string"}
_DEFAULT_STEP: Final = 60_000


def parse(text: str) -> Node:
    """The query as a tree. Raises `QueryError` with line and column."""
    reader = _Reader(text)
    if reader.next.kind == END:
        raise QueryError("unknown position: parse error: no expression found in input")
    node = reader.expression()
    reader.expect(END)
    return node


class _Reader:
    """Recursive descent over the words, loosest operators first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._index = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._index]

    def expression(self, level: int = 0) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self.expression(level + 1)
        while self.next.text in _LEVELS[level] and self.next.kind in (SIGN, NAME):
            sign = self._take()
            boolean = sign.text in COMPARISONS and self._took("bool")
            if self.next.text in ("on", "ignoring", "group_left", "group_right") and self.next.kind == NAME:
                raise self._wrong(self.next, f"matching with `{self.next.text}` is not simulated")
            left = self._binary(sign, left, self.expression(level + 1), boolean)
        return left

    def expect(self, wanted: str) -> Token:
        """The next word, which has to be this sign or of this kind."""
        if wanted not in (self.next.text, self.next.kind) or (self.next.kind == STRING and wanted != STRING):
            raise self._unexpected(f"expected {wanted!r}")
        return self._take()

    def _binary(self, sign: Token, left: Node, right: Node, boolean: bool) -> Node:
        kinds = {left.kind, right.kind}
        if kinds - {"scalar", "vector"}:
            raise self._wrong(sign, f"binary expression must contain only scalar and instant vector types, not {kinds}")
        if sign.text in SETS and kinds != {"vector"}:
            raise self._wrong(sign, f'set operator "{sign.text}" not allowed in binary scalar expression')
        if kinds == {"scalar"} and sign.text in COMPARISONS and not boolean:
            raise self._wrong(sign, "comparisons between scalars must use BOOL modifier")
        return Binary(sign.text, left, right, boolean, "scalar" if kinds == {"scalar"} else "vector")

    def _unary(self) -> Node:
        if self.next.kind == SIGN and self.next.text in ("-", "+"):
            sign = self._take()
            of = self._unary()
            if of.kind not in ("scalar", "vector"):
                raise self._wrong(sign, f"unary expression only allowed on scalar or instant vector, not {of.kind}")
            return of if sign.text == "+" else Negated(of, of.kind)
        return self._postfix(self._primary())

    def _primary(self) -> Node:
        token = self.next
        if token.kind == NUMBER:
            return Number(float(self._take().text))
        if token.kind == STRING:
            return String(self._take().text)
        if token.kind == SIGN and token.text == "(":
            self._take()
            inside = self.expression()
            self.expect(")")
            return inside
        if token.kind == SIGN and token.text == "{":
            return Selector(self._matchers(""))
        if token.kind == NAME:
            return self._named()
        raise self._unexpected()

    def _named(self) -> Node:
        name = self._take()
        if name.text.lower() in ("inf", "nan"):
            return Number(float(name.text))
        if name.text in AGGREGATORS and self.next.text in ("(", "by", "without"):
            return self._aggregate(name)
        if self.next.kind == SIGN and self.next.text == "(":
            return self._call(name)
        return Selector(self._matchers(name.text))

    def _aggregate(self, op: Token) -> Node:
        labels, without = self._grouping()
        self.expect("(")
        of = self.expression()
        self.expect(")")
        if of.kind != "vector":
            raise self._wrong(op, f"expected type instant vector in aggregation expression, got {_KINDS[of.kind]}")
        if not labels and not without:
            labels, without = self._grouping()
        return Aggregate(op.text, of, labels, without)

    def _grouping(self) -> tuple[tuple[str, ...], bool]:
        if self.next.text not in ("by", "without"):
            return (), False
        without = self._take().text == "without"
        self.expect("(")
        labels: list[str] = []
        while self.next.text != ")":
            labels.append(self.expect(NAME).text)
            if not self._took(","):
                break
        self.expect(")")
        return tuple(labels), without

    def _call(self, name: Token) -> Node:
        if name.text not in SIGNATURES:
            raise self._wrong(name, f'unknown function with name "{name.text}"')
        wanted, kind = SIGNATURES[name.text]
        self.expect("(")
        arguments: list[Node] = []
        while self.next.text != ")" or self.next.kind == STRING:
            arguments.append(self.expression())
            if not self._took(","):
                break
        self.expect(")")
        if len(arguments) != len(wanted):
            raise self._wrong(
                name, f'expected {len(wanted)} argument(s) in call to "{name.text}", got {len(arguments)}'
            )
        for argument, needed in zip(arguments, wanted, strict=True):
            if argument.kind != needed:
                said = f'expected type {_KINDS[needed]} in call to function "{name.text}", got {_KINDS[argument.kind]}'
                raise self._wrong(name, said)
        return Call(name.text, tuple(arguments), kind)

    def _matchers(self, name: str) -> tuple[Matcher, ...]:
        named = (Matcher("__name__", "=", name),) if name else ()
        found: list[Matcher] = []
        if self._took("{"):
            while self.next.text != "}" or self.next.kind == STRING:
                found.append(self._matcher())
                if not self._took(","):
                    break
            self.expect("}")
        if not name and not any(matcher for matcher in found if not matcher.holds({})):
            raise self._wrong(self.next, "vector selector must contain at least one non-empty matcher")
        return (*named, *found)

    def _matcher(self) -> Matcher:
        label = self.expect(NAME).text
        sign = self._take()
        if sign.text not in _MATCHES:
            raise self._wrong(sign, f'unexpected "{sign.text}" in label matching, expected label matching operator')
        value = self.expect(STRING)
        pattern = self._pattern(value) if sign.text in ("=~", "!~") else None
        return Matcher(label, sign.text, value.text, pattern)

    def _pattern(self, value: Token) -> re.Pattern[str]:
        try:
            return re2(value.text)
        except re.error as wrong:
            raise self._wrong(value, f"error parsing regexp: {wrong}") from wrong

    def _postfix(self, node: Node) -> Node:
        while True:
            if self._took("["):
                node = self._ranged(node)
            elif self.next.text == "offset" and self.next.kind == NAME:
                word = self._take()
                back = -1 if self._took("-") else 1
                node = self._moved(word, node, offset=back * milliseconds(self.expect(DURATION).text))
            elif self.next.text == "@" and self.next.kind == SIGN:
                word = self._take()
                node = self._moved(word, node, at=round(float(self.expect(NUMBER).text) * 1000))
            else:
                return node

    def _ranged(self, node: Node) -> Node:
        where = self.next
        length = milliseconds(self.expect(DURATION).text)
        if self._took(":"):
            step = milliseconds(self._take().text) if self.next.kind == DURATION else _DEFAULT_STEP
            self.expect("]")
            if node.kind != "vector" or not step:
                raise self._wrong(where, f"subquery is only allowed on instant vector, got {_KINDS[node.kind]} instead")
            return Subquery(node, length, step)
        self.expect("]")
        if not isinstance(node, Selector):
            raise self._wrong(where, "ranges only allowed for vector selectors")
        return Range(node, length)

    def _moved(self, word: Token, node: Node, **shift: int) -> Node:
        moved = shifted(node, **shift)
        if moved is None:
            raise self._wrong(word, f"`{word.text}` may follow a selector or a subquery, and only once")
        return replace(moved)

    def _took(self, text: str) -> bool:
        if self.next.text != text or self.next.kind == STRING:
            return False
        self._index += 1
        return True

    def _take(self) -> Token:
        token = self.next
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def _unexpected(self, said: str = "") -> QueryError:
        word = f"{self.next.kind} {self.next.text!r}" if self.next.text else self.next.kind
        return self._wrong(self.next, f"unexpected {word}" + (f", {said}" if said else ""))

    def _wrong(self, token: Token, message: str) -> QueryError:
        return parse_error(self._text, token.position, message)


def re2(pattern: str) -> re.Pattern[str]:
    """A pattern of RE2 as Python has it; anchored by whoever uses it. Raises `re.error`."""
    return re.compile(re.sub(r"\\x\{([0-9a-fA-F]+)\}", lambda found: re.escape(chr(int(found[1], 16))), pattern), re.S)
