"""A worker that dies at any step of a lease in a cluster leaves no namespace, role or claim behind (cases B13, B27)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lessor.sandbox.kubernetes.nodes import nvidia
from lessor.sandbox.kubernetes.running import RunningCluster, running_cluster

NAMESPACED = ("ResourceQuota", "LimitRange", "NetworkPolicy", "RoleBinding", "StatefulSet", "Pod")
STEPS = {
    "namespace": {"launch": 6, "await_usable": 1, "stop": 2, "start": 2, "delete": 1},
    "workspace": {"launch": 8, "await_usable": 1, "stop": 3, "start": 3, "delete": 3},
}
"""How many external writes each call makes: before every one of them a worker dies once."""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["namespace", "workspace"])
def test_B27_a_worker_killed_at_any_step_leaves_nothing_behind(tmp_path: Path, kind: str) -> None:
    with running_cluster([nvidia("gpu-1", "NVIDIA-A100-SXM4-80GB", 81_920, 8)]) as running:
        deaths = killed(running, tmp_path, kind)
        assert [one for one in deaths if one["after"] or not one["clean"]] == []
        assert Counter(one["call"] for one in deaths) == STEPS[kind]
        assert any(one["left"] for one in deaths if one["call"] == "launch")
        assert all(one["left"] for one in deaths if one["call"] in ("await_usable", "stop", "start"))
        assert running.exists("PersistentVolume") == []
        assert leased(running, "Namespace") == []
        assert leased(running, *NAMESPACED, "PersistentVolumeClaim", "ServiceAccount") == []


def killed(running: RunningCluster, home: Path, kind: str) -> list[dict[str, object]]:
    files = []
    for name, text in (("lessor", running.kubeconfig), ("admin", running.admin_kubeconfig)):
        (home / name).write_text(text)
        files.append(str(home / name))
    done = subprocess.run(
        [sys.executable, "-m", "tests.providers.kube_crash", *files, kind],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def leased(running: RunningCluster, *kinds: str) -> list[str]:
    """What of these kinds is in or of a lease's namespace."""
    names = (name for kind in kinds for name in running.exists(kind))
    return [name for name in names if name.startswith("gpu-0")]
