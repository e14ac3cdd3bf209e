"""`LeaseWorkflow`: one per lease, from request to closed. Takes people's acts, and lives through `Life`."""

import asyncio

from temporalio import workflow

from workflows.entity import Entity, outcome, without_request

with workflow.unsafe.imports_passed_through():
    from lessor import contracts
    from lessor.contracts import LeaseInput, LeaseOutcome


@workflow.defn(name=contracts.LEASE_WORKFLOW)
class LeaseWorkflow(Entity):
    """The entity of one lease. Updates are people's acts; each has one effect, whatever is redelivered."""

    @workflow.init
    def __init__(self, start: LeaseInput) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: LeaseInput) -> LeaseOutcome:
        """Live until final. A cancel request is an order that the life carries out; it never cuts a clean-up short."""
        if start.lease is None and start.request is None:
            raise without_request(start.lease_id)
        courier = asyncio.create_task(self._courier.run(lambda: self._over))
        life = asyncio.create_task(self._live())
        for task in (life, courier):
            while not task.done():
                try:
                    await workflow.wait_condition(task.done)
                except asyncio.CancelledError:
                    self._life.cancelled = True
            task.result()
        if not self._book.lease.final:
            workflow.continue_as_new(self._next_run())
        return outcome(self._book.lease)

    async def _live(self) -> None:
        """Until final, or until the next run can take over: whoever acts meanwhile is answered, and life goes on."""
        try:
            await self._book.flush()
            while not (self._life.finished and self._at_rest()):
                await self._life.run()
                await workflow.wait_condition(lambda: self._at_rest() or not self._life.finished)
        finally:
            self._over = True

    def _at_rest(self) -> bool:
        """Whether nobody waits for an answer or a message of this run."""
        return workflow.all_handlers_finished() and self._courier.idle
