"""Rules of requests and decisions as people meet them in Slack (cases F05, F07, F16, F18, F21, F22, F41, B09, B12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lessor.contracts import Notice, Verb
from lessor.domain.lease import State
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.sandbox.slack import buttons, visible_text
from tests.bot.world import MANAGER, REQUESTER, World

TEXT = 'request 2 x A100-80GB 8h team:research training in us "train the ranking model"'


async def test_F05_the_requesters_own_click_is_refused_and_on_record(world: World) -> None:
    world.directory.people[0] = replace(REQUESTER, groups=("managers",))
    lease = await world.ask()
    await world.slack.change_channel("gpu-approvals", members=["U0REQUESTER", "U0MANAGER"])
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message(lease.id, "gpu-approvals"), "approve")
    told = visible_text(await requester.wait_for_ephemeral("own request"))
    assert told == "this is your own request; somebody else has to decide it"
    await world.settled()
    assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL
    refused = [s.event for s in world.ledger.events(lease.id) if s.event.type == "refused"]
    assert [(e.actor, e.data["verb"], e.data["code"]) for e in refused] == [("U0REQUESTER", "approve", "own-request")]
    assert not [m for m in await requester.dms() if "Approve" in buttons(m)]


async def test_F07_when_the_requester_is_the_only_approver_administrators_are_asked(world: World) -> None:
    world.engine.decision = Decision(
        Outcome.REQUIRE, (Reason("r", "x"),), (StepSpec("self", ("person:U0REQUESTER",)),), "p"
    )
    lease = await world.ask()
    admin = world.slack.person("admin")
    card = await admin.wait_for_message("GPU request")
    assert "*Can decide now:* <@U0ADMIN>" in visible_text(card)
    await admin.click(card, "approve")
    await world.settled()
    assert world.engine.leases[lease.id].decided_by == "U0ADMIN"


async def test_F18_the_same_wish_names_the_open_request_and_offers_another_anyway(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    await world.settled()
    first = world.only_lease()
    await requester.command("/gpu", TEXT)
    similar = await requester.wait_for_ephemeral(f"Nothing new was made: `{first.id}`")
    assert len(world.engine.leases) == 1
    await requester.click(similar, "request-again")
    form = await requester.wait_for_view("Price:")
    assert (await requester.submit_view({}, form))["errors"] == {}
    await world.settled()
    second = next(lease for key, lease in world.engine.leases.items() if key != first.id)
    assert second.request.need == first.request.need
    assert second.request.purpose == first.request.purpose


async def test_F18_in_the_form_a_box_has_to_be_ticked(world: World) -> None:
    await world.ask(purpose="the first one")
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request")
    form = await requester.wait_for_view("Price:")
    values = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}
    sent = await requester.submit_view(values, form)
    assert sent["response_action"] == "update"
    form = await requester.wait_for_view("tick the box")
    assert (await requester.submit_view({}, form))["response_action"] == "update"
    await world.settled()
    assert len(world.engine.leases) == 1
    (form,) = await requester.views()
    await requester.submit_view({"wish-options": ["anyway"]}, form)
    await world.settled()
    assert len(world.engine.leases) == 2


async def test_F18_what_was_denied_never_blocks(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    await world.settled()
    await world.act(world.only_lease(), Verb.DENY, MANAGER.id, reason="no")
    world.clock.moved = timedelta(minutes=2)
    await requester.command("/gpu", TEXT)
    await world.settled()
    assert len(world.engine.leases) == 2


async def test_F21_F22_today_is_today_in_the_persons_zone_and_never_moved(world: World) -> None:
    requester = world.slack.person("requester")
    world.clock.set(datetime(2026, 11, 30, 17, 30, tzinfo=UTC))
    await requester.command("/gpu", "request")
    form = await requester.wait_for_view("Price:")
    values = {"wish-count": "2", "wish-end": "today 18:00", "wish-purpose": "train the ranking model"}
    sent = await requester.submit_view(values, form)
    assert "'today 18:00' is in the past" in sent["errors"]["end"]
    assert "do you mean 'tomorrow 18:00'?" in sent["errors"]["end"]
    sent = await requester.submit_view({**values, "wish-end": "today 18:40"}, form)
    assert "15 min to 30 d from now are allowed" in sent["errors"]["end"]
    sent = await requester.submit_view({**values, "wish-end": "today 20:30"}, form)
    assert sent["errors"] == {}
    await world.settled()
    assert world.only_lease().request.until == datetime(2026, 11, 30, 19, 30, tzinfo=UTC)
    view = visible_text(await requester.wait_for_view("Recorded:"))
    assert "It ends Monday 30 November 2026 20:30 CET." in view


async def test_F41_exactly_those_who_can_decide_are_named_and_told(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    told = visible_text(await requester.wait_for_ephemeral("*Recorded:*"))
    assert "Can decide now: <@U0MANAGER>, <@U0MANAGER2>." in told
    await world.settled()
    lease = world.only_lease()
    finance = world.slack.person("finance")
    assert await finance.dms() == []
    before = {who: len(await world.slack.person(who).dms()) for who in ("manager", "manager-2", "requester")}
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    after = {who: len(await world.slack.person(who).dms()) for who in ("manager", "manager-2", "requester")}
    assert after == {**before, "requester": before["requester"] + 1}


async def test_two_steps_ask_one_after_the_other_and_take_back_the_first_buttons(world: World) -> None:
    steps = (StepSpec("1-manager", ("group:managers",)), StepSpec("2-finance", ("group:finance",), stage=1))
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "two steps"),), steps, "p")
    lease = await world.ask()
    manager, finance = world.slack.person("manager"), world.slack.person("finance")
    assert await finance.dms() == []
    await manager.click(await manager.wait_for_message("GPU request"), "approve")
    told = await manager.wait_for_ephemeral("more people have to approve")
    assert visible_text(told) == f"Your approval of `{lease.id}` is recorded; more people have to approve."
    await world.settled()
    assert buttons(await manager.wait_for_message("GPU request")) == ["Details"]
    card = await finance.wait_for_message("GPU request")
    assert "*Can decide now:* <@U0FINANCE>" in visible_text(card)
    await finance.click(card, "approve")
    await world.settled()
    assert world.engine.leases[lease.id].state is State.APPROVED


async def test_B09_an_approval_before_the_card_is_posted_leaves_no_buttons(world: World) -> None:
    world.engine.quiet = True
    lease = await world.ask()
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    world.engine.quiet = False
    for notice in (Notice.REQUEST, Notice.DECIDED):
        world.engine.tell(lease.id, notice)
    await world.settled()
    manager = world.slack.person("manager")
    assert [m for m in await manager.dms() if buttons(m)] == []
    assert "*Approved:*" in visible_text(await world.slack.person("requester").wait_for_message("Approved"))


async def test_B12_a_worker_that_dies_after_posting_leaves_one_card(world: World) -> None:
    await world.slack.add_fault("lose_answer", "chat.postMessage", times=None)
    for _ in range(2):
        world.engine.problems.clear()
        if not world.engine.leases:
            await world.ask()
        else:
            world.engine.tell(world.only_lease().id, Notice.REQUEST)
            await world.settled()
    await world.slack.clear_faults()
    world.engine.tell(world.only_lease().id, Notice.REQUEST)
    await world.settled()
    assert len(world.slack.core.store.posts["C0GPUAPPROVALS"]) == 1
    assert len([p for p in world.slack.core.store.posts["D0MANAGER"] if "GPU request" in p.text]) == 1


async def test_recorded_only_is_said_plainly_and_starts_later(world: World) -> None:
    world.engine.down = True
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    told = visible_text(await requester.wait_for_ephemeral("Recorded:"))
    assert "The workflow engine cannot be reached now; the request is kept and starts by itself" in told
    world.engine.down = False
    assert await world.gateway.start_unstarted() == 1
    await world.settled()
    assert world.only_lease().state is State.AWAITING_APPROVAL


async def test_an_unreachable_workflow_is_told_and_the_click_can_be_repeated(world: World) -> None:
    lease = await world.ask()
    world.engine.down = True
    manager = world.slack.person("manager")
    card = await manager.wait_for_message("GPU request")
    await manager.click(card, "approve")
    told = visible_text(await manager.wait_for_ephemeral("cannot be reached"))
    assert "nothing was changed, try again in a minute" in told
    world.engine.down = False
    await manager.click(card, "approve")
    await world.settled()
    assert world.engine.leases[lease.id].state is State.APPROVED
