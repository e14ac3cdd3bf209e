"""How tests are spread over workers: what takes longest begins first, and the heaviest of it one after the other.

A real cluster costs each process that has one ten seconds and a gigabyte, and its namespaces take their time to go. A
whole sandbox is a dozen programs: with one in each worker, none would be ready in the time that its tests give it.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

LONGEST_FIRST = ("e2e", "sandbox", "replay", "workflows", "bot", "providers", "cases", "web", "telemetry")
"""Folders of tests; those that are not here take least and fill the gaps at the end."""
CHAINS = (
    (
        "tests/providers/test_kubernetes_contract_namespaces.py",
        "tests/providers/test_kubernetes_contract_workspaces.py",
        "tests/providers/test_kubernetes_real",
        "tests/sandbox/kubernetes/test_like_kubernetes.py",
    ),
    (
        "tests/e2e/test_changing.py",
        "tests/e2e/test_namespace_story.py",
        "tests/e2e/test_restart.py",
        "tests/e2e/test_story.py",
        "tests/e2e/test_two_steps.py",
    ),
    ("tests/e2e/",),
)
"""Beginnings of the names of files of which one worker takes all; the first that fits counts.

Those of the first share a real cluster.
"""


class Spread(LoadFileScheduling):  # type: ignore[misc]
    """Tests of a file go to one worker, and so do those of a chain."""

    def _split_scope(self, nodeid: str) -> str:
        chained = (chain[0] for chain in CHAINS if nodeid.startswith(chain))
        return next(chained, "") or str(super()._split_scope(nodeid))


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Tests on a real cluster first, then by folder; those of one folder as they were."""
    return sorted(items, key=_rank)


def scheduler(config: pytest.Config, log: Any) -> Spread | None:
    return Spread(config, log) if config.getoption("dist") == "loadfile" else None


def _rank(item: pytest.Item) -> int:
    if item.get_closest_marker("kube"):
        return -1
    folder = item.nodeid.split("/")[1] if item.nodeid.count("/") > 1 else ""
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)
