"""Workflow modules that the sandbox shares are outside its guard: what it would catch is looked for here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "workflows"
MODULES = sorted(path for path in FOLDER.glob("*.py") if path.stem not in ("__main__", "worker", "schedule"))
FORBIDDEN_MODULES = {"random", "time", "os", "uuid", "secrets", "socket", "threading", "subprocess", "requests"}
FORBIDDEN_CALLS = {"now", "utcnow", "today", "uuid4", "open", "input", "print", "sleep"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_workflow_code_reads_no_clock_and_draws_no_random_but_temporals(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert imported.isdisjoint(FORBIDDEN_MODULES)
    clocks = {call for call in _calls(tree) if call.rpartition(".")[2] in FORBIDDEN_CALLS}
    assert clocks <= {"workflow.now"}


def _calls(tree: ast.AST) -> list[str]:
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
