"""What the requester reads when rules decide, and when people do: who or what decided, and why, once."""

from __future__ import annotations

from lessor.contracts import Verb
from lessor.domain.policy import Decision, Outcome, Reason
from lessor.sandbox.slack import visible_text
from lessor.when import local
from tests.bot.world import MANAGER, World

TEXT = 'request 1 x L4 2h team:research notebook in us "look at the embeddings"'
SMALL = Reason("small", "one small GPU for a few hours")


async def test_an_approval_by_a_rule_names_the_rule_and_its_reason(world: World) -> None:
    world.engine.decision = Decision(Outcome.APPROVE, (SMALL,), (), "p1")
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    sent = visible_text(await requester.wait_for_ephemeral("*Recorded:*"))
    await world.settled()
    lease = world.only_lease()
    assert lease.decided_at is not None
    at = local(lease.decided_at, "Europe/Berlin")
    why = f"Nobody has to decide: the policy approved it at {at}, by rule *small* (one small GPU for a few hours)."
    assert why in sent
    assert "who can decide" not in sent
    (told,) = [visible_text(message) for message in await requester.dms()]
    assert told == (
        f"*Approved:* your request `{lease.id}` (1 x L4)\n{why}\n\n"
        "You get the access command here as soon as it is ready."
    )


async def test_before_it_is_assessed_nobody_promises_who_decides(world: World) -> None:
    wording = world.desk.wording.parts("submitted.j2", lease=None, lease_id="gpu-1", recorded_only=False, zone="")
    assert wording["title"] == (
        "*Recorded:* `gpu-1`. You get a direct message as soon as it is known who can decide, or what was decided."
    )


async def test_a_denial_by_a_rule_says_that_the_policy_decided(world: World) -> None:
    world.engine.decision = Decision(Outcome.DENY, (Reason("no-spot", "spot is not for notebooks"),), (), "p1")
    requester = world.slack.person("requester")
    await requester.command("/gpu", TEXT)
    sent = visible_text(await requester.wait_for_ephemeral("*Denied:*"))
    assert "by the policy.\n> no-spot: spot is not for notebooks" in sent
    told = visible_text(await requester.wait_for_message("The policy decided at"))
    assert "> no-spot: spot is not for notebooks" in told


async def test_an_approval_is_said_once_and_by_a_new_message(world: World) -> None:
    lease = await world.ask()
    requester = world.slack.person("requester")
    assert len(await requester.dms()) == 1
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    settled, decided = sorted(await requester.dms(), key=lambda message: float(message["ts"]))
    assert visible_text(settled) == (
        f"`{lease.id}` (2 x A100-80GB) waits for nobody any more; what came of it is in a message below"
    )
    assert visible_text(decided).startswith(f"*Approved:* your request `{lease.id}`")
