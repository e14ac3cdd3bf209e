"""The page of the cluster in a real browser: what exists is seen, and what shall go wrong is set by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from lessor.sandbox.kubernetes import RunningCluster, running_cluster
from lessor.sandbox.kubernetes.client import ClusterClient
from lessor.sandbox.kubernetes.control_api import make_page
from lessor.sandbox.kubernetes.kinds import KUEUE, kind
from lessor.sandbox.kubernetes.server import listening
from tests.browser import launched_browser, opened_page
from tests.sandbox.kubernetes.objects import pod, quota, stateful_set

pytestmark = pytest.mark.browser

LEASE = "gpu-7k3qxa2m"
MARKS = {
    "labels": {"lessor.dev/lease": LEASE, "lessor.dev/team": "research"},
    "annotations": {"lessor.dev/purpose": "<b>train</b>", "lessor.dev/model": "A100-80GB"},
}


@pytest_asyncio.fixture
async def shown() -> AsyncIterator[tuple[RunningCluster, Page]]:
    with running_cluster() as lab:
        lab.set(start_seconds=0, stop_seconds=0)
        lab.create("Namespace", {"metadata": {"name": LEASE, **MARKS}})
        hard = {"requests.amd.com/gpu": "0", "requests.nvidia.com/gpu": "2", "nvidia.com/gpu": "1"}
        lab.create("ResourceQuota", quota(**hard), LEASE)
        lab.settle()
        application = make_page(lab.cluster)
        async with (
            listening(application) as url,
            launched_browser() as browser,
            opened_page(browser, url) as page,
        ):
            yield lab, page


async def test_something_runs_in_a_namespace_and_is_seen(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    row = page.locator(f'#namespaces tr[data-namespace="{LEASE}"]')
    await expect(row).to_contain_text("research")
    await expect(row).to_contain_text("purpose: <b>train</b>")
    await expect(row).to_contain_text("not counted, of 1")
    await expect(row).not_to_contain_text("amd.com")
    await row.get_by_role("button", name="Run on 1 GPU").click()
    await expect(page.locator("#pods")).to_contain_text("Running")
    await expect(row).to_contain_text("1 of 2")
    node = page.locator('#nodes tr[data-node="gpu-a100-1"]')
    await expect(node.get_by_role("img", name="1 of 8 nvidia.com/gpu held")).to_be_visible()
    await expect(page.locator("#figure-used")).to_have_text("1")
    await page.locator("#pods").get_by_role("button", name="Delete").click()
    await expect(page.locator("#pods")).to_contain_text("Running")
    assert len(lab.exists("Pod", LEASE)) == 1


async def test_the_answers_to_requests_are_within_the_window(shown: tuple[RunningCluster, Page]) -> None:
    """Names of accounts in a lease's namespace are long."""
    lab, page = shown
    lab.settle()
    account = lab.cluster.registry.get(kind("ServiceAccount"), LEASE, "default")
    token = lab.cluster.accounts.issue(account, 600)[0]
    assert lab.ask("GET", f"/api/v1/namespaces/{LEASE}/persistentvolumeclaims", token=token).code == 403
    answer = page.locator("#heard tr", has_text=f"system:serviceaccount:{LEASE}:default").locator("td").last
    await expect(answer).to_have_text("403")
    await page.set_viewport_size({"width": 1280, "height": 900})
    box = await answer.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1280 - 16


