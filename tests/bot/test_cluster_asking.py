"""What is free where a request is made in Slack, and which kind of lease it is for."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from lessor.contracts import Verb
from lessor.domain.pools import Pool
from lessor.domain.request import LeaseKind
from lessor.sandbox.slack import visible_text
from lessor.sandbox.slack.client import Somebody
from tests.bot.lab import ASKED, LAB, NAMESPACE, WORKSPACE, Cluster, in_the_lab
from tests.bot.world import MANAGER, World


async def form(world: World, text: str = "") -> tuple[Somebody, dict[str, Any]]:
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"request {text}".strip())
    return requester, await requester.wait_for_view("Price:")


async def test_the_form_shows_what_is_free_and_follows_the_choices(lab: World, cluster: Cluster) -> None:
    requester, view = await form(lab)
    await requester.wait_for_view("*Capacity:* 5 of 16 free now, at most 4 on one node, 3 wait in the queue")
    await requester.select(view, "8", "wish-count")
    view = await requester.wait_for_view("fewer than are asked for, so it would wait")
    await requester.select(view, "5", "wish-count")
    view = await requester.wait_for_view("3 wait in the queue, not all on one node")
    await requester.select(view, "L4", "wish-model")
    view = await requester.wait_for_view("*Capacity:* none: there is no L4 here")
    await requester.select(view, "us", "wish-place")
    view = await requester.wait_for_view(lambda shown: "*Capacity:*" not in visible_text(shown))
    assert "*Price:*" in visible_text(view)


async def test_a_cluster_that_hangs_delays_no_form_and_is_unknown(
    lab: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    cluster.gate = threading.Event()
    requester, view = await form(lab)
    assert "*Capacity:* unknown: kubernetes/lab did not answer within" in visible_text(view)
    assert (await requester.submit_view(ASKED))["errors"] == {}
    cluster.gate.set()
    await lab.settled()
    assert lab.only_lease().request.need.count == 2
    (view,) = await requester.views()
    assert "*Price:*" not in visible_text(view), "what came late is not drawn over the answer"


async def test_a_form_is_redrawn_when_a_slow_cluster_has_answered(
    lab: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    cluster.gate = threading.Event()
    requester, view = await form(lab)
    assert "*Capacity:* unknown" in visible_text(view)
    cluster.gate.set()
    await requester.wait_for_view("*Capacity:* 5 of 16 free now")


async def test_a_choice_is_redrawn_when_a_slow_cluster_has_answered(
    lab: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    requester, view = await form(lab)
    await lab.settled()
    cluster.gate, lab.clock.moved = threading.Event(), lab.clock.moved + timedelta(minutes=5)
    await requester.select(view, "3", "wish-count")
    await requester.wait_for_view(lambda shown: "*Capacity:* unknown" in visible_text(shown))
    cluster.gate.set()
    await requester.wait_for_view("*Capacity:* 5 of 16 free now")
    assert "namespace with 3 x" in visible_text((await requester.views())[0])


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("bot.quoting", "bot.requesting"):
        monkeypatch.setattr(f"{module}.CAPACITY_WITHIN", timedelta(milliseconds=30))


async def test_the_kind_is_asked_where_a_place_has_several(lab: World) -> None:
    requester, view = await form(lab)
    (kind,) = [b["element"] for b in view["blocks"] if b["block_id"].startswith("kind-")]
    assert [option["value"] for option in kind["options"]] == ["namespace", "workspace"]
    assert kind["initial_option"]["value"] == "namespace"
    assert "*Price:* 2.50 USD an hour for namespace with 1 x A100-80GB" in visible_text(view)
    await requester.select(view, "workspace", "wish-kind")
    await requester.wait_for_view("an hour for workspace with 1 x A100-80GB")
    assert (await requester.submit_view(ASKED))["errors"] == {}
    await lab.settled()
    request = lab.only_lease().request
    assert (request.kind, request.place) == (WORKSPACE, LAB)


async def test_a_kind_that_the_new_place_lacks_is_not_kept(lab: World) -> None:
    requester, view = await form(lab)
    await requester.select(view, "us", "wish-place")
    view = await requester.wait_for_view(lambda shown: "*Capacity:*" not in visible_text(shown))
    assert not [b for b in view["blocks"] if b["block_id"].startswith("kind-")]
    assert (await requester.submit_view(ASKED))["errors"] == {}
    await lab.settled()
    assert lab.only_lease().request.kind is LeaseKind.MACHINE


async def test_a_typed_request_names_its_kind_and_a_wrong_one_is_refused(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", 'request workspace 2 x a100 80gb 8h training in lab "rank them"')
    await lab.settled()
    assert lab.only_lease().request.kind is WORKSPACE
    await requester.command("/gpu", 'request 3 x a100 80gb 8h training in lab kind:machine "rank them"')
    view = await requester.wait_for_view("there are no leases of kind machine in lab")
    assert "ask for a namespace or workspace" in visible_text(view)
    assert len(lab.engine.leases) == 1


async def test_a_slice_that_was_typed_is_never_swapped_and_slices_can_be_chosen(lab: World, cluster: Cluster) -> None:
    cluster.pools.append(Pool(LAB, "A100-80GB-1g.10gb", "slice", total=14, free=3, largest=3))
    requester, view = await form(lab, "2 x A100-80GB-2g.20gb in lab")
    (model,) = [b["element"] for b in view["blocks"] if b["block_id"] == "model"]
    assert model["initial_option"]["value"] == "A100-80GB-2g.20gb"
    await requester.close_view()
    await lab.settled()
    requester, view = await form(lab)
    await requester.select(view, "A100-80GB-1g.10gb", "wish-model")
    await requester.wait_for_view("*Capacity:* 3 of 14 slices free now, at most 3 on one node")


async def test_without_a_word_the_first_kind_of_the_place_is_meant(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", 'request 2 x a100 80gb 8h training in lab "rank them"')
    await lab.settled()
    assert lab.only_lease().request.kind is NAMESPACE


async def test_those_who_decide_see_the_kind_and_what_is_free(lab: World) -> None:
    lease = await in_the_lab(lab)
    card = visible_text(await lab.slack.person("manager").wait_for_message("GPU request"))
    assert "*What*\nnamespace with 2 x A100-80GB" in card
    assert "*Where*\nkubernetes/lab, on-demand" in card
    assert "*Capacity*\n5 of 16 free now, at most 4 on one node, 3 wait in the queue" in card
    await lab.act(lease, Verb.APPROVE, MANAGER.id)


async def test_home_shows_what_is_free_now(lab: World, cluster: Cluster) -> None:
    cluster.pools.append(Pool(LAB, "H100-80GB", total=8))
    requester = lab.slack.person("requester")
    await requester.open_home()
    home = visible_text(await requester.wait_for_home("*Free now*"))
    assert "• lab: A100-80GB 5 of 16, H100-80GB unknown" in home


async def test_home_without_clusters_says_nothing_of_them(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.open_home()
    assert "*Free now*" not in visible_text(await requester.wait_for_home("*Yours*"))
