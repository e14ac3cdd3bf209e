"""Messages that did not get through at first: each is tried on for a day beside everything else."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from lessor.contracts import Delivery, Notice, NotifyInput, PageInput

KEPT_FOR = timedelta(days=1)
"""How long a message is tried on: an outage is over by then."""

KEPT_AT_THE_END = timedelta(hours=2)
"""The same where nothing else is left to do: what is found again later is taken down by a run that waits for this."""

_TROUBLE = (Notice.BLOCKED, Notice.HELD_UP, Notice.STOP_FAILED, Notice.RESUME_FAILED, Notice.UNFIT)
_ASKING = (Notice.REMINDER, Notice.ESCALATED)

OVERTAKES = {
    Notice.DECIDED: (Notice.REQUEST, Notice.COUNTERED, Notice.QUESTION, *_ASKING, *_TROUBLE),
    Notice.EXTENSION_DECIDED: (Notice.EXTENSION_ASKED, *_ASKING),
    Notice.CLOSED: _TROUBLE,
    Notice.FAILED: _TROUBLE,
    Notice.STOPPED: (Notice.STOP_FAILED,),
    Notice.RESTORED: (Notice.STOPPED,),
    Notice.RESUMED: (Notice.SUSPENDED, Notice.PAUSED, Notice.RESUME_FAILED),
}
"""What nobody has to hear late, besides an earlier message of the same kind, once these are on their way."""

Message = NotifyInput | PageInput


class Late:
    """Holds one message of each kind. `settled` takes each in the end, with why nobody heard it, if nobody did."""

    def __init__(self, settled: Callable[[Message, str], Awaitable[None]]) -> None:
        self._settled = settled
        self._tries: dict[str, tuple[Message, asyncio.Task[None]]] = {}
        self._settling = 0

    @property
    def settling(self) -> bool:
        """Whether the end of one is being recorded; the run may not end meanwhile."""
        return self._settling > 0

    @property
    def waiting(self) -> tuple[Message, ...]:
        """Those that the next run has to go on with."""
        return tuple(message for message, _ in self._tries.values())

    def take(self, wanted: Message, lasting: timedelta) -> None:
        """Try this on for so long, or until when it says, in the place of an earlier one of its kind."""
        self._drop(kind(wanted))
        kept = replace(wanted, until=wanted.until or workflow.now() + lasting)
        self._tries[kind(kept)] = (kept, asyncio.create_task(self._try(kept)))

    def overtake(self, by: Notice) -> None:
        """Stop trying what a newer message makes pointless."""
        for one in (by, *OVERTAKES.get(by, ())):
            self._drop(one.value)

    def _drop(self, one: str) -> None:
        if one in self._tries:
            self._tries.pop(one)[1].cancel()

    async def _try(self, wanted: Message) -> None:
        problem = await unheard(wanted)
        if self._tries.get(kind(wanted), (None,))[0] is not wanted:
            return
        # Taken out first: what is being recorded must not be cut off when a newer one of its kind comes.
        del self._tries[kind(wanted)]
        self._settling += 1
        try:
            await self._settled(wanted, problem)
        finally:
            self._settling -= 1


async def send(wanted: Message) -> Delivery:
    """One message. Raises `ActivityError` when its tries are used up."""
    return await (calls.page(wanted) if isinstance(wanted, PageInput) else calls.notify(wanted))


async def unheard(wanted: Message) -> str:
    """Why nobody heard it; empty when somebody did."""
    try:
        return without(await send(wanted))
    except ActivityError as error:
        return calls.reason(error)


def without(delivery: Delivery) -> str:
    """Why nobody was reached; empty when somebody was."""
    return "" if delivery.delivered else delivery.problem or "nobody could be reached"


def may_pass(error: ActivityError) -> bool:
    """Whether it failed by what an outage does, not for good."""
    return not (isinstance(error.cause, ApplicationError) and error.cause.non_retryable)


def kind(wanted: Message) -> str:
    """What a newer message has in common with the one that it takes the place of."""
    return f"{wanted.alarm.value} {wanted.subject}" if isinstance(wanted, PageInput) else wanted.notice.value
