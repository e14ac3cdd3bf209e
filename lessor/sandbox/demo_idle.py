"""The part of the demo in which GPUs do nothing: their owner is warned with the evidence, says that they use it, and is
left alone.
"""

from __future__ import annotations

import re
from typing import Any

from bot.ids import Do
from lessor.domain.ladder import Rung
from lessor.domain.lease import State
from lessor.domain.request import spell, to_the_minute
from lessor.sandbox.demo_evidence import Evidence
from lessor.sandbox.demo_play import Step, StepFailedError
from lessor.sandbox.demo_players import EVER, Players, expect, inputs, lease_of, submit
from lessor.sandbox.slack import action_ids, visible_text

Json = dict[str, Any]

MODEL = "V100-16GB"
LEASE = re.compile(r"gpu-[0-9a-z]{8}")
PURPOSE = "Serve the new model to the testers"
REASON = "The testers begin in half an hour"


class IdleStory:
    """One more lease, approved by the policy, whose GPU falls idle; `lease_id` is known once it was asked for."""

    def __init__(self, players: Players, evidence: Evidence) -> None:
        self._players = players
        self._evidence = evidence
        self.lease_id = ""

    def ask(self) -> Step:
        return Step("ask for a small one", 60, self._ask)

    def steps(self) -> tuple[Step, ...]:
        return (
            Step("GPUs fall idle, the owner is warned", 90, self._warn),
            Step("say that it is used", 60, self._snooze),
            Step("release it", 60, self._release),
        )

    async def _ask(self) -> str:
        await self._players.send_wish(PURPOSE, "1h", MODEL, 1)
        told = await self._players.requester.wait_for_message(
            lambda told: f"1 x {MODEL}" in visible_text(told), timeout=EVER
        )
        found = LEASE.search(visible_text(told))
        if found is None:
            raise StepFailedError(f"the answer names no lease: {visible_text(told)}")
        self.lease_id = found[0]
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.decided_at is not None)
        expect(not lease.steps, "somebody was asked about it, although the policy approves it")
        return f"{self.lease_id}: the policy approves a single older GPU by itself"

    async def _warn(self) -> str:
        await self._evidence.lease_when(self.lease_id, lambda lease: lease.state is State.ACTIVE)
        instance = await self._evidence.instance_when(self.lease_id, "running")
        await self._evidence.gpus_do(instance["id"], use="idle")
        warning = await self._warning()
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: bool(lease.idle and lease.idle.told))
        if lease.idle is None or lease.idle.told[0].rung is not Rung.WARN:
            raise StepFailedError("the lease does not know that it was warned")
        seen = lease.idle.evidence
        expect(seen.peak_engine == 0.0, f"the evidence says that the engine was active: {seen.peak_engine}")
        expect(seen.idle_gpus == seen.gpus == 1, f"{seen.idle_gpus} of {seen.gpus} GPUs are said to be idle")
        pictures = [block for block in warning["blocks"] if block["type"] == "image"]
        expect(len(pictures) == 1, "the warning has no picture of what the GPU did")
        after = lease.idle.told[0].at - seen.since
        return f"{spell(after)} after it fell idle, by {lease.idle.told[0].via}, with its figures as a picture"

    async def _snooze(self) -> str:
        requester = self._players.requester
        await requester.click(await self._warning(), Do.SNOOZE)
        form = await requester.wait_for_view(lambda view: "reason" in inputs(view), timeout=EVER)
        await submit(requester, form, {"reason": REASON})
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.snooze is not None)
        if lease.snooze is None:
            raise StepFailedError("the answer is not on record")
        await requester.wait_for_message(self._settled, timeout=EVER)
        instance = await self._evidence.instance_when(self.lease_id, "running")
        await self._evidence.gpus_do(instance["id"], use="busy")
        after = await self._evidence.lease_when(self.lease_id, lambda lease: lease.idle is None)
        happened = await self._evidence.happened(self.lease_id)
        expect("idle-cleared" in happened, f"on record is only: {', '.join(happened)}")
        expect(after.state is State.ACTIVE, f"the lease is {after.state.value}, although somebody uses it")
        alone = to_the_minute(lease.snooze.until - lease.snooze.at)
        return f"requester gave a reason and {spell(alone)}; the card has lost its buttons, then the GPU worked again"

    async def _release(self) -> str:
        ready = await self._players.requester.wait_for_message(
            lambda told: lease_of(told, Do.RELEASE) == self.lease_id, timeout=EVER
        )
        await self._players.requester.click(ready, Do.RELEASE)
        await self._evidence.lease_when(self.lease_id, lambda lease: lease.state is not State.ACTIVE)
        return "requester gave it back before its end"

    async def _warning(self) -> Json:
        return await self._players.requester.wait_for_message(
            lambda told: lease_of(told, Do.SNOOZE) == self.lease_id, timeout=EVER
        )

    def _settled(self, told: Json) -> bool:
        return REASON in visible_text(told) and self.lease_id in visible_text(told) and not action_ids(told)
