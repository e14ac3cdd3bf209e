"""The arrow that the import linter cannot draw: who may hold a Temporal client."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("lessor", "workflows", "activities", "bot")
MAY_HOLD_A_CLIENT = {
    "lessor/engine.py",
    "lessor/looking.py",
    "lessor/runs.py",
    "lessor/wiring.py",
    "workflows/__main__.py",
    "workflows/schedule.py",
    "workflows/worker.py",
}
"""The gateway's engine, the wiring, and the worker's entry point."""


def test_only_the_gateways_engine_and_the_entry_points_hold_a_temporal_client() -> None:
    holders = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "sandbox" not in path.parts and "temporalio.client" in set(_imports(path))
    }
    assert holders <= MAY_HOLD_A_CLIENT
    assert "lessor/engine.py" in holders


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
