"""The real cluster of a test run starts when it is needed, and one that does not start costs its time once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kube.fixtures import KubeHolder


class Clusters:
    """Stands in for what starts a cluster; `seen` is what happened."""

    def __init__(self, *, works: bool = True) -> None:
        self.seen: list[str] = []
        self._works = works

    @contextmanager
    def start(self) -> Iterator[Any]:
        self.seen.append("start")
        if not self._works:
            raise RuntimeError("Kubernetes did not start")
        yield object()
        self.seen.append("end")


def test_one_cluster_lasts_until_it_is_closed_and_the_next_is_another() -> None:
    clusters = Clusters()
    holder = KubeHolder(clusters.start)
    first = holder.ground()
    assert holder.ground() is first
    holder.close()
    holder.close()
    assert holder.ground() is not first
    assert clusters.seen == ["start", "end", "start"]
    holder.close()


def test_one_that_does_not_start_is_tried_once() -> None:
    clusters = Clusters(works=False)
    holder = KubeHolder(clusters.start)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="did not start"):
            holder.ground()
    assert clusters.seen == ["start"]
