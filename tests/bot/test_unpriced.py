"""Case C28: what has no known price is not approved by one click."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.blocks.buttons import Buttons
from lessor.domain.lease import Lease, State, Wish
from lessor.rendering import slack_renderer
from tests.builders import APPROVED, ENDS, a_lease, a_quote

BUTTONS = Buttons(slack_renderer())
QUESTION = {
    "title": {"type": "plain_text", "text": "Without a price?", "emoji": True},
    "text": {
        "type": "mrkdwn",
        "text": "There is no price for this, so nobody knows what it will cost: it may be much.",
        "verbatim": True,
    },
    "deny": {"type": "plain_text", "text": "Not yet", "emoji": True},
    "style": "primary",
}


def question(label: str) -> dict[str, object]:
    return {**QUESTION, "confirm": {"type": "plain_text", "text": label, "emoji": True}}


def wished(lease: Lease) -> Lease:
    wish = Wish(ENDS + timedelta(days=1), "U0REQUESTER", APPROVED, "a run is left")
    return replace(lease, wish=wish)


def test_C28_approving_an_unknown_price_asks_once_more() -> None:
    [known, *_] = BUTTONS.verdict(a_lease(State.AWAITING_APPROVAL), APPROVED)
    [unknown, *_] = BUTTONS.verdict(a_lease(State.AWAITING_APPROVAL, quote=a_quote(None)), APPROVED)
    assert "confirm" not in known.to_dict()
    assert unknown.to_dict()["action_id"] == known.to_dict()["action_id"] == "approve"
    assert unknown.to_dict()["confirm"] == question("Approve")


def test_C28_so_does_granting_a_later_end() -> None:
    [known, _] = BUTTONS.wish_verdict(wished(a_lease()))
    [unknown, _] = BUTTONS.wish_verdict(wished(a_lease(quote=a_quote(None))))
    assert "confirm" not in known.to_dict()
    assert unknown.to_dict()["confirm"] == question("Grant")
