"""The updates of a lease's workflow: one for each verb, so that the Temporal UI and its history name what was done."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from lessor import retries
    from lessor.contracts import Act, Answer, Verb
    from workflows.acts import malformed


class ActUpdates:
    """People's acts as updates. The workflow that mixes this in says in `_act` what an act does."""

    async def _act(self, act: Act) -> Answer:
        raise NotImplementedError

    def _renewing(self) -> bool:
        """Whether this run takes no more acts, so that the next one can begin."""
        raise NotImplementedError

    @workflow.update(name=Verb.APPROVE)
    async def approve(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.DENY)
    async def deny(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.WITHDRAW)
    async def withdraw(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.COUNTER)
    async def counter(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.ACCEPT)
    async def accept(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.DECLINE)
    async def decline(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.REVISE)
    async def revise(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.ASK)
    async def ask(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.REPLY)
    async def reply(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.EXTEND)
    async def extend(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.GRANT)
    async def grant(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.REJECT)
    async def reject(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.SHORTEN)
    async def shorten(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.EXEMPT)
    async def exempt(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.RELEASE)
    async def release(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.KEEP)
    async def keep(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.RESTORE)
    async def restore(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.TRANSFER)
    async def transfer(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.TAKE)
    async def take(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.SHARE)
    async def share(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.UNSHARE)
    async def unshare(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.SNOOZE)
    async def snooze(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.DISPUTE)
    async def dispute(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.STOP)
    async def stop(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.START)
    async def start(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.CONSENT)
    async def consent(self, act: Act) -> Answer:
        return await self._act(act)

    @workflow.update(name=Verb.SPARE)
    async def spare(self, act: Act) -> Answer:
        return await self._act(act)

    @approve.validator
    @deny.validator
    @withdraw.validator
    @counter.validator
    @accept.validator
    @decline.validator
    @revise.validator
    @ask.validator
    @reply.validator
    @extend.validator
    @grant.validator
    @reject.validator
    @shorten.validator
    @exempt.validator
    @release.validator
    @keep.validator
    @restore.validator
    @transfer.validator
    @take.validator
    @share.validator
    @unshare.validator
    @snooze.validator
    @dispute.validator
    @stop.validator
    @start.validator
    @consent.validator
    @spare.validator
    def check(self, act: Act) -> None:
        """Refuse what cannot even be tried; a refusal here leaves no history."""
        problem = malformed(act)
        if problem:
            raise ApplicationError(problem, type=retries.ErrorType.REFUSED, non_retryable=True)
        if self._renewing():
            raise ApplicationError("the next run takes it; ask again", type=retries.ErrorType.RENEWING)
