"""When stops for being idle are held back everywhere: what looks like our own mistake must not cost anybody's work.

The checks are made once for each tick, over the whole fleet (law 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import floor

from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.ladder import Brake
from lessor.domain.lease import Lease, minute

BY = "lessor"
"""Who puts the brake on where nobody did."""

WITHIN = timedelta(hours=1)
"""The time in which no more than the share may be stopped."""

WORD_HOLDS = timedelta(hours=24)
"""How long after a person took the brake off the share alone does not put it on again: only so many stop in an hour."""

AT_ONCE = 0.5
"""More than this share of the leases that worked, silent in one tick, is no coincidence."""

_SPELLED = re.compile(
    r"the brake is on(?: since (?P<at>\d{4}-\d\d-\d\d \d\d:\d\d) UTC)?, by (?P<by>\S*): (?P<reason>.*)", re.DOTALL
)

REMEDY = "an administrator has to look at this; `lessor brake off REASON` takes it off"


@dataclass(frozen=True)
class BrakeTerms:
    """More than `share` of the fleet and at least `least` leases are too many at once; fewer than `least` never are."""

    share: float = 0.2
    least: int = 5

    def most(self, fleet: int) -> int:
        """How many of so many leases may be stopped within an hour."""
        return max(floor(self.share * fleet), self.least - 1)


def spelled(brake: Brake) -> str:
    """Why nothing is stopped while it is on, in words."""
    since = f" since {minute(brake.at)}" if brake.at else ""
    return f"the brake is on{since}, by {brake.by}: {brake.reason}"


def heard(words: str) -> Brake | None:
    """The brake that `spelled` told of, for readers who know people by name and times by their own clock.

    `None` where the words tell of something else.
    """
    found = _SPELLED.fullmatch(words)
    if found is None:
        return None
    at = datetime.strptime(found["at"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC) if found["at"] else None
    return Brake(True, found["by"], at, found["reason"])


def stops_at(lease: Lease, standing: Standing, terms: IdleTerms) -> datetime | None:
    """When an idle lease would be stopped at the earliest; `None` when it is not idle or is not stopped for that."""
    spared = lease.spared is not None and (lease.spared.until is None or standing.at < lease.spared.until)
    if spared or lease.pause or not terms.stops or not lease.stoppable or (lease.volatile and not lease.consent):
        return None
    if standing.verdict not in (Verdict.IDLE, Verdict.HELD):
        return None
    length = terms.held_stop if standing.verdict is Verdict.HELD else terms.stop
    at = standing.since + length
    return max(at, lease.snooze.until) if lease.snooze else at


def too_many(stops: Iterable[datetime | None], fleet: int, terms: BrakeTerms, brake: Brake, at: datetime) -> str:
    """Why so many stops within an hour are not ours to make; empty when they are few, or a person let them go on."""
    if not brake.on and brake.by not in ("", BY) and brake.at and at - brake.at < WORD_HOLDS:
        return ""
    count = sum(stop is not None and stop <= at + WITHIN for stop in stops)
    if count <= terms.most(fleet):
        return ""
    return f"{count} of {fleet} leases would be stopped as idle within an hour; nothing is stopped, {REMEDY}"


def all_at_once(
    before: Mapping[str, Standing], now: Iterable[Standing], silenced: Iterable[str], terms: BrakeTerms
) -> str:
    """Why it cannot be believed that so many leases went quiet in one tick.

    `silenced` are leases whose source gave no answer: that is known, and they are not stopped anyway.
    """
    busy = {lease_id for lease_id, one in before.items() if one.verdict is Verdict.BUSY} - set(silenced)
    still = {one.lease_id: one.verdict for one in now if one.lease_id in busy}
    quiet = sum(verdict not in (Verdict.BUSY, Verdict.WARMING_UP) for verdict in still.values())
    if quiet < terms.least or quiet <= AT_ONCE * len(still):
        return ""
    return f"{quiet} of {len(still)} leases that worked went quiet in one tick; nothing is stopped, {REMEDY}"
