"""What people should look at, and nothing follows from: GPUs always at their maximum, leases that never fall idle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.judging import name_of
from lessor.domain.tracking import faulty
from lessor.domain.usage import HourUse

NEVER_IDLE = timedelta(days=7)
"""A lease whose GPUs did nothing for so long, and that was never judged idle, is listed (case E17)."""

MEASURED = 0.9
"""The share of that time that has to be on record."""


def at_maximum(standing: Standing, terms: IdleTerms) -> tuple[str, ...]:
    """GPUs that were at their maximum throughout `review_after`, whenever they were seen (case E28)."""
    after = terms.review_after
    if after is None:
        return ()
    return tuple(
        name_of(one)
        for one in standing.tracks
        if one.full_since is not None and standing.at - one.full_since >= after and not faulty(one, standing.at)
    )


def kept_up(standing: Standing, hours: Sequence[HourUse], now: datetime) -> bool:
    """Whether something keeps a lease from being idle that its GPUs have no part in: none of them worked for a week.

    `hours` are its sums of that week; with too few of them nothing can be said.
    """
    if standing.verdict is not Verdict.BUSY or standing.idle_gpus < standing.gpus:
        return False
    week = [one for one in hours if now - NEVER_IDLE <= one.hour < now]
    if len(week) * timedelta(hours=1) < MEASURED * NEVER_IDLE:
        return False
    return not any(one.gpu_busy or one.idle for one in week)
