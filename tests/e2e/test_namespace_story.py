"""A lease of a namespace in a browser: asked for in the form, approved, entered by a kubeconfig from the command line,
used through the API as its owner, stopped, started, given back, and proven gone by the cluster itself.

Days are seconds here. The pictures go to tests/out/screenshots, as those of the whole story.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from playwright.async_api import Browser, Locator, Page, expect

from lessor.domain.lease import State
from lessor.sandbox.demo_evidence import LOOK_EVERY, Evidence, opened
from lessor.sandbox.kubernetes.client import ClusterClient
from tests.browser import bring_into_view, opened_page
from tests.e2e.people import LATER, SOON, be, command
from tests.e2e.running import LESSOR, Running, demo_policy, running
from tests.e2e.test_story import LEASE, WINDOW, picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

PURPOSE = "Train the ranking model in our own cluster"
TALL = {"width": 1280, "height": 1240}
GPU, TRAINING = "nvidia.com/gpu", "training"


@pytest.fixture
def calm(tmp_path: Path) -> Iterator[Running]:
    """A sandbox in which nothing is stopped for being idle meanwhile."""
    data = tmp_path / "data"
    demo_policy(data, idle={"warn": "10min", "final": "20min", "stop": "30min"})
    with running(data) as started:
        yield started


async def test_a_namespace_from_the_question_to_proven_deletion(
    calm: Running, browser: Browser, tmp_path: Path
) -> None:
    cluster = Cluster(calm.cluster_page)
    async with (
        opened(calm) as evidence,
        opened_page(browser, f"{calm.slack_url}/#requester/C0GPUREQUESTS", viewport=WINDOW) as slack,
        opened_page(browser, calm.cluster_page, viewport=TALL) as page,
    ):
        await _ask(slack)
        lease_id = await _approve(slack)
        await _ready(slack, lease_id)
        kubeconfig = tmp_path / "lease.kubeconfig"
        await _lessor(calm, "access", lease_id, "--kubeconfig", str(kubeconfig))
        await asyncio.to_thread(_train, kubeconfig, lease_id)
        await cluster.until(lambda: cluster.running(lease_id) == [("gpu-a100-1", {GPU: 1})])
        await _look_at_cluster(page, lease_id)
        await _stop(slack, evidence, cluster, lease_id)
        await _start(slack, evidence, cluster, lease_id)
        await _give_back(slack, lease_id)
        await cluster.until(lambda: lease_id not in cluster.names())
        assert [one for one in cluster.state["volumes"] if one["claim"].startswith(lease_id)] == []
        await expect(page.locator("#namespaces")).not_to_contain_text(lease_id, timeout=SOON)
        assert await asyncio.to_thread(_refused, kubeconfig, lease_id) == 401
        outcome = await evidence.outcome(lease_id)
        assert outcome.state == State.CLOSED


async def test_a_namespace_that_is_held_blocks_its_lease_until_it_is_let_go(calm: Running, browser: Browser) -> None:
    cluster = Cluster(calm.cluster_page)
    async with (
        opened(calm) as evidence,
        opened_page(browser, f"{calm.slack_url}/#requester/C0GPUREQUESTS", viewport=WINDOW) as slack,
        opened_page(browser, calm.cluster_page, viewport=TALL) as page,
    ):
        await _ask(slack)
        lease_id = await _approve(slack)
        await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
        row = page.locator(f'#namespaces tr[data-namespace="{lease_id}"]')
        await row.get_by_role("button", name="Hold").click(timeout=SOON)
        await expect(row.get_by_role("button", name="Let go")).to_be_visible(timeout=SOON)
        await _lessor(calm, "release", lease_id, "--yes")
        await evidence.lease_when(lease_id, lambda lease: lease.state is State.BLOCKED)
        await expect(row).to_contain_text("Terminating", timeout=SOON)
        await be(slack, "admin")
        await slack.get_by_test_id("channel-gpu-admins").click()
        needs_hands = _told(slack, "Needs hands:", lease_id)
        await expect(needs_hands).to_contain_text("It is tried again", timeout=LATER)
        await row.get_by_role("button", name="Let go").click(timeout=SOON)
        await evidence.lease_when(lease_id, lambda lease: lease.state is State.CLOSED)
        await cluster.until(lambda: lease_id not in cluster.names())


class Cluster:
    """The simulated cluster, as its own page says what is in it."""

    def __init__(self, page: str) -> None:
        self._client = ClusterClient(page)
        self.state: dict[str, Any] = {}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Look until it is so; the test's own limit ends it."""
        while True:
            self.state = await asyncio.to_thread(self._client.state)
            if holds():
                return
            await asyncio.sleep(LOOK_EVERY)

    def names(self) -> list[str]:
        return [one["name"] for one in self.state["namespaces"]]

    def running(self, namespace: str) -> list[tuple[str, dict[str, int]]]:
        """Node and GPUs of each pod that runs in the namespace."""
        return [(one["node"], one["devices"]) for one in self.state["pods"] if one["namespace"] == namespace]


