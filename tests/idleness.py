"""What the meter says of a lease, and leases that are on their way to a stop for being idle.

`SINCE` is when a lease fell idle, an hour after it was ready; it has four days to run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lessor.domain import idling
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import Change, Lease, State
from lessor.domain.worktime import Hours
from tests.builders import READY, a_lease, a_request

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SINCE = READY + HOUR


def an_evidence(verdict: Verdict = Verdict.IDLE, since: datetime = SINCE, **changes: Any) -> Evidence:
    """Eight GPUs of which none did anything since then, as seen an hour later."""
    fields: dict[str, Any] = {"at": since + HOUR, "gpus": 8, "idle_gpus": 8, "covered": 1.0, "peak_engine": 0.0}
    return Evidence(verdict, since, **(fields | changes))


def after(length: timedelta) -> datetime:
    return SINCE + length


def told_idle(
    lease: Lease | None = None,
    verdict: Verdict = Verdict.IDLE,
    since: datetime = SINCE,
    hours: Hours | None = None,
    **terms: Any,
) -> Lease:
    """A lease that was told by the meter, an hour after it fell idle, that it is."""
    lease = lease or a_lease(State.ACTIVE, request=a_request(duration=4 * DAY))
    return idling.metered(lease, an_evidence(verdict, since), IdleTerms(**terms), since + HOUR, hours).lease


def warned(lease: Lease, at: datetime, rung: Rung = Rung.WARN, *, owner: bool = True) -> Lease:
    return idling.warned(lease, rung, "slack:dm", at, owner=owner).lease


def twice_warned(lease: Lease | None = None, **terms: Any) -> Lease:
    """Warned 60 and 105 minutes after it fell idle."""
    lease = warned(lease or told_idle(**terms), after(HOUR))
    return warned(lease, after(105 * MINUTE), Rung.FINAL)


def seen_again(lease: Lease, at: datetime, verdict: Verdict = Verdict.IDLE, **changes: Any) -> Evidence:
    """What another look finds at `at`: the same goes on, or something else since a moment ago."""
    since = lease.idle.evidence.since if lease.idle and verdict in (Verdict.IDLE, Verdict.HELD) else at - MINUTE
    return replace(an_evidence(verdict, since), at=at, **changes)


def types(change: Change) -> list[str]:
    """What a change puts on record."""
    return [event.type for event in change.events]
