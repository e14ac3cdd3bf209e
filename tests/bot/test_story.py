"""A request from the form to the decision, and what people are told of the lease afterwards."""

from __future__ import annotations

from lessor.domain.lease import State
from lessor.sandbox.slack import buttons
from tests.bot.world import World

FORM = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}


async def test_request_approve_and_redraw(world: World) -> None:
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.command("/gpu", "request")
    await requester.wait_for_view("Price:")
    sent = await requester.submit_view(FORM)
    assert (sent["acked"], sent["errors"]) == (True, {})
    await world.settled()
    lease = world.only_lease()
    assert lease.state is State.AWAITING_APPROVAL

    card = await manager.wait_for_message(lease.id, "gpu-approvals")
    assert buttons(card) == ["Approve", "Approve with changes", "Deny", "Ask", "Details"]
    direct = await manager.wait_for_message("GPU request")
    assert buttons(direct) == ["Approve", "Approve with changes", "Deny", "Ask", "Details"]
    await manager.click(direct, "approve")
    await world.settled()
    assert world.only_lease().state is State.APPROVED
    card = await manager.wait_for_message("Approved", "gpu-approvals")
    assert buttons(card) == []
