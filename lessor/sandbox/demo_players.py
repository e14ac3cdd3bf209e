"""Who takes part in the demo, and what they do again and again: ask in the form, send a form, find a card."""

from __future__ import annotations

from typing import Any

from bot.ids import Do
from lessor.sandbox.demo_play import StepFailedError
from lessor.sandbox.slack import SandboxClient, Somebody, action_ids

Json = dict[str, Any]

EVER = 600.0
"""Waits inside a step are limited by the step."""


class Players:
    """The people of the story; remembers which requests they made."""

    def __init__(self, slack: SandboxClient) -> None:
        self.requester = slack.person("requester")
        self.manager = slack.person("manager")
        self.finance = slack.person("finance")
        self._known: set[str] = set()

    async def request(self, purpose: str, length: str, model: str, count: int) -> str:
        """Ask in the form as the requester; the id of the lease that waits for a decision now."""
        await self.send_wish(purpose, length, model, count)
        waiting = await self.requester.wait_for_message(
            lambda told: Do.WITHDRAW.value in action_ids(told) and lease_of(told, Do.WITHDRAW) not in self._known,
            timeout=EVER,
        )
        lease_id = lease_of(waiting, Do.WITHDRAW)
        self._known.add(lease_id)
        return lease_id

    async def send_wish(self, purpose: str, length: str, model: str, count: int) -> None:
        """Fill in the form as the requester, and send it."""
        await self.requester.command("/gpu", "request")
        form = await self.requester.wait_for_view(lambda view: "wish-purpose" in inputs(view), timeout=EVER)
        wish = {"wish-team": "research", "wish-model": model, "wish-count": str(count), "wish-place": "aws-us"}
        await submit(self.requester, form, {**wish, "wish-end": length, "wish-purpose": purpose})

    async def card(self, person: Somebody, lease_id: str) -> Json:
        """The card on which the person may approve."""
        return await person.wait_for_message(lambda told: lease_of(told, Do.APPROVE) == lease_id, timeout=EVER)


async def submit(person: Somebody, form: Json, values: Json) -> None:
    """Send a form. Raises `StepFailedError` when it is refused."""
    answer = await person.submit_view(values, form)
    if answer["errors"] or not answer["acked"]:
        raise StepFailedError(f"the form was refused: {answer['errors'] or answer.get('error')}")


def expect(holds: bool, otherwise: str) -> None:
    """Raise `StepFailedError` with what was seen instead, unless it holds."""
    if not holds:
        raise StepFailedError(otherwise)


def inputs(view: Json) -> list[str]:
    """Action ids of the fields of a form, in order; empty for a view that only says something."""
    return [block["element"]["action_id"] for block in view.get("blocks", ()) if block["type"] == "input"]


def lease_of(message: Json, action: Do) -> str:
    """The lease id that the message's button of this action carries; empty when it has none."""
    for block in message.get("blocks", ()):
        for element in block.get("elements", ()) if block["type"] == "actions" else ():
            if element["action_id"] == action.value:
                return str(element["value"])
    return ""
