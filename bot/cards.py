"""The request card: in the approvers' channel and with everybody who can decide now; redrawn wherever it stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from slack_sdk.models.blocks import Block, SectionBlock

from bot.around import NOTHING, Around, Surroundings
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose, markdown, sections
from bot.blocks.text import cut
from bot.facts import PROPOSALS_MOST, facts
from bot.posting import Postman
from bot.proposals import Proposal, suggestions
from bot.reaching import Reach, Recipient
from bot.rounds import Draw, Rounds
from bot.settings import SlackSettings
from bot.telling import gathered, heard
from lessor.contracts import Delivery
from lessor.domain.lease import Lease, State
from lessor.rendering import Renderer

ROUND = "request"
PROPOSAL_MOST = 1_000


class Cards:
    """Posts and redraws the cards of requests, and tells the requester who can decide."""

    def __init__(
        self, postman: Postman, reach: Reach, around: Surroundings, wording: Renderer, settings: SlackSettings
    ) -> None:
        self._postman = postman
        self._reach = reach
        self._around = around
        self._wording = wording
        self._buttons = Buttons(wording)
        self._rounds = Rounds(postman, reach, settings)

    async def ask(self, lease: Lease, now: datetime) -> Delivery:
        """Put the request before those who can decide now. One approver who cannot be reached spoils nothing."""
        if lease.state is State.REQUESTED:
            return Delivery(True, "slack:channel", "it is judged again; the cards follow")
        if lease.state is not State.AWAITING_APPROVAL:
            return await self.decided(lease, now)
        deciders = await self._around.deciders(lease, lease.steps, now)
        around = await self._around.of(lease, lease.steps, deciders, now)
        told = await self._rounds.put(lease, ROUND, deciders, self._draw(lease, now, around), now)
        await self._reach.first(lease, "waits", lambda r: self._waits(lease, now, r, around), now)
        return heard(told)

    async def decided(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw every card without buttons, then tell the requester."""
        await self.settle(lease, now)
        return await self._reach.first(lease, "decided", lambda r: self._outcome(lease, now, r), now)

    async def settle(self, lease: Lease, now: datetime) -> None:
        """Take the buttons from every card and from the notice that it waits."""
        draw = self._draw(lease, now, NOTHING)
        await gathered(self._rounds.redraw(lease, ref, draw) for ref in await self._rounds.standing(lease, ROUND))
        for ref in await self._postman.standing(lease.id, f"{lease.id}/waits/"):
            past = compose(self._wording.parts("waits_past.j2", **facts(lease, now)))
            await self._postman.settle(ref, past)

    def _draw(self, lease: Lease, now: datetime, around: Around) -> Draw:
        def draw(recipient: Recipient, *, decidable: bool = True) -> Message:
            return card(self._wording, lease, now, recipient.zone, around, decidable=decidable)

        return draw

    def _waits(self, lease: Lease, now: datetime, recipient: Recipient, around: Around) -> Message:
        parts = self._wording.parts("waits.j2", zone=recipient.zone, **facts(lease, now, around))
        row = [self._buttons.withdraw(lease.id), self._buttons.details(lease.id)]
        return compose(parts, row, proposals(self._wording, lease, suggestions(lease), "suggested", "use"))

    def _outcome(self, lease: Lease, now: datetime, recipient: Recipient) -> Message:
        return compose(self._wording.parts("decided.j2", zone=recipient.zone, **facts(lease, now)))


def card(
    wording: Renderer, lease: Lease, now: datetime, zone: str, around: Around, *, decidable: bool = True
) -> Message:
    """The card as one reader, or a channel where `zone` is empty, should see it now."""
    parts = wording.parts("card.j2", zone=zone, **facts(lease, now, around))
    if lease.state is not State.AWAITING_APPROVAL:
        return compose(parts)
    buttons = Buttons(wording)
    return compose(parts, buttons.decide(lease, now) if decidable else [buttons.details(lease.id)])


def proposals(wording: Renderer, lease: Lease, found: Sequence[Proposal], heading: str, word: str) -> list[Block]:
    """Under a heading, one section for each of the first proposals with the button that takes it."""
    blocks: list[Block] = []
    buttons = Buttons(wording)
    for one in found[:PROPOSALS_MOST]:
        parts = wording.parts("proposal.j2", one=one)
        text = markdown(cut(parts["title"], PROPOSAL_MOST))
        blocks += [] if blocks else sections(parts[heading])
        blocks.append(SectionBlock(text=text, accessory=buttons.revise(lease.id, one.key, word)))
    return blocks
