"""The fleet in Slack, what is free where a request is made, and which kind of lease it is for."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from bot.blocks.message import BLOCKS_MOST, WEIGHT_MOST, weight
from bot.fleet import LEASES_PAGE
from lessor.contracts import Verb
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import LeaseKind, Place
from lessor.gateway import PlaceChoice
from lessor.ports import Credentials, Heartbeat, RetryableError
from lessor.sandbox.slack import RunningSandbox, buttons, visible_text
from lessor.sandbox.slack.client import Somebody
from tests.bot.world import MANAGER, PLACE, Clock, World, a_world

NAMESPACE, WORKSPACE = LeaseKind.NAMESPACE, LeaseKind.WORKSPACE
LAB = Place("kubernetes", "lab")
LAB_CHOICE = PlaceChoice("lab", "The <lab>", "kubernetes", kinds=(NAMESPACE, WORKSPACE))
ASKED = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}


@dataclass
class Cluster:
    """Counts itself; `gate` holds its answers back, `fail` is raised instead of one."""

    clock: Any = None
    pools: list[Pool] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    fail: Exception | None = None
    gate: threading.Event | None = None

    def census(self, place: Place) -> Census:
        if self.gate:
            self.gate.wait(30)
        if self.fail:
            raise self.fail
        return Census(place, self.clock(), tuple(self.pools), tuple(self.holders), notes=self.notes)


@pytest.fixture
def cluster() -> Cluster:
    pool = Pool(LAB, "A100-80GB", total=16, free=5, unhealthy=2, largest=4, queued=3)
    return Cluster(Clock(), [pool])


@pytest_asyncio.fixture
async def lab(slack: RunningSandbox, sqlite_url: str, cluster: Cluster) -> AsyncIterator[World]:
    async with a_world(slack, sqlite_url, places=(LAB_CHOICE, PLACE), capacity=cluster) as world:
        yield world
        if cluster.gate:
            cluster.gate.set()


async def in_the_lab(world: World, **changes: Any) -> Any:
    return await world.ask(place=LAB, kind=NAMESPACE, **changes)


async def told(person: Somebody, words: str) -> str:
    return visible_text(await person.wait_for_ephemeral(lambda message: words in visible_text(message)))


# --- the fleet -------------------------------------------------------------------------------------------------------


async def test_the_fleet_shows_every_place_its_gpus_and_its_leases(lab: World, cluster: Cluster) -> None:
    cluster.holders.append(Holder(LAB, "default/<pod>", "A100-80GB", 2, who="somebody", flag="Pending"))
    cluster.notes = ("a quota in ns-1 is not enforced",)
    lease = await lab.running(await in_the_lab(lab, purpose="rank <!channel> them"))
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    message = await requester.wait_for_ephemeral("*Fleet*")
    text = visible_text(message)
    assert (
        "• A100-80GB: free *5* of 16, at most 4 on one node; leased 2, without a lease 2, unhealthy 2, "
        "unaccounted for 5, waiting in the queue 3"
    ) in text
    assert "*The <lab>* (kubernetes)" in text
    assert "*AWS in the US* (aws)" in text
    assert "a quota in ns-1 is not enforced" in text
    assert "`default/<pod>` in lab: 2 x A100-80GB, of somebody; Pending" in text
    assert f"`{lease.id}` namespace with 2 x A100-80GB in lab, <@U0REQUESTER>, team research" in text
    assert "*not metered*, ends" in text
    assert "> rank <!channel> them" in text
    assert "Details" in buttons(message)


async def test_a_cloud_in_which_nothing_is_leased_says_so(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet us")
    assert "• machines are made on demand, and none is leased now" in await told(requester, "*Fleet:* us")


async def test_what_a_cloud_has_is_on_demand_and_never_zero(lab: World) -> None:
    lease = await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet us")
    text = await told(requester, "*Fleet:* us")
    assert "• A100-80GB: leased *2*, without a lease not looked for, total and free on demand, unaccounted for" in text
    assert f"`{lease.id}` 2 x A100-80GB in us" in text
    assert "The <lab>" not in text


async def test_a_place_that_does_not_answer_spoils_no_other(lab: World, cluster: Cluster) -> None:
    cluster.fail = RetryableError("lab: 403 Forbidden, the <ClusterRole> is missing")
    await lab.running(await in_the_lab(lab))
    await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    text = await told(requester, "*Fleet*")
    assert (
        "free *unknown* of unknown; leased 2, without a lease unknown, unhealthy unknown, unaccounted for unknown"
        in text
    )
    assert "*Could not be read whole:* lab: 403 Forbidden, the <ClusterRole> is missing. What was not read" in text
    assert "leased *2*, without a lease not looked for" in text
    assert "*Leases:* 2" in text


async def test_what_is_no_place_and_no_model_is_told_with_what_there_is(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet <mars>")
    await requester.wait_for_ephemeral("'<mars>' is no place and no GPU model here; places: lab, us; models: A100-80GB")


async def test_leases_come_page_by_page_and_none_twice(lab: World) -> None:
    ids = sorted(
        [(await lab.running(await in_the_lab(lab, purpose=f"purpose {n}"))).id for n in range(LEASES_PAGE + 3)]
    )
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    first = await requester.wait_for_ephemeral("*Fleet*")
    shown = [one for one in ids if f"`{one}`" in visible_text(first)]
    assert (shown, buttons(first)[-1]) == (ids[:LEASES_PAGE], "Next page")
    await requester.click(first, "fleet-page")
    second = await requester.wait_for_ephemeral(lambda message: "more leases" in visible_text(message))
    assert [one for one in ids if f"`{one}`" in visible_text(second)] == ids[LEASES_PAGE:]
    assert "Next page" not in buttons(second)


async def test_a_large_fleet_stays_within_slacks_limits(lab: World, cluster: Cluster) -> None:
    cluster.pools = [Pool(LAB, f"MODEL-{'<x>' * 12}-{n}", total=n, free=n, unhealthy=0) for n in range(60)]
    cluster.holders = [Holder(LAB, f"{'<n>' * 80}/{n}", "MODEL", 1, flag="&" * 300) for n in range(40)]
    await lab.running(await in_the_lab(lab, purpose="&" * 8_000))
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    message = await requester.wait_for_ephemeral("*Fleet*")
    assert len(message["blocks"]) <= BLOCKS_MOST
    assert weight(message["blocks"]) <= WEIGHT_MOST
    text = visible_text(message)
    assert "and 30 more without a lease" in text


# --- asking ----------------------------------------------------------------------------------------------------------


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


# --- getting in ------------------------------------------------------------------------------------------------------


WAY_IN = "lessor access ID --kubeconfig FILE\nkubectl --kubeconfig FILE get pods"


async def test_the_way_in_is_told_to_those_who_may_use_it(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    text = await told(requester, "Get in with:")
    assert f"`{lease.id}` (namespace with 2 x A100-80GB) in kubernetes/lab" in text
    assert WAY_IN in text
    assert "an access that ends by itself and is kept nowhere" in text
    finance = lab.slack.person("finance")
    await finance.command("/gpu", f"access {lease.id}")
    await finance.wait_for_ephemeral(f"{lease.id} belongs to somebody else")
    admin = lab.slack.person("admin")
    await admin.command("/gpu", f"access {lease.id}")
    assert WAY_IN in await told(admin, "Get in with:")


KUBECONFIG = "apiVersion: v1\nusers:\n- name: me\n  user: {token: s3cret-<&>}"


def with_keys(world: World, text: str = KUBECONFIG) -> list[str]:
    """The provider hands out access; the ids of leases for which it did."""
    given: list[str] = []

    def credentials(lease_id: str, place: Place, heartbeat: Heartbeat) -> Credentials:
        given.append(lease_id)
        return Credentials(text, world.clock() + timedelta(hours=8))

    world.cloud.credentials = credentials  # type: ignore[attr-defined]
    return given


async def test_a_kubeconfig_is_shown_to_who_asks_alone_and_goes_nowhere_else(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id} kubeconfig")
    text = (await requester.wait_for_ephemeral(lambda message: "s3cret" in str(message)))["text"]
    assert "for you alone. Save it as `kubeconfig`" in text
    assert "user: {token: s3cret-&lt;&amp;&gt;}" in text
    assert given == [lease.id]
    events = await lab.gateway.events(lease.id)
    assert [one.event.data["via"] for one in events if one.event.type == "access-given"] == ["slack"]
    assert "s3cret" not in str(events)
    assert all("s3cret" not in str(call) for call in await lab.slack.calls("chat.postMessage"))
    assert all("s3cret" not in str(call) for call in await lab.slack.calls("chat.postEphemeral"))


async def test_a_kubeconfig_is_never_posted_where_it_would_stay(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    requester = lab.slack.person("requester")
    await requester.say(f"access {lease.id} kubeconfig")
    await requester.wait_for_message("an access is shown in no message that stays; write it as /gpu access, or write")
    assert given == []


@pytest.mark.parametrize("who", ["finance", "manager-2"])
async def test_a_kubeconfig_is_for_those_who_may_enter(lab: World, who: str) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    given = with_keys(lab)
    person = lab.slack.person(who)
    await person.command("/gpu", f"access {lease.id} kubeconfig")
    await person.wait_for_ephemeral(f"{lease.id} belongs to somebody else")
    assert given == []


async def test_an_access_that_is_too_long_is_thrown_away(lab: World) -> None:
    lease = await lab.running(await in_the_lab(lab), access=WAY_IN)
    with_keys(lab, "&" * 1_000)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id} kubeconfig")
    text = await told(requester, "this access is too long for a message")
    assert f"lessor access {lease.id} --kubeconfig FILE" in text


async def test_a_machine_is_got_into_by_what_its_provider_says(lab: World) -> None:
    lease = await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    text = await told(requester, "Get in with:")
    assert "aws ssm start-session --target i-0aaa" in text
    assert "kept nowhere" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the lease id is missing; write /gpu access ID"), ("all", "'all' is no lease id; write /gpu access ID")],
)
async def test_access_needs_a_lease(lab: World, text: str, message: str) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {text}".strip())
    await requester.wait_for_ephemeral(message)


async def test_there_is_no_way_into_what_does_not_run(lab: World) -> None:
    lease = await in_the_lab(lab)
    requester = lab.slack.person("requester")
    await requester.command("/gpu", f"access {lease.id}")
    await requester.wait_for_ephemeral(f"{lease.id} is awaiting approval; there is nothing to get into")
