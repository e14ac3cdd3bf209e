"""`python -m lessor.sandbox.kubernetes` as a program: it lays down the ways in, and remembers what exists."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lessor.providers.kubernetes import api
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.refusals import PermanentError
from lessor.sandbox.kubernetes.__main__ import Files, main, prepared
from lessor.sandbox.kubernetes.client import ClusterClient
from lessor.sandbox.kubernetes.statefile import StateFile
from tests.sandbox.kubernetes.objects import deployment
from tests.sandbox.programs import URL, interrupted


@asynccontextmanager
async def program(data: Path) -> AsyncIterator[ClusterClient]:
    says = rf"simulated cluster: {URL}/  \(API: https://127\.0\.0\.1:\d+\)"
    async with interrupted("lessor.sandbox.kubernetes", "--data", str(data), says=says) as url:
        yield ClusterClient(url)


def cluster(kubeconfig: Path) -> Cluster:
    return Cluster(KubernetesPlace("lab", context="lab"), lambda: datetime.now(UTC), str(kubeconfig))


async def test_lessor_comes_in_by_its_kubeconfig_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    files = Files(tmp_path / "cluster")
    wish = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-a", "labels": {"x": "y"}}}
    async with program(files.root):
        lessor = cluster(files.kubeconfig)
        made = await asyncio.to_thread(lessor.apply, wish)
        with pytest.raises(PermanentError, match="cannot create resource"):
            await asyncio.to_thread(lessor.create, _in("gpu-a"))
        await asyncio.to_thread(cluster(files.admin).create, _in("gpu-a"))
        assert lessor.endpoint()[1].startswith("-----BEGIN CERTIFICATE-----")
    for secret in (files.token, files.kubeconfig, files.admin, files.state, files.root / "pki" / "server.key"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    async with program(files.root) as page:
        again = await asyncio.to_thread(cluster(files.kubeconfig).get, api.NAMESPACE, "gpu-a")
        assert again is not None
        assert again["metadata"]["uid"] == made["metadata"]["uid"]
        state = await asyncio.to_thread(page.state)
        assert [one["namespace"] for one in state["pods"]] == ["gpu-a"]


def test_the_roles_of_an_older_version_are_brought_up_to_date(tmp_path: Path) -> None:
    begun = prepared(StateFile(tmp_path / "state.json"))
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "edit"},
        "rules": [],
    }
    begun.install(json.dumps(role))
    (edit,) = [one for one in begun.objects("ClusterRole") if one["metadata"]["name"] == "edit"]
    assert edit["rules"] == []
    again = prepared(StateFile(tmp_path / "state.json"))
    (edit,) = [one for one in again.objects("ClusterRole") if one["metadata"]["name"] == "edit"]
    assert any("pods/exec" in rule["resources"] and "create" in rule["verbs"] for rule in edit["rules"])
    assert len(again.objects("Node")) == 6


def test_a_state_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"store": {}}')
    begun = prepared(StateFile(path))
    assert len(begun.objects("Node")) == 6
    assert (tmp_path / "state.unreadable").read_text() == '{"store": {}}'


def test_it_says_in_one_line_why_it_cannot_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--data", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("simulated cluster: ")


def _in(namespace: str) -> dict[str, object]:
    made = deployment("train", 1)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        **made,
        "metadata": {**made["metadata"], "namespace": namespace},
    }
