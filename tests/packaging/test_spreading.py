"""Tests that wait long begin first, and no more than two workers start a real cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.spreading import LONGEST_FIRST, ONE_CLUSTER

TESTS = Path(__file__).parents[1]
BY_ITSELF = "tests/providers/test_kubernetes_contract_workspaces.py"
NEEDS = re.compile(r"^ *def .*\b(real_ground|busy_ground|running_kube): ", re.MULTILINE)


def test_every_file_that_needs_a_cluster_shares_one_of_two() -> None:
    needing = {path for path in _files() if NEEDS.search((TESTS.parent / path).read_text())}
    assert {path for path in needing if not path.startswith(ONE_CLUSTER)} == {BY_ITSELF}
    assert all(any(path.startswith(one) for path in needing) for one in ONE_CLUSTER)


def test_folders_that_begin_early_are_there() -> None:
    assert [name for name in LONGEST_FIRST if not (TESTS / name).is_dir()] == []


def _files() -> Iterator[str]:
    return (path.relative_to(TESTS.parent).as_posix() for path in sorted(TESTS.rglob("test_*.py")))
