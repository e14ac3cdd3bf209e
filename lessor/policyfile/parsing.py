"""Reads the text of a condition into a tree with cel-python's grammar, and says in words where it is wrong."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from lark import Token, Tree

from lessor.policyfile.kinds import ConditionError

Node = Tree[Token]
LAYERS = frozenset(
    {
        "expr",
        "conditionalor",
        "conditionaland",
        "relation",
        "addition",
        "multiplication",
        "unary",
        "member",
        "primary",
        "paren_expr",
    }
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
COMMENT = re.compile(rf"({QUOTED})|//[^\n]*")
"""Text in quotes, which is kept, or a comment."""
MARKS = re.compile(rf"{QUOTED}|//[^\n]*|(?P<open>[(\[])|(?P<close>[)\]])|(?P<bool>\b(?:true|false)\b)")
STRING_FORM = re.compile(r"([rR]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)


def parse(text: str) -> Node:
    """The tree of `text`. Raises `ConditionError` with line and column of what is wrong."""
    # Importing cel-python takes 0.3 s, which only those pay who have conditions to read.
    from celpy.celparser import CELParseError, CELParser

    try:
        tree: Node = CELParser().parse(text)
    except CELParseError as error:
        line = error.line if error.line and error.line > 0 else max(text.count("\n") + 1, 1)
        column = error.column if error.column and error.column > 0 else len(text.splitlines()[-1]) + 1 if text else 1
        raise ConditionError(_remedy(text, line, column), line, column) from None
    _place_bools(tree, text)
    return tree


def core(tree: Node | Token) -> Node:
    """The first node that means something: the grammar wraps each value in ten layers of one child."""
    node = as_node(tree)
    while len(node.children) == 1 and node.data in LAYERS:
        node = as_node(node.children[0])
    return node


def as_node(tree: Node | Token) -> Node:
    if isinstance(tree, Tree):
        return tree
    raise ConditionError(f"is not valid at '{tree}'", tree.line or 1, tree.column or 1)


def error_at(node: Node, message: str) -> ConditionError:
    """`message` at the place where `node` begins."""
    first = next(node.scan_values(lambda part: isinstance(part, Token)), None)
    line = getattr(node.meta, "line", None) or getattr(first, "line", None) or 1
    column = getattr(node.meta, "column", None) or getattr(first, "column", None) or 1
    return ConditionError(message, line, column)


def written(node: Node, text: str) -> str:
    """How `node` stands in the condition's `text`, on one line and without comments."""
    tokens = list(node.scan_values(lambda part: isinstance(part, Token)))
    start = min(one.start_pos for one in tokens if one.start_pos is not None)
    end = max(one.end_pos for one in tokens if one.end_pos is not None)
    for sign in _signs(node):
        start = text.rfind(sign, 0, start)
    start, end = _balanced(text, start, end)
    return " ".join(COMMENT.sub(lambda found: found[1] or "", text[start:end]).split())


def dotted(node: Node) -> str | None:
    """`a.b` as a name when `node` is a plain name before one dot, else `None`."""
    if node.data != "member_dot":
        return None
    base = core(node.children[0])
    return f"{base.children[0]}.{node.children[1]}" if base.data == "ident" else None


def literal(token: Token) -> Any:
    """The value of a literal: int, Decimal (exact, never a binary float), str or bool."""
    text = str(token)
    if token.type == "BOOL_LIT":
        return text == "true"
    if token.type == "INT_LIT":
        return int(text, 16 if "0x" in text else 10)
    if token.type == "FLOAT_LIT":
        return Decimal(text)
    form = STRING_FORM.fullmatch(text)
    if token.type in ("STRING_LIT", "MLSTRING_LIT") and form:
        raw, _, body = form.groups()
        return body if raw else ESCAPE.sub(_unescaped, body)
    kind = {"NULL_LIT": "null (ask has(...) instead)", "UINT_LIT": "unsigned numbers (leave the u out)"}
    what = kind.get(token.type, "this kind of value")
    raise ConditionError(f"uses {what}, which conditions do not offer", token.line or 1, token.column or 1)


def _signs(node: Node) -> list[str]:
    """The `!` and `-` that `node` begins with, the innermost first: the tree has no place of them."""
    found: list[str] = []
    first: Node | Token = node
    while isinstance(first, Tree) and first.children:
        kind = getattr(first.children[0], "data", "")
        if kind in ("unary_not", "unary_neg"):
            found.insert(0, "!" if kind == "unary_not" else "-")
            first = first.children[1]
        else:
            first = first.children[0]
    return found


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the brackets that belong to it: the tree has none of them."""
    opened = 0
    for found in MARKS.finditer(text, start):
        if found.start() >= end and not opened:
            break
        if found["open"]:
            opened += 1
        elif found["close"] and opened:
            opened -= 1
            end = max(end, found.end())
        elif found["close"]:
            start = text.rfind("(" if found["close"] == ")" else "[", 0, start)
    return start, end


def _place_bools(tree: Node, text: str) -> None:
    """Give `true` and `false` their place: the parser makes new tokens of them, without one."""
    tokens = tree.scan_values(lambda part: isinstance(part, Token) and part.type == "BOOL_LIT")
    for token, found in zip(tokens, (one for one in MARKS.finditer(text) if one["bool"]), strict=False):
        token.start_pos, token.end_pos = found.span("bool")
        token.line = text.count("\n", 0, token.start_pos) + 1
        token.column = token.start_pos - text.rfind("\n", 0, token.start_pos)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return chr(int(code, 16))
    return chr(int(match[4], 8)) if match[4] else ESCAPES.get(match[5], match[5])


def _remedy(text: str, line: int, column: int) -> str:
    lines = text.splitlines() or [""]
    source = lines[min(line, len(lines)) - 1]
    before, rest = source[: column - 1].rstrip(), source[column - 1 :].strip()
    at = f"at '{rest[:20]}'" if rest else "at its end"
    if rest.startswith("=") or before.endswith("="):
        return f"is not valid {at}: equality is written =="
    if re.match(r"(and|or|not)\b", rest) or re.search(r"\b(and|or|not)$", before):
        return f"is not valid {at}: write && for and, || for or, ! for not"
    if re.match(r"-\d", rest):
        return f"is not valid {at}: put a space after the minus"
    return f"is not valid {at}: an operator, a value or a bracket is missing or too many"
