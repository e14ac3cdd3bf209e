"""The story that `lessor demo` plays: one lease from the question to proven deletion, one request that is
denied, and one lease whose GPU falls idle.

Everything is done as people do it, in the Slack sandbox; everything is checked where it happened: in the ledger, in
Temporal and in AWS.
"""

from __future__ import annotations

import asyncio
from typing import Any

from bot.ids import Do
from lessor.domain.lease import State
from lessor.domain.request import spell
from lessor.domain.resource import Kind
from lessor.sandbox.demo_evidence import Evidence
from lessor.sandbox.demo_idle import IdleStory
from lessor.sandbox.demo_play import Step, StepFailedError
from lessor.sandbox.demo_players import EVER, Players, expect, inputs, lease_of, submit
from lessor.sandbox.slack import SandboxClient, action_ids, visible_text

Json = dict[str, Any]

LENGTH = "18s"
EXTENSION = "8s"
PURPOSE = "Fine-tune the speech model on the new recordings"
REASON = "The budget of this quarter is spent; ask again in January"


class Story:
    """Holds what one step leaves for the next: who takes part, and the ids of the leases."""

    def __init__(self, slack: SandboxClient, evidence: Evidence) -> None:
        self._evidence = evidence
        self._players = Players(slack)
        self._idle = IdleStory(self._players, evidence)
        self.lease_id = ""
        self.denied_id = ""

    def steps(self) -> tuple[Step, ...]:
        """Every step with its time limit in seconds; the limits leave room for a slow machine."""
        return (
            Step("ask", 60, self._ask),
            Step("policy", 60, self._policy),
            Step("approve, clicked twice", 60, self._approve),
            Step("finance approves as well", 60, self._approve_costs),
            Step("provision", 60, self._provision),
            Step("propose less", 60, self._propose),
            Step("deny another request", 60, self._deny),
            self._idle.ask(),
            Step("warn", 60, self._warn),
            Step("extend", 60, self._extend),
            *self._idle.steps(),
            Step("expire and stop", 90, self._stop),
            Step("grace, then delete", 60, self._delete),
            Step("verify that nothing is left", 60, self._verify),
            Step("audit", 60, self._audit),
        )

    async def _ask(self) -> str:
        self.lease_id = await self._players.request(PURPOSE, LENGTH, "L4", 4)
        return f"requester asked for 4 x L4 in a form of /gpu request: {self.lease_id}"

    async def _policy(self) -> str:
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.state is not State.REQUESTED)
        expect(lease.state is State.AWAITING_APPROVAL, f"the request is {lease.state.value}, not awaiting approval")
        if lease.quote is None or lease.decision is None:
            raise StepFailedError("the request has no quote or no decision of the policy on record")
        offer = lease.quote.offer
        why = ", ".join(reason.text for reason in lease.decision.reasons)
        expect(len(lease.steps) == 2, f"{len(lease.steps)} steps of approval are asked for, not two")
        return f"{offer.instance_type} at {offer.hourly or 'an unknown price'} an hour; two have to approve: {why}"

    async def _approve(self) -> str:
        card = await self._players.card(self._players.manager, self.lease_id)
        clicks = await asyncio.gather(*(self._players.manager.click(card, Do.APPROVE) for _ in range(2)))
        expect(all(click["acked"] for click in clicks), "a click was not acknowledged in time")
        await self._evidence.lease_when(self.lease_id, lambda lease: lease.steps[0].done)
        await self._players.manager.wait_for_message(self._decided_card(self.lease_id), timeout=EVER)
        approvals = (await self._evidence.happened(self.lease_id)).count("approval-given")
        expect(approvals == 1, f"two clicks made {approvals} approvals")
        return "manager clicked Approve twice: one approval on record, the card has lost its buttons"

    async def _approve_costs(self) -> str:
        await self._players.finance.click(await self._players.card(self._players.finance, self.lease_id), Do.APPROVE)
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.decided_at is not None)
        voters = [vote.by for step in lease.steps for vote in step.votes]
        expect(len(set(voters)) == 2, f"approved by {', '.join(voters)}")
        return "asked after the manager; the second approval decided"

    async def _provision(self) -> str:
        lease = await self._evidence.lease_when(
            self.lease_id, lambda lease: lease.state in (State.ACTIVE, State.FAILED, State.WAITING_FOR_CAPACITY)
        )
        expect(lease.state is State.ACTIVE, f"the lease is {lease.state.value}: {lease.problem or lease.capacity}")
        instance = await self._evidence.instance_when(self.lease_id, "running")
        owned = [resource.id for resource in lease.resources if resource.kind is Kind.INSTANCE]
        expect(owned == [instance["id"]], f"the ledger has {owned}, AWS runs {instance['id']}")
        await self._players.requester.wait_for_message(lambda told: lease.access in visible_text(told), timeout=EVER)
        return f"{instance['id']} runs in {instance['zone']}; requester was told how to get in"

    async def _propose(self) -> str:
        self.denied_id = await self._players.request("Four more, just in case", LENGTH, "A10G", 4)
        await self._players.manager.click(await self._players.card(self._players.manager, self.denied_id), Do.COUNTER)
        form = await self._players.manager.wait_for_view(lambda view: "count" in inputs(view), timeout=EVER)
        await submit(self._players.manager, form, {"count": "1", "reason": "One is enough to try it"})
        proposed = await self._players.requester.wait_for_message(
            lambda told: lease_of(told, Do.DECLINE) == self.denied_id, timeout=EVER
        )
        await self._players.requester.click(proposed, Do.DECLINE)
        lease = await self._evidence.lease_when(self.denied_id, lambda lease: lease.counter is None)
        happened = await self._evidence.happened(self.denied_id)
        expect({"countered", "changes-declined"} <= set(happened), f"on record is only: {', '.join(happened)}")
        expect(lease.gpus == 4, f"the request is for {lease.gpus} GPUs now")
        return f"{self.denied_id}: manager would approve one of four GPUs, requester kept the request"

    async def _deny(self) -> str:
        card = await self._players.card(self._players.manager, self.denied_id)
        await self._players.manager.click(card, Do.DENY)
        form = await self._players.manager.wait_for_view(lambda view: bool(inputs(view)), timeout=EVER)
        await submit(self._players.manager, form, {inputs(form)[0]: REASON})
        await self._players.requester.wait_for_message(
            lambda told: self.denied_id in visible_text(told) and REASON in visible_text(told), timeout=EVER
        )
        outcome = await self._evidence.outcome(self.denied_id)
        expect(outcome.state == State.DENIED.value, f"{self.denied_id} ended as {outcome.state}")
        expect(not await self._evidence.instances(self.denied_id), f"AWS has an instance of {self.denied_id}")
        return f"{self.denied_id}: manager gave the reason, requester read it, nothing was created"

    async def _warn(self) -> str:
        told = await self._warning()
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: bool(lease.warned))
        expect(Do.RELEASE.value in action_ids(told), "the warning offers no early release")
        return f"{spell(lease.warned[0].before)} before the end, by {lease.warned[0].via}"

    async def _extend(self) -> str:
        before = await self._evidence.lease_when(self.lease_id, lambda _lease: True)
        await self._players.requester.click(await self._warning(), Do.EXTEND)
        form = await self._players.requester.wait_for_view(lambda view: bool(inputs(view)), timeout=EVER)
        await submit(self._players.requester, form, {inputs(form)[0]: EXTENSION})
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.extensions == 1)
        if lease.ends_at is None or before.ends_at is None:
            raise StepFailedError("the lease has no end")
        expect(lease.ends_at > before.ends_at, "the end has not moved")
        return f"requester clicked Extend in the warning: {spell(lease.ends_at - before.ends_at)} more"

    async def _stop(self) -> str:
        lease = await self._evidence.lease_when(
            self.lease_id, lambda lease: lease.state in (State.STOPPED, State.DELETING, State.CLOSED)
        )
        if lease.stopped_at is None or lease.ends_at is None:
            raise StepFailedError(f"the lease went to {lease.state.value} without a stop")
        early = lease.ends_at - lease.stopped_at
        expect(early.total_seconds() <= 0, f"it was stopped {spell(early)} before its end")
        expect(bool(lease.warned), "it was stopped without a delivered warning for the end that held")
        return (
            f"warned again, then stopped {spell(-early)} after its end; the disk is kept for {spell(lease.terms.grace)}"
        )

    async def _delete(self) -> str:
        instance = await self._evidence.instance_when(self.lease_id, "terminated")
        lease = await self._evidence.lease_when(self.lease_id, lambda lease: lease.deleting_at is not None)
        if lease.stopped_at is None or lease.deleting_at is None:
            raise StepFailedError("the record has no time of the stop or of the deletion")
        waited = lease.deleting_at - lease.stopped_at
        expect(waited >= lease.terms.grace, f"it was deleted after {spell(waited)}, within the grace")
        return f"{spell(waited)} after the stop; AWS says that {instance['id']} is terminated"

    async def _verify(self) -> str:
        outcome = await self._evidence.outcome(self.lease_id)
        expect(outcome.state == State.CLOSED.value, f"the workflow ended as {outcome.state}")
        released = await self._evidence.outcome(self._idle.lease_id)
        expect(released.state == State.CLOSED.value, f"{self._idle.lease_id} ended as {released.state}")
        left = [one for lease in (self.lease_id, self._idle.lease_id) for one in await self._evidence.leftovers(lease)]
        expect(left == [], f"AWS still has {', '.join(one['id'] for one in left)}")
        await self._players.requester.wait_for_message(
            lambda told: self.lease_id in visible_text(told) and outcome.proof in visible_text(told), timeout=EVER
        )
        return f"AWS has nothing left; cost {outcome.cost}; {outcome.proof}"

    async def _audit(self) -> str:
        report = await self._evidence.audit()
        expect(not report.problems, f"the ledger's chain is broken: {'; '.join(report.problems)}")
        length = await self._evidence.history_length(self.lease_id)
        return f"the ledger's chain of {report.events} events is whole; {length} events in Temporal's history"

    def _decided_card(self, lease_id: str) -> Any:
        return lambda told: lease_id in visible_text(told) and Do.APPROVE.value not in action_ids(told)

    async def _warning(self) -> Json:
        return await self._players.requester.wait_for_message(
            lambda told: lease_of(told, Do.KEEP) == self.lease_id, timeout=EVER
        )
