"""The stable JSON form of what is on record: the same on the command line and over HTTP.

Instants are in UTC, amounts are text, and what is unknown or not yet is `None`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lessor.contracts import MeterReport
from lessor.domain import rungs, storage
from lessor.domain.approval import waiting
from lessor.domain.billing import Storage
from lessor.domain.changes import describe
from lessor.domain.costing import added_cost, compute_cost, storage_cost
from lessor.domain.idle import Standing
from lessor.domain.ladder import Brake
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.records import StoredEvent
from lessor.domain.storage import gib_months
from lessor.domain.usage import HourUse

if TYPE_CHECKING:
    from lessor.gauging import MeterStatus

Facts = dict[str, Any]


def lease_facts(lease: Lease, now: datetime, access: str = "") -> Facts:
    """The stable JSON form of a lease: instants in UTC, amounts as text, `None` for what is unknown or not yet.

    `access` is how to get in, for a reader who may.
    """
    return {
        **_asked(lease),
        **_times(lease),
        **_money(lease, now),
        **_decided(lease),
        "resources": [f"{one.ref} {one.condition.value}" for one in lease.resources],
        "tries": lease.capacity.tries if lease.capacity else 0,
        "tried": list(lease.capacity.tried) if lease.capacity else [],
        "next_try": _iso(next_try(lease)),
        "access": access or None,
        "problem": lease.problem or None,
        "left": list(lease.left),
        "proof": lease.proof or None,
        "closed_at": _iso(lease.closed_at),
    }


def _asked(lease: Lease) -> Facts:
    request, quote = lease.request, lease.quote
    return {
        "id": lease.id,
        "state": lease.state.value,
        "owner": lease.owner,
        "co_owners": [one.id for one in lease.co_owners],
        "former_owners": list(lease.former_owners),
        "offered_to": list(lease.transfer.to) if lease.transfer else [],
        "team": request.team,
        "kind": request.kind.value if request.kind else None,
        "need": str(request.need),
        "instance_type": quote.offer.instance_type if quote else None,
        "model": lease.model or None,
        "gpus": lease.gpus,
        "market": request.market.value,
        "place": str(request.place),
        "workload": request.workload.value,
        "purpose": request.purpose,
        "tags": request.tags,
    }


def _times(lease: Lease) -> Facts:
    request = lease.request
    return {
        "requested_at": _iso(lease.requested_at),
        "ready_at": _iso(lease.ready_at),
        "ends_at": _iso(lease.ends_at or request.until),
        "start": _iso(request.start),
        "runs_until": _iso(lease.runs_until),
        "wished_until": _iso(lease.wish.until) if lease.wish else None,
        "schedule": request.schedule or None,
        "suspended_at": _iso(lease.suspended_at),
        "exempt_until": _iso(lease.exemption.until) if lease.exemption else None,
        "duration_seconds": int(request.duration.total_seconds()) if request.duration else None,
        "extensions": lease.extensions,
    }


def _money(lease: Lease, now: datetime) -> Facts:
    request, quote, cost = lease.request, lease.quote, lease.cost(now)
    return {
        "hourly": str(quote.offer.hourly.amount) if quote and quote.offer.hourly else None,
        "cost": str(cost.amount) if cost else None,
        "compute_cost": _amount(compute_cost(lease, now)),
        "storage_cost": _amount(storage_cost(lease, now)),
        "storage_gib_months": f"{float(gib_months(lease.storage, now)):.3f}",
        "added_storage_cost": _amount(added_cost(lease, now)),
        "disks": [_disk(one, now) for one in lease.storage],
        "currency": cost.currency if cost else None,
        "cap": _amount(request.cap),
        "volatile": lease.volatile,
        **_idle_facts(lease, now),
    }


def _disk(line: Storage, now: datetime) -> Facts:
    """One line of what disks are charged; one that was not added by people came with the lease."""
    cost = storage.cost((line,), now, "")
    return {
        "name": line.name or None,
        "added": bool(line.disk),
        "gib": str(line.gib) if line.gib else None,
        "since": _iso(line.start),
        "until": _iso(line.end),
        "gib_month": _amount(line.monthly),
        "cost": _amount(cost),
    }


def _decided(lease: Lease) -> Facts:
    steps = waiting(lease.steps)
    return {
        "decision": lease.decision.outcome.value if lease.decision else None,
        "rules": [f"{one.rule}: {one.text}" for one in lease.decision.reasons] if lease.decision else [],
        "step": steps[0].name if steps else None,
        "steps": [step.name for step in steps],
        "approvers": list(dict.fromkeys(ref for step in steps for ref in step.approvers)),
        "lapses_at": _iso(lease.lapses_at) if lease.state is State.AWAITING_APPROVAL else None,
        "proposed": describe(lease.counter.changes) if lease.counter else None,
        "questions": [{"by": q.by, "text": q.text, "answer": q.answer or None} for q in lease.questions],
        "decided_by": lease.decided_by or None,
        "decided_at": _iso(lease.decided_at),
        "decided_reason": lease.decided_reason or None,
    }


def event_facts(stored: StoredEvent) -> Facts:
    """The JSON form of an event with its place in the chain."""
    event = stored.event
    return {
        "seq": stored.seq,
        "lease_id": stored.lease_id,
        "type": event.type,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "data": event.data,
        "prev_hash": stored.prev_hash,
        "hash": stored.hash,
    }


def status_facts(status: MeterStatus) -> Facts:
    """The meter: how often it ticks, the latest tick, the brake."""
    every = status.every.total_seconds() if status.every else None
    report = report_facts(status.report) if status.report else None
    brake = brake_facts(status.brake)
    return {"every_seconds": every, "overdue": status.overdue or None, "latest": report, "brake": brake}


def report_facts(report: MeterReport) -> Facts:
    """What one tick came to."""
    return {
        "at": report.at.isoformat(),
        "stored": report.stored,
        "leases": report.leases,
        "verdicts": report.verdicts,
        "told": list(report.told),
        "sources": [
            {
                "name": source.name,
                "ok": source.ok,
                "series": source.series,
                "dropped": source.dropped,
                "capped": source.capped,
                "unlabelled": source.unlabelled,
                "silent_ticks": source.silent,
                "last_good": source.last_good.isoformat() if source.last_good else None,
                "problem": source.problem or None,
            }
            for source in report.sources
        ],
        "brake": report.brake or None,
        "problem": report.problem or None,
    }


def brake_facts(brake: Brake) -> Facts:
    """Whether stops are held back, since when, by whom and why."""
    at = brake.at.isoformat() if brake.at else None
    return {"on": brake.on, "by": brake.by or None, "at": at, "reason": brake.reason or None}


def standing_facts(standing: Standing | None) -> Facts | None:
    """Where a lease stood after the latest tick; `None` when it was never metered."""
    if standing is None:
        return None
    return {
        "verdict": standing.verdict.value,
        "since": standing.since.isoformat(),
        "at": standing.at.isoformat(),
        "gpus": standing.gpus,
        "idle_gpus": standing.idle_gpus,
        "awaited_gpus": standing.awaited,
        "last_active": standing.active_at.isoformat() if standing.active_at else None,
        "last_activity": standing.active_kind or None,
        "faulty": list(standing.faulty),
        "problem": standing.problem or None,
    }


def hour_facts(one: HourUse) -> Facts:
    """One hour of one lease."""
    return {
        "hour": one.hour.isoformat(),
        "ticks": one.ticks,
        "busy": one.busy,
        "idle": one.idle,
        "unknown": one.unknown,
        "gpu_busy": one.gpu_busy,
        "peak_engine": one.peak_engine,
        "peak_util": one.peak_util,
        "peak_memory": one.peak_memory,
        "peak_power": one.peak_power,
        "peak_cpu": one.peak_cpu,
    }


def next_try(lease: Lease) -> datetime | None:
    """When lessor itself goes on with a lease that is stuck."""
    if lease.state is State.WAITING_FOR_CAPACITY and lease.capacity:
        return lease.capacity.next_try
    return lease.next_try if lease.state is State.BLOCKED else None


def _idle_facts(lease: Lease, now: datetime) -> Facts:
    """Whether it does nothing or was stopped for it; `None` for what is not so."""
    ladder, stops = lease.idle, rungs.stops_at(lease, now)
    snooze = lease.snooze if lease.snooze and lease.snooze.until > now else None
    return {
        "idle_since": ladder.evidence.since.isoformat() if ladder else None,
        "idle_verdict": ladder.evidence.verdict.value if ladder else None,
        "idle_stop_at": stops.isoformat() if stops else None,
        "snoozed_until": snooze.until.isoformat() if snooze else None,
        "paused": lease.pause.why.value if lease.pause else None,
        "paused_at": lease.pause.at.isoformat() if lease.pause else None,
        "spared": lease.spared is not None,
    }


def _amount(money: Money | None) -> str | None:
    return str(money.amount) if money else None


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