async def test_nodes_are_cordoned_and_go_away(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    node = page.locator('#nodes tr[data-node="gpu-h100-1"]')
    free = int(await page.locator("#figure-free").inner_text())
    await node.get_by_role("button", name="Cordon").click()
    await expect(node).to_contain_text("Cordoned")
    await expect(page.locator("#figure-free")).to_have_text(str(free - 8))
    assert lab.get("Node", "gpu-h100-1")["spec"]["unschedulable"] is True  # type: ignore[index]
    await node.get_by_role("button", name="Uncordon").click()
    await node.get_by_role("button", name="Goes away").click()
    await expect(node).to_contain_text("NotReady")
    await node.get_by_role("button", name="Comes back").click()
    await expect(node).to_contain_text("Ready")
    await expect(page.locator("#figure-free")).to_have_text(str(free))


async def test_what_somebody_is_about_to_press_stays_in_place(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    node = page.locator('#nodes tr[data-node="gpu-h100-1"]')
    away = await node.get_by_role("button", name="Goes away").element_handle()
    assert away is not None
    await away.focus()
    lab.create("Namespace", {"metadata": {"name": "another"}})
    await expect(page.locator('#namespaces tr[data-namespace="another"]')).to_be_visible()
    lab.change("Node", "gpu-h100-1", {"metadata": {"labels": {"nvidia.com/gpu.product": "H100-of-ours"}}})
    await expect(node).to_contain_text("H100-of-ours")
    assert await page.evaluate("(it) => document.activeElement === it", away)


async def test_a_button_that_is_pressed_by_key_keeps_the_focus(shown: tuple[RunningCluster, Page]) -> None:
    _, page = shown
    node = page.locator('#nodes tr[data-node="gpu-h100-1"]')
    await node.get_by_role("button", name="Cordon").press("Enter")
    await expect(node.get_by_role("button", name="Uncordon")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(node.get_by_role("button", name="Cordon", exact=True)).to_be_focused()


async def test_rows_come_and_go_in_their_order(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    names = page.locator("#namespaces tbody td:first-child")
    for name in ("b", "a", "z"):
        lab.create("Namespace", {"metadata": {"name": name}})
    await expect(names).to_have_text(["anobody's", "bnobody's", f"{LEASE}research", "znobody's"])
    lab.delete("Namespace", "b")
    lab.delete("Namespace", LEASE)
    await expect(names).to_have_text(["anobody's", "znobody's"])


async def test_troubles_are_switched(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    token = lab.lessors_token()
    tile = page.locator("#tile-forbidden")
    await tile.get_by_role("button", name="Switch on").click()
    await expect(tile).to_have_class("tile on")
    assert lab.ask("GET", "/api/v1/pods", token=token).code == 403
    await tile.get_by_role("button", name="Switch off").click()
    await expect(tile).to_have_class("tile")
    assert lab.ask("GET", "/api/v1/pods", token=token).code == 200
    await expect(page.locator("#heard")).to_contain_text("lessor")
    await page.locator("#tile-tokens").get_by_role("button", name="Now").click()
    await _until(lab, token, 401)
    await page.locator("#tile-kueue").get_by_role("button", name="Switch on").click()
    await expect(page.locator("#tile-kueue")).to_have_class("tile on")
    assert KUEUE in lab.cluster.served.extensions
    await page.locator("#start_seconds").fill("7")
    await expect(page.locator("#told-start_seconds")).to_have_text("7 s")
    assert lab.cluster.settings.start_seconds == 7


async def test_a_held_namespace_says_what_holds_it_until_it_is_let_go(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    row = page.locator(f'#namespaces tr[data-namespace="{LEASE}"]')
    await row.get_by_role("button", name="Hold").click()
    await expect(row.get_by_role("button", name="Let go")).to_be_visible()
    lab.delete("Namespace", LEASE)
    await expect(row).to_contain_text("Terminating")
    await expect(row).to_contain_text("finalizers remaining: sandbox.lessor.dev/hold in 1 resource instances")
    await row.get_by_role("button", name="Let go").click()
    await expect(page.locator("#namespaces")).to_contain_text("None yet.")


async def test_disks_and_why_a_pod_waits_are_seen(shown: tuple[RunningCluster, Page]) -> None:
    lab, page = shown
    lab.create("StatefulSet", stateful_set("shell", size="5Gi", storageClassName="keep"), "default")
    lab.create("Pod", pod("big", 9), "default")
    await expect(page.locator("#disks")).to_contain_text("default/data-shell-0")
    await expect(page.locator("#disks")).to_contain_text("5Gi")
    await expect(page.locator("#pods")).to_contain_text("Insufficient nvidia.com/gpu")


async def test_what_cannot_be_is_refused_in_words(shown: tuple[RunningCluster, Page]) -> None:
    _, page = shown
    client = ClusterClient(page.url)
    for call, words in (
        (lambda: client.trouble("none"), "there is no trouble none; there are: down"),
        (lambda: client.namespace("none", run=1), 'namespaces "none" not found'),
        (lambda: client.set(start_seconds=-1), "start_seconds is a number of seconds, and not negative"),
    ):
        with pytest.raises(ValueError, match=words):
            await asyncio.to_thread(call)


async def _until(lab: RunningCluster, token: str, code: int) -> None:
    for _ in range(3_000):
        if lab.ask("GET", "/api/v1/pods", token=token).code == code:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{code} was not answered in time")
