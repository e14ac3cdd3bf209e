"""A meter whose word is written by the test: what it tells a lease, and what it finds when a lease asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from temporalio import activity

from lessor import contracts
from lessor.contracts import Clearance, LeaseRef, Metered
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from tests.world import Handle, World, activity_time
from workflows import worker


@dataclass
class ScriptedMeter:
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

    @activity.defn
    async def look_again(self, ref: LeaseRef) -> Metered:
        await self._enter("look_again")
        return self.word(activity_time())

    @activity.defn
    async def clear_to_stop(self, ref: LeaseRef) -> Clearance:
        await self._enter("clear_to_stop")
        found = self.word(activity_time())
        idle = found.evidence.verdict in (Verdict.IDLE, Verdict.HELD)
        why = self.against if idle else f"another look found it {found.evidence.verdict.value}"
        return Clearance(not why, why, found)

    def word(self, at: datetime, **changes: Any) -> Metered:
        found = Evidence(self.verdict, self.since or at, at, gpus=1, idle_gpus=1, covered=1.0, missed=self.missed)
        return Metered(replace(found, **changes), self.terms)

    async def tell(self, world: World, handle: Handle, verdict: Verdict = Verdict.IDLE, **changes: Any) -> datetime:
        """Tell the lease, as the meter does when its verdict changes. Since when it is so: an hour ago, if idle."""
        now = await world.env.get_current_time()
        ago = timedelta(hours=1) if verdict in (Verdict.IDLE, Verdict.HELD) else timedelta()
        self.verdict, self.since = verdict, now - ago
        await handle.signal(contracts.SIGNAL_METERED, self.word(now, **changes))
        return self.since

    async def _enter(self, name: str) -> None:
        self.calls.append(name)
        if name in self.before:
            await self.before[name]()
        if self.fail.get(name):
            raise self.fail[name].pop(0)


def installed(monkeypatch: pytest.MonkeyPatch) -> ScriptedMeter:
    """A meter that answers in every world of this test, instead of the real one."""
    meter, others = ScriptedMeter(), worker._activities_of

    def with_script(name: str, found: worker.Activities) -> Sequence[Callable[..., Any]]:
        own = [meter.look_again, meter.clear_to_stop] if name == "lessor" else []
        names = {one.__name__ for one in own}
        return [*(one for one in others(name, found) if one.__name__ not in names), *own]

    monkeypatch.setattr(worker, "_activities_of", with_script)
    return meter
