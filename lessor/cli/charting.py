"""`lessor usage ID --chart FILE`: what a lease was seen doing as a picture, or as its Vega-Lite definition."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lessor.charts import KINDS, draw, figures, frame_of
from lessor.cli.browsing import lease_id
from lessor.cli.output import tell
from lessor.cli.session import DONE, Session
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person

if TYPE_CHECKING:
    from lessor.gateway import Gateway

SAMPLES = timedelta(hours=24)
"""Single samples are shown so far back; what was before is shown by the hour."""


async def save_chart(session: Session, gateway: Gateway, person: Person, text: str, hours: int, target: Path) -> int:
    """Write the chart of the last hours; the name's ending says as what. Raises `Refused` where there is nothing."""
    kind = target.suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise Refused("no-format", f"'{target.name[-40:]}' ends in no format; use one of {', '.join(KINDS)}")
    lease, now = await gateway.lease(lease_id(text)), session.now()
    begin = _begin(lease, now, hours)
    seen = await gateway.meter.seen(lease.id, max(begin, now - SAMPLES), now + timedelta(seconds=1))
    shown = figures(frame_of(lease, begin, now, person.tz), seen, await gateway.meter.usage(lease.id, begin, now))
    if not shown["points"] and not shown["hours"]:
        raise Refused("not-metered", f"nothing is on record of what {lease.id} did in the last {_spelled(hours)}")
    drawn = await asyncio.to_thread(draw, shown, kind)
    await asyncio.to_thread(_write, target, drawn)
    facts = {"id": lease.id, "file": str(target), "bytes": len(drawn), "since": begin.isoformat()}
    tell(session.as_json, facts, f"{target}: what {lease.id} was seen doing in the last {_spelled(hours)}")
    return DONE


def _begin(lease: Lease, now: datetime, hours: int) -> datetime:
    """Not before the lease was ready, since nothing was seen of it then; with its whole first hour if that is a bar."""
    asked, ready = now - timedelta(hours=hours), lease.ready_at
    if ready is None:
        return asked
    return max(asked, ready if ready > now - SAMPLES else ready.replace(minute=0, second=0, microsecond=0))


def _spelled(hours: int) -> str:
    return "hour" if hours == 1 else f"{hours} hours"


def _write(target: Path, content: bytes) -> None:
    try:
        target.write_bytes(content)
    except OSError as error:
        raise Refused("not-written", f"{target} cannot be written ({error.strerror}); choose another file") from error
