"""What programs hear of a lease: CloudEvents 1.0 in structured JSON, with ids and facts and nothing secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.contracts import Notice
from lessor.domain.costing import compute_cost, storage_cost
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.rungs import stops_at

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
TYPE = "dev.lessor.lease."


def cloud_event(
    lease: Lease, notice: Notice, occasion: str, before: timedelta, source: str, now: datetime
) -> dict[str, Any]:
    """The event of one notice. `id` is the business key: whoever has seen it has seen the event.

    Instants are UTC, amounts are text, `null` is unknown or not yet. What a lease is entered with is not told.
    """
    return {
        "specversion": "1.0",
        "id": f"{lease.id}/{occasion}",
        "source": source,
        "type": f"{TYPE}{notice.value}",
        "subject": lease.id,
        "time": _instant(now),
        "datacontenttype": "application/json",
        "data": _data(lease, notice, before, now),
    }


def encoded(event: dict[str, Any]) -> bytes:
    """The event as it is posted and signed."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _data(lease: Lease, notice: Notice, before: timedelta, now: datetime) -> dict[str, Any]:
    request, offer = lease.request, lease.quote.offer if lease.quote else None
    cost = lease.cost(now)
    return {
        "lease": lease.id,
        "state": lease.state.value,
        "revision": lease.revision,
        "owner": lease.owner,
        "co_owners": [one.id for one in lease.co_owners],
        "team": request.team,
        "cost_center": request.cost_center or None,
        "purpose": request.purpose,
        "workload": request.workload.value,
        "market": request.market.value,
        "place": request.place.name,
        "gpus": lease.gpus,
        "gpu_model": lease.model or None,
        "instance_type": offer.instance_type if offer else None,
        "hourly": str(offer.hourly.amount) if offer and offer.hourly else None,
        "cost": str(cost.amount) if cost else None,
        "compute_cost": _amount(compute_cost(lease, now)),
        "storage_cost": _amount(storage_cost(lease, now)),
        "currency": cost.currency if cost else None,
        "decided_by": lease.decided_by or None,
        "ready_at": _instant(lease.ready_at),
        "ends_at": _instant(lease.ends_at),
        "warned_before_seconds": int(before.total_seconds()) if notice is Notice.WARNING else None,
        "idle_since": _instant(lease.idle.evidence.since) if lease.idle else None,
        "idle_stop_at": _instant(stops_at(lease, now)),
        "stopped_for": lease.pause.why.value if lease.pause else None,
        "ending_reason": lease.ending_reason or None,
        "problem": lease.problem or None,
        "left": list(lease.left),
    }


def _amount(money: Money | None) -> str | None:
    return str(money.amount) if money else None


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
