"""The timings and limits that hold for one lease, copied from the configuration when it was requested."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from lessor.domain.money import Money


class AtCap(StrEnum):
    """What becomes of a lease that has cost what its request said at most."""

    WARN = "warn"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True)
class Terms:
    """A lease keeps the terms that it was requested under, whatever the configuration says later.

    `warnings` are distances before the end; `short_warnings` hold for leases shorter than `short_lease`. `notice` is
    the least time between a delivered warning and the stop (law 4). `capacity_waits` are the pauses between tries.

    `remind_after` (doubling), `escalate_after` and `lapse_after` count the working time of those who are asked, where
    it is known, and time on the clock elsewhere; at most `escalations` levels are asked as well. `step_up` is the
    total from which an approval has to be typed out, `reask_share` the rise of price after which people decide again.

    `auto_extensions` is how many extensions need nobody's approval where the policy has no objection;
    `extension_hold` is how long past its end a lease runs on at most while an extension waits for a decision.
    `suspend_notice` is the least time between the announcement of a stop by the schedule and the stop.
    `offer_after` is how long the lease of somebody who left is offered to each circle of people before the next.
    `at_cap` is what follows when the lease has cost what was asked for at most.
    """

    lapse_after: timedelta = timedelta(hours=24)
    warnings: tuple[timedelta, ...] = (
        timedelta(days=7),
        timedelta(hours=48),
        timedelta(hours=2),
        timedelta(minutes=30),
    )
    short_warnings: tuple[timedelta, ...] = (timedelta(minutes=30), timedelta(minutes=15), timedelta(minutes=5))
    short_lease: timedelta = timedelta(days=1)
    notice: timedelta = timedelta(minutes=5)
    grace: timedelta = timedelta(days=7)
    min_duration: timedelta = timedelta(minutes=15)
    max_total: timedelta = timedelta(days=30)
    capacity_waits: tuple[timedelta, ...] = tuple(timedelta(hours=h) for h in (1, 2, 4, 8))
    provision_limit: timedelta = timedelta(hours=2)
    verify_interval: timedelta = timedelta(seconds=30)
    verify_passes: int = 2
    cleanup_limit: timedelta = timedelta(minutes=30)
    blocked_retry: timedelta = timedelta(minutes=30)
    remind_after: timedelta = timedelta(minutes=15)
    escalate_after: timedelta = timedelta(hours=4)
    escalations: int = 2
    step_up: Money | None = None
    reask_share: Decimal = Decimal("0.10")
    auto_extensions: int = 2
    extension_hold: timedelta = timedelta(hours=24)
    suspend_notice: timedelta = timedelta(minutes=15)
    offer_after: timedelta = timedelta(hours=24)
    at_cap: AtCap = AtCap.STOP
