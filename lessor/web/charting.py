"""The chart of a lease for its page: the same definition as in Slack and in files, drawn as lines."""

from __future__ import annotations

from datetime import datetime, timedelta

from lessor.charts import Figures, figures, frame_of
from lessor.domain.lease import Lease
from lessor.gauging import Gauging

SHOWN = timedelta(hours=24)
SAMPLES = timedelta(hours=6)
"""How far back single samples are shown; what was before is shown by the hour."""


async def shown_of(meter: Gauging, lease: Lease, zone: str, now: datetime) -> Figures | None:
    """What it did in the last day of its life, on the clock of `zone`; `None` where nothing was measured."""
    end = min(now, lease.closed_at) if lease.closed_at else now
    begin = max(end - SHOWN, lease.ready_at) if lease.ready_at else end - SHOWN
    seen = await meter.seen(lease.id, max(begin, end - SAMPLES), end + timedelta(seconds=1))
    drawn = figures(frame_of(lease, begin, end, zone), seen, await meter.usage(lease.id, begin, end))
    return drawn if drawn["points"] or drawn["hours"] else None
