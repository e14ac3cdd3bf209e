"""A meter whose word is written by the test: what it tells a lease, and what it finds when a lease asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity

from activities.meter import MeterActivities
from lessor.contracts import Clearance, LeaseRef, Metered
from lessor.domain.idle import Evidence, IdleTerms, Verdict


@dataclass
class Script:
    """`verdict` is what every look finds, since `since`; `against` is what stands against a stop. `fail` holds errors,
    `before` what is awaited before an answer, by the name of the activity."""

    verdict: Verdict = Verdict.IDLE
    since: datetime | None = None
    terms: IdleTerms = field(default_factory=IdleTerms)
    against: str = ""
    missed: int = 0
    fail: dict[str, list[Exception]] = field(default_factory=dict)
    before: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def look_again(self) -> Metered:
        await self._enter("look_again")
        return self.word(activity.info().started_time)

    async def clear_to_stop(self) -> Clearance:
        await self._enter("clear_to_stop")
        found = self.word(activity.info().started_time)
        idle = found.evidence.verdict in (Verdict.IDLE, Verdict.HELD)
        why = self.against if idle else f"another look found it {found.evidence.verdict.value}"
        return Clearance(not why, why, found)

    def word(self, at: datetime, **changes: Any) -> Metered:
        found = Evidence(self.verdict, self.since or at, at, gpus=1, idle_gpus=1, covered=1.0, missed=self.missed)
        return Metered(replace(found, **changes), self.terms)

    def told(self, at: datetime, verdict: Verdict = Verdict.IDLE, **changes: Any) -> Metered:
        """From now on it is so, and this is how the meter tells it. Since when: an hour ago, if it is idle."""
        ago = timedelta(hours=1) if verdict in (Verdict.IDLE, Verdict.HELD) else timedelta()
        self.verdict, self.since = verdict, at - ago
        return self.word(at, **changes)

    async def _enter(self, name: str) -> None:
        self.calls.append(name)
        if name in self.before:
            await self.before[name]()
        if self.fail.get(name):
            raise self.fail[name].pop(0)


class SteeredMeter(MeterActivities):
    """The real meter, but for what leases ask while there is a script."""

    def __init__(self, script: Callable[[], Script | None], *ports: Any) -> None:
        super().__init__(*ports)
        self._script = script

    @activity.defn
    async def look_again(self, ref: LeaseRef) -> Metered:
        script = self._script()
        return await script.look_again() if script else await super().look_again(ref)

    @activity.defn
    async def clear_to_stop(self, ref: LeaseRef) -> Clearance:
        script = self._script()
        return await script.clear_to_stop() if script else await super().clear_to_stop(ref)
