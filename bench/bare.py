"""The floor: workflows that do nothing but what Temporal is asked to do for a lease, step for step.

A script is one letter per step: `r` a remote activity, `l` a local one, `t` a timer that fires, `c` a timer that is
cancelled because an update arrives first, `u` an update that is waited for without a timer. Activities do nothing.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

QUEUE = "bare"
TIMEOUT = timedelta(seconds=60)
TICK = timedelta(milliseconds=20)
LONG = timedelta(days=1)


@activity.defn
def nothing(word: str) -> str:
    """A remote activity on a thread, like the provider's."""
    return word


@activity.defn
def nothing_near(word: str) -> str:
    """A local activity on a thread, like the ledger's."""
    return word


@workflow.defn
class Bare:
    """Plays a script, and answers updates with nothing, with one remote activity or with one local activity."""

    def __init__(self) -> None:
        self._seen = 0
        self._told = 0
        self._over = False

    @workflow.run
    async def run(self, script: str) -> str:
        for step in script:
            if step == "r":
                await workflow.execute_activity(nothing, "x", start_to_close_timeout=TIMEOUT)
            elif step == "l":
                await workflow.execute_local_activity(nothing_near, "x", start_to_close_timeout=TIMEOUT)
            elif step == "t":
                await workflow.sleep(TICK)
            else:
                await self._told_again(LONG if step == "c" else None)
        return script

    @workflow.update
    async def tell(self) -> str:
        self._told += 1
        return "ok"

    @workflow.update
    async def tell_far(self) -> str:
        return await workflow.execute_activity(nothing, "x", start_to_close_timeout=TIMEOUT)

    @workflow.update
    async def tell_near(self) -> str:
        return await workflow.execute_local_activity(nothing_near, "x", start_to_close_timeout=TIMEOUT)

    @workflow.query
    def seen(self) -> int:
        return self._seen

    async def _told_again(self, longest: timedelta | None) -> None:
        await workflow.wait_condition(lambda: self._told > self._seen, timeout=longest)
        self._seen += 1


@workflow.defn
class BareTimer:
    """Plays a script of activities, sleeps until `at` (seconds since 1970), then plays another.

    Its result says how many seconds late it woke up. With a second script it stays open, as a stopped lease does, and
    only the query says so.
    """

    def __init__(self) -> None:
        self._asleep = False
        self._late: float | None = None

    @workflow.run
    async def run(self, before: str, at: float, after: str) -> float:
        await self._play(before)
        self._asleep = True
        await asyncio.sleep(max(at - workflow.now().timestamp(), 0))
        late = workflow.now().timestamp() - at
        await self._play(after)
        self._late = late
        if after:
            await asyncio.sleep(LONG.total_seconds())
        return late

    @workflow.query
    def asleep(self) -> bool:
        return self._asleep

    @workflow.query
    def late(self) -> float | None:
        """How many seconds late it woke up; nothing until it has played its second script."""
        return self._late

    async def _play(self, script: str) -> None:
        for step in script:
            if step == "r":
                await workflow.execute_activity(nothing, "x", start_to_close_timeout=TIMEOUT)
            else:
                await workflow.execute_local_activity(nothing_near, "x", start_to_close_timeout=TIMEOUT)


def script_of(events: Iterable[HistoryEvent]) -> str:
    """The script that asks the same of Temporal as the execution with this history did."""
    events = list(events)
    cancelled = {
        e.timer_canceled_event_attributes.timer_id
        for e in events
        if e.event_type == EventType.EVENT_TYPE_TIMER_CANCELED
    }
    letters = []
    timers = 0
    for event in events:
        kind = event.event_type
        if kind == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            letters.append("r")
        elif kind == EventType.EVENT_TYPE_MARKER_RECORDED:
            if event.marker_recorded_event_attributes.marker_name == "core_local_activity":
                letters.append("l")
        elif kind == EventType.EVENT_TYPE_TIMER_STARTED:
            if event.timer_started_event_attributes.timer_id in cancelled:
                timers += 1
            else:
                letters.append("t")
        elif kind == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
            letters.append("c" if timers else "u")
            timers = max(timers - 1, 0)
    return "".join(letters)