async def _ask(page: Page) -> None:
    await command(page, "/gpu request")
    await page.get_by_test_id("wish-model").select_option(label="A100-80GB (80 GB)", timeout=SOON)
    await page.get_by_test_id("wish-place").select_option(label="Our cluster")
    await expect(page.get_by_test_id("wish-kind")).to_be_visible(timeout=SOON)
    await page.get_by_test_id("wish-end").fill("10min")
    await page.get_by_test_id("wish-end").press("Tab")
    await page.get_by_test_id("wish-purpose").fill(PURPOSE)
    await expect(page.get_by_test_id("block-quote")).to_contain_text("1.80 USD", timeout=SOON)
    await bring_into_view(page.get_by_test_id("wish-kind"))
    await picture(page, "namespace-request")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Recorded:", timeout=SOON)
    await page.get_by_test_id("modal-close").click()


async def _approve(page: Page) -> str:
    await be(page, "manager")
    await page.get_by_test_id("channel-gpu-approvals").click()
    card = page.get_by_test_id("message").filter(has_text=PURPOSE)
    await expect(card.get_by_test_id("approve")).to_be_visible(timeout=SOON)
    found = LEASE.search(await card.inner_text())
    assert found
    await card.get_by_test_id("approve").click()
    await expect(card).to_contain_text("Approved by", timeout=SOON)
    return found[0]


async def _ready(page: Page, lease_id: str) -> None:
    await be(page, "requester")
    await page.get_by_test_id("app").click()
    ready = _told(page, "Ready:", lease_id)
    await expect(ready).to_contain_text(f"lessor access {lease_id} --kubeconfig", timeout=LATER)
    await bring_into_view(ready)
    await picture(page, "namespace-ready")


async def _look_at_cluster(page: Page, lease_id: str) -> None:
    row = page.locator(f'#namespaces tr[data-namespace="{lease_id}"]')
    await expect(row).to_contain_text("Active", timeout=SOON)
    await expect(row).to_contain_text("1 of 1", timeout=SOON)
    await expect(row).to_contain_text(PURPOSE)
    node = page.locator('#nodes tr[data-node="gpu-a100-1"]')
    await expect(node.get_by_role("img", name=f"1 of 8 {GPU} held")).to_be_visible(timeout=SOON)
    await picture(page, "namespace-cluster")


async def _stop(page: Page, evidence: Evidence, cluster: Cluster, lease_id: str) -> None:
    await command(page, f"/gpu stop {lease_id}")
    await _told(page, "Stop", lease_id).get_by_test_id("stop").click(timeout=SOON)
    await evidence.lease_when(lease_id, lambda lease: lease.state is State.SUSPENDED)
    await cluster.until(lambda: cluster.running(lease_id) == [])
    assert lease_id in cluster.names()


async def _start(page: Page, evidence: Evidence, cluster: Cluster, lease_id: str) -> None:
    await command(page, f"/gpu start {lease_id}")
    await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
    await cluster.until(lambda: cluster.running(lease_id) == [("gpu-a100-1", {GPU: 1})])


async def _give_back(page: Page, lease_id: str) -> None:
    await command(page, f"/gpu release {lease_id}")
    await _told(page, "Release", lease_id).get_by_test_id("release").click(timeout=SOON)
    await page.get_by_test_id("app").click()
    closed = _told(page, "Closed:", lease_id)
    await expect(closed).to_contain_text("Proof of deletion", timeout=LATER)
    await bring_into_view(closed)
    await picture(page, "namespace-closed")


def _train(kubeconfig: Path, namespace: str) -> None:
    """What the owner does with kubectl: a training on one GPU; a second one is over the quota."""
    with config.new_client_from_config(str(kubeconfig)) as api:
        client.AppsV1Api(api).create_namespaced_deployment(namespace, _deployment(TRAINING))
        pod = {"metadata": {"name": "more"}, "spec": _deployment("more")["spec"]["template"]["spec"]}
        pods = client.CoreV1Api(api)
        _until(lambda: [one.status.phase for one in pods.list_namespaced_pod(namespace).items] == ["Running"])
        with pytest.raises(ApiException, match=f"exceeded quota.*requested: requests.{GPU}=1") as refused:
            pods.create_namespaced_pod(namespace, pod)
        assert refused.value.status == 403
        with pytest.raises(ApiException) as elsewhere:
            pods.list_namespaced_pod("kube-system")
        assert elsewhere.value.status == 403


def _deployment(name: str) -> dict[str, Any]:
    limits = {GPU: "1", "cpu": "4", "memory": "32Gi"}
    spec = {
        "containers": [{"name": "main", "image": "registry.example.com/train:1", "resources": {"limits": limits}}],
        "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        "tolerations": [{"key": GPU, "operator": "Exists"}],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    made = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": made}


def _refused(kubeconfig: Path, namespace: str) -> int:
    """How the cluster answers somebody whose lease is gone."""
    with config.new_client_from_config(str(kubeconfig)) as api, pytest.raises(ApiException) as refused:
        client.CoreV1Api(api).list_namespaced_pod(namespace)
    return int(refused.value.status)


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        threading.Event().wait(0.05)
    raise AssertionError("not seen in time")


async def _lessor(sandbox: Running, *arguments: str) -> None:
    """The command line as the requester uses it."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(sandbox.data.home), **sandbox.settings}
    ran = await asyncio.create_subprocess_exec(
        LESSOR, *arguments, "--as", "U0REQUESTER", env=environment, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await ran.communicate()
    assert ran.returncode == 0, said.decode()


def _told(page: Page, word: str, lease_id: str) -> Locator:
    return page.get_by_test_id("message").filter(has_text=re.compile(rf"{word}\s*{lease_id}"))
