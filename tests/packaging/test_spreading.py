"""Tests that wait long begin first, one worker starts a real cluster, and two have a whole sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.spreading import CHAINS, LONGEST_FIRST

TESTS = Path(__file__).parents[1]
NEEDS = re.compile(r"^ *def .*\b(real_ground|busy_ground|running_kube|kube_holder): ", re.MULTILINE)


def test_every_file_that_needs_a_cluster_shares_it() -> None:
    needing = {path for path in _files() if NEEDS.search((TESTS.parent / path).read_text())}
    assert {path for path in needing if not path.startswith(CHAINS[0])} == set()
    assert all(any(path.startswith(one) for path in needing) for one in CHAINS[0])


def test_every_file_of_a_chain_is_there() -> None:
    files = list(_files())
    assert [one for chain in CHAINS for one in chain if not any(path.startswith(one) for path in files)] == []


def test_folders_that_begin_early_are_there() -> None:
    assert [name for name in LONGEST_FIRST if not (TESTS / name).is_dir()] == []


def _files() -> Iterator[str]:
    return (path.relative_to(TESTS.parent).as_posix() for path in sorted(TESTS.rglob("test_*.py")))
