"""Files and functions stay short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("lessor", "workflows", "activities", "bot", "bench", "tests", "deploy", "scripts")
LINES, FUNCTION_LINES = 300, 40


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_is_longer_than_can_be_read_at_once(room: str) -> None:
    long = {path: lines for path in _files(room) if (lines := len(_text(path).splitlines())) > LINES}
    assert long == {}, "split it by what it is about"


@pytest.mark.parametrize("room", ROOMS)
def test_no_function_is_longer_than_a_screen(room: str) -> None:
    long = {f"{path}:{one.lineno} {one.name}": lines for path in _files(room) for one, lines in _functions(_text(path))}
    assert {name: lines for name, lines in long.items() if lines > FUNCTION_LINES} == {}, "name its parts"


def test_a_function_counts_with_those_inside_it_and_without_its_decorators() -> None:
    text = "@one\n@two\nasync def outer():\n    def inner():\n        return 1\n\n    return inner\n"
    assert [(one.name, lines) for one, lines in _functions(text)] == [("outer", 5), ("inner", 2)]


def _files(room: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.py"))


def _text(path: str) -> str:
    return (ROOT / path).read_text()


def _functions(text: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, (node.end_lineno or node.lineno) - node.lineno + 1
