"""The forms: field errors at the field, a quote that follows the choices, deny, extend, restore."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from bot import wish
from lessor.contracts import Verb
from lessor.domain import life
from lessor.domain.case import Case
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.policy import Decision, Outcome, Reason
from lessor.domain.quota import Ceiling, QuotaPlan
from lessor.domain.terms import Terms
from lessor.gateway import PlaceChoice
from lessor.ports import Team
from lessor.sandbox.slack import RunningSandbox, Somebody, buttons, visible_text
from lessor.when import local
from tests.bot.world import PLACE, REQUESTER, World, a_world

GOOD = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}


async def opened(world: World, who: str = "requester") -> tuple[Somebody, dict[str, Any]]:
    person = world.slack.person(who)
    await person.command("/gpu", "request")
    return person, await person.wait_for_view("Price:")


@pytest.mark.parametrize(
    ("field", "value", "block", "message"),
    [
        ("wish-count", "0", "count", "0 GPUs; 1 to 64 are allowed in one request"),
        ("wish-count", "10000", "count", "10,000 GPUs; 1 to 64 are allowed in one request"),
        ("wish-count", "-1", "count", "-1 GPUs; 1 to 64 are allowed in one request"),
        ("wish-disk", "10000000000", "disk", "'10000000000' is too large; 8 to 16,384 are allowed"),
        ("wish-project", "the llm", "project", "'the llm' is no project; letters, digits and hyphens"),
        ("wish-end", "whenever", "end", "'whenever' is not understood; write for example '8 h' or '3 days'"),
        ("wish-end", "90 days", "end", "15 min to 30 d from now are allowed"),
        ("wish-end", "1 min", "end", "15 min to 30 d from now are allowed"),
        ("wish-end", "2020-01-01", "end", "is in the past"),
        ("wish-purpose", "x", "purpose", "has 1 characters; 3 to 8,000 are allowed"),
        ("wish-disk", "1", "disk", "1 GiB; 8 to 16,384 are allowed"),
        ("wish-cap", "not much", "cap", "'not much' is no amount of money; write it like 500, 1,200.50 or 500 USD"),
        ("wish-cap", "0.01", "cap", "0.01 USD is less than the"),
        ("wish-tags", "nothing", "tags", "'nothing' is no tag; write one key=value on each line"),
        ("wish-tags", "aws:x=1", "tags", "'aws:x' is reserved"),
    ],
)
async def test_every_limit_speaks_at_its_field(world: World, field: str, value: str, block: str, message: str) -> None:
    requester, _ = await opened(world)
    sent = await requester.submit_view({**GOOD, field: value})
    assert list(sent["errors"]) == [block]
    assert message in sent["errors"][block]
    await world.settled()
    assert world.engine.leases == {}
    mended = {**GOOD, "wish-disk": "200", "wish-tags": "", "wish-cap": "", "wish-project": ""}
    assert (await requester.submit_view(mended))["errors"] == {}
    await world.settled()
    assert world.only_lease().request.need.count == 2


async def test_a_cap_goes_with_the_request_and_comes_back_into_the_form(world: World) -> None:
    requester, _ = await opened(world)
    assert (await requester.submit_view({**GOOD, "wish-cap": "2k usd"}))["errors"] == {}
    await world.settled()
    assert world.only_lease().request.cap == Money(Decimal(2000))
    again = wish.of_request(world.only_lease().request, "UTC")
    assert again.cap == "2,000.00 USD"


NASTY = "<!channel> {{ 7*7 }} ${HOME} `id` & <@U0ADMIN> *b* '; DROP TABLE--\n- a: [b]\n🦆 ⁂ \u202e"


async def test_metacharacters_are_kept_and_shown_inert(world: World) -> None:
    requester, _ = await opened(world)
    assert (await requester.submit_view({**GOOD, "wish-purpose": NASTY}))["errors"] == {}
    await world.settled()
    assert world.only_lease().request.purpose == NASTY.strip()
    card = await world.slack.person("manager").wait_for_message(world.only_lease().id, "gpu-approvals")
    raw = "\n".join(b["text"]["text"] for b in card["blocks"] if b.get("text"))
    assert "&lt;!channel&gt; {{ 7*7 }} ${HOME}" in raw
    assert "&lt;@U0ADMIN&gt;" in raw
    assert "<!channel>" not in raw
    assert all(b["text"]["verbatim"] for b in card["blocks"] if b.get("text"))


async def test_the_quote_follows_the_choices(world: World) -> None:
    requester, form = await opened(world)
    world.cloud.hourly = Money(Decimal("7.25"))
    await requester.select(form, "L4", "wish-model")
    view = await requester.wait_for_view("*Price:* 7.25 USD an hour for g5.xlarge (1 x L4)")
    world.cloud.hourly = None
    await requester.select(view, "4", "wish-count")
    view = await requester.wait_for_view("*Price:* unknown for g5.xlarge (4 x L4); people will decide")
    await requester.select(view, "3 days", "wish-end")
    await requester.wait_for_view("*End:*")


def told_all(case: Case) -> Decision:
    """People decide, for a reason that repeats what was filled in."""
    asked = case.request
    said = (f"{asked.disk_gib} GiB", f"cap {asked.cap}", asked.schedule, "saved" if asked.checkpoints else "unsaved")
    return Decision(Outcome.REQUIRE, (Reason("large", ", ".join(said)),), (), "p")


FOLLOWED = (
    ("wish-end", "3 days", "*Left after approval:* team research 7 of 8 GPUs left\n"),
    ("wish-team", "vision", "*Left after approval:* team vision 3 of 4 GPUs left\n"),
    ("wish-project", "ranker", "team vision 3 of 4 GPUs left; project ranker 1 of 2 GPUs left\n"),
    ("wish-start", "in 3 days", "*Start:* from "),
    ("wish-disk", "500", "large: 500 GiB, cap None, , unsaved"),
    ("wish-cap", "5000", "large: 500 GiB, cap 5,000.00 USD, , unsaved"),
    ("wish-schedule", "office", "large: 500 GiB, cap 5,000.00 USD, office, unsaved"),
    ("wish-options", ["checkpoints"], "large: 500 GiB, cap 5,000.00 USD, office, saved"),
)


async def test_the_quote_follows_all_that_quota_policy_and_the_end_depend_on(
    slack: RunningSandbox, sqlite_url: str
) -> None:
    scopes = (("team:research", 8), ("team:vision", 4), ("project:ranker", 2))
    plan = QuotaPlan(tuple(Ceiling(scope, Decimal(gpus)) for scope, gpus in scopes))
    async with a_world(slack, sqlite_url, plan=plan, judge=told_all) as world:
        world.directory.people[0] = replace(REQUESTER, teams=("research", "vision"))
        world.directory.teams["vision"] = Team("vision", "Vision")
        requester, form = await opened(world)
        for field, value, told in FOLLOWED:
            await requester.select(form, value, field)
            form = await requester.wait_for_view(told)
        kept = {b["element"]["action_id"]: b["element"] for b in form["blocks"] if b["type"] == "input"}
        typed = [kept[f"wish-{name}"]["initial_value"] for name in ("project", "start", "end", "disk", "cap")]
        assert typed == ["ranker", "in 3 days", "3 days", "500", "5000"]
        assert (await requester.submit_view({"wish-purpose": "train the ranking model"}))["errors"] == {}
        await world.settled()
        asked = world.only_lease().request
        assert (asked.team, asked.project, asked.disk_gib, asked.schedule) == ("vision", "ranker", 500, "office")
        assert (asked.cap, asked.checkpoints) == (Money(Decimal(5_000)), True)


async def test_what_is_wrong_with_the_start_is_said_of_the_start(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request 1 x a100 80gb start:next week for 8h")
    told = visible_text(await requester.wait_for_view("*Start:* 'next week' may mean several days"))
    assert "*End:*" not in told


async def test_an_older_quote_never_overwrites_a_newer_choice(world: World) -> None:
    requester, form = await opened(world)
    release, asked = threading.Event(), threading.Event()
    plain = world.cloud.quote

    def slow(need: Any, place: Any, market: Any, now: Any) -> Any:
        if need.model == "L4":
            asked.set()
            release.wait(60)
        return plain(need, place, market, now)

    world.cloud.quote = slow  # type: ignore[method-assign]
    await requester.select(form, "L4", "wish-model")
    await asyncio.to_thread(asked.wait, 60)
    await requester.select(form, "A100-80GB", "wish-model")
    await requester.wait_for_view("(1 x A100-80GB)")
    release.set()
    await world.settled()
    (view,) = await requester.views()
    assert "(1 x A100-80GB)" in visible_text(view)
    assert "(1 x L4)" not in visible_text(view)


async def test_a_market_that_the_new_place_lacks_is_not_kept(slack: RunningSandbox, sqlite_url: str) -> None:
    europe = PlaceChoice("eu", "AWS in Europe", "aws", ("eu-central-1",))
    async with a_world(slack, sqlite_url, places=(PLACE, europe)) as world:
        requester, form = await opened(world)
        await requester.select(form, "spot", "wish-market")
        await world.settled()
        (form,) = await requester.views()
        await requester.select(form, "eu", "wish-place")
        await world.settled()
        (form,) = await requester.views()
        (market,) = [b["element"] for b in form["blocks"] if b["block_id"].startswith("market-")]
        assert [option["value"] for option in market["options"]] == ["on-demand"]
        assert (await requester.submit_view(GOOD))["errors"] == {}
        await world.settled()
        request = world.only_lease().request
        assert (request.place.name, request.place.region, request.market.value) == ("eu", "eu-central-1", "on-demand")


async def test_deny_asks_why_and_the_requester_reads_it(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "deny")
    await manager.wait_for_view("The requester reads this.")
    empty = await manager.submit_view({"reason": ""})
    assert list(empty["errors"]) == ["reason"]
    sent = await manager.submit_view({"reason": "the <budget> is spent"})
    assert sent["errors"] == {}
    await world.settled()
    assert await manager.views() == []
    denied = world.engine.leases[lease.id]
    assert (denied.state, denied.decided_reason) == (State.DENIED, "the <budget> is spent")
    told = visible_text(await world.slack.person("requester").wait_for_message("decided"))
    assert "> the <budget> is spent" in told
    card = await manager.wait_for_message("*Denied:*", "gpu-approvals")
    assert buttons(card) == []


async def test_a_denial_that_comes_too_late_says_who_was_first(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "deny")
    await manager.wait_for_view("Why?")
    await world.act(lease, Verb.APPROVE, "U0MANAGER2")
    await manager.submit_view({"reason": "no"})
    view = visible_text(await manager.wait_for_view("already approved by <@U0MANAGER2>"))
    decided = world.engine.leases[lease.id].decided_at
    assert decided is not None
    assert local(decided, "America/New_York") in view


async def test_extend_by_words_adds_to_the_end_that_holds(world: World) -> None:
    lease = await world.running(await world.ask())
    assert lease.ends_at is not None
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message("Ready:"), "extend")
    form = await requester.wait_for_view("It can be extended by 29 d 16 h at most")
    bad = await requester.submit_view({"end": "90 days"}, form)
    assert "at most 30 d in total are allowed" in bad["errors"]["end"]
    await world.slack.add_fault("duplicate", "interactive", copies=2, ids="new")
    sent = await requester.submit_view({"end": "2h", "reason": "one more epoch"}, form)
    assert sent["errors"] == {}
    await world.deliveries("interactive", 5)
    await world.settled()
    assert world.engine.leases[lease.id].ends_at == lease.ends_at + timedelta(hours=2)


async def test_extend_by_date_and_time_is_prefilled_within_the_allowance(world: World) -> None:
    world.engine.terms = Terms(max_total=timedelta(hours=12))
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message("Ready:"), "extend")
    form = await requester.wait_for_view("It can be extended by 4 h at most")
    assert (await requester.submit_view({}, form))["errors"] == {}
    await world.settled()
    extended = world.engine.leases[lease.id].ends_at
    assert lease.last_end is not None
    assert extended is not None
    assert timedelta() <= lease.last_end - extended < timedelta(seconds=1)


async def test_a_lease_without_allowance_opens_words_instead_of_a_form(world: World) -> None:
    world.engine.terms = Terms(max_total=timedelta(hours=8))
    await world.running(await world.ask(duration=timedelta(hours=8)))
    told = await world.slack.person("requester").wait_for_message("Ready:")
    assert buttons(told) == ["Release now"]


async def test_restore_during_grace(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    await world.move(lease, life.stopped, world.clock(), world.clock())
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message("Stopped:"), "restore")
    form = await requester.wait_for_view("is stopped. It can run until")
    assert (await requester.submit_view({"end": "1h"}, form))["errors"] == {}
    await world.settled()
    assert world.engine.leases[lease.id].state is State.PROVISIONING


async def test_restore_during_grace_by_command(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    await world.move(lease, life.stopped, world.clock(), world.clock())
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"restore {lease.id}")
    await requester.wait_for_ephemeral("the end is empty")
    assert world.engine.leases[lease.id].state is State.STOPPED
    await requester.command("/gpu", f"restore {lease.id} 2h one more run")
    await requester.wait_for_ephemeral("is being started again")
    found = world.engine.leases[lease.id]
    assert found.state is State.PROVISIONING
    assert found.ends_at is not None
    assert timedelta(hours=2) - timedelta(minutes=1) < found.ends_at - world.clock() <= timedelta(hours=2)


async def test_nothing_is_asked_of_people_whom_the_configuration_does_not_know(world: World) -> None:
    finance = world.slack.person("finance")
    world.directory.people = [p for p in world.directory.people if p.id != "U0FINANCE"]
    await finance.command("/gpu", "request")
    view = await finance.wait_for_view("not in lessor's list of people")
    assert [block["type"] for block in view["blocks"]] == ["section"]
