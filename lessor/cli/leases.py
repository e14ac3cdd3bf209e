"""Leases as the command line shows them: flat facts for programs, the same in words for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lessor.domain.approval import current
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.request import spell
from lessor.when import local


def facts(lease: Lease, now: datetime) -> dict[str, Any]:
    """The stable JSON form of a lease: instants in UTC, amounts as text, `None` for what is unknown or not yet."""
    request, quote, cost = lease.request, lease.quote, lease.cost(now)
    step = current(lease.steps)
    return {
        "id": lease.id,
        "state": lease.state.value,
        "owner": lease.owner,
        "team": request.team,
        "need": str(request.need),
        "instance_type": quote.offer.instance_type if quote else None,
        "model": lease.model or None,
        "gpus": lease.gpus,
        "market": request.market.value,
        "place": str(request.place),
        "workload": request.workload.value,
        "purpose": request.purpose,
        "tags": request.tags,
        "requested_at": _iso(lease.requested_at),
        "ready_at": _iso(lease.ready_at),
        "ends_at": _iso(lease.ends_at or request.until),
        "duration_seconds": int(request.duration.total_seconds()) if request.duration else None,
        "extensions": lease.extensions,
        "hourly": str(quote.offer.hourly.amount) if quote and quote.offer.hourly else None,
        "cost": str(cost.amount) if cost else None,
        "currency": cost.currency if cost else None,
        "decision": lease.decision.outcome.value if lease.decision else None,
        "rules": [f"{one.rule}: {one.text}" for one in lease.decision.reasons] if lease.decision else [],
        "step": step.name if step else None,
        "approvers": list(step.approvers) if step else [],
        "decided_by": lease.decided_by or None,
        "decided_at": _iso(lease.decided_at),
        "decided_reason": lease.decided_reason or None,
        "resources": [f"{one.ref} {one.condition.value}" for one in lease.resources],
        "access": lease.access or None,
        "problem": lease.problem or None,
        "left": list(lease.left),
        "proof": lease.proof or None,
        "closed_at": _iso(lease.closed_at),
    }


COLUMNS = ("ID", "State", "Owner", "Team", "GPUs", "Ends", "Cost", "Purpose")


def row(lease: Lease, now: datetime, zone: str) -> tuple[str, ...]:
    """One line of a list, with times in the reader's zone."""
    cost = lease.cost(now)
    return (
        lease.id,
        lease.state.value,
        lease.owner,
        lease.request.team,
        _what(lease),
        _end(lease, zone),
        str(cost) if cost else "unknown",
        lease.request.purpose[:60],
    )


def details(lease: Lease, eligible: Iterable[Person], now: datetime, zone: str) -> list[tuple[str, str]]:
    """Everything about one lease in the order in which people ask for it."""
    request, quote, cost = lease.request, lease.quote, lease.cost(now)
    hourly = quote.offer.hourly if quote else None
    deciders = ", ".join(person.name or person.id for person in eligible)
    rules = "; ".join(f"{one.rule}: {one.text}" for one in lease.decision.reasons) if lease.decision else ""
    decided = f"{lease.decided_by} on {local(lease.decided_at, zone)}" if lease.decided_at else ""
    return [
        ("Lease", lease.id),
        ("State", lease.state.value),
        ("Owner", f"{lease.owner}, team {request.team}"),
        ("GPUs", f"{_what(lease)}, {request.market.value}, {request.place}"),
        ("Workload", request.workload.value),
        ("Purpose", request.purpose),
        ("Requested", local(lease.requested_at, zone)),
        ("Ends", _end(lease, zone)),
        ("Price", f"{hourly} an hour ({quote.price_list})" if quote and hourly else "unknown"),
        ("Cost so far", str(cost) if cost else "unknown"),
        ("Policy", rules),
        ("Can decide", deciders),
        ("Decided", f"{decided}: {lease.decided_reason}" if lease.decided_reason else decided),
        ("Access", lease.access if not lease.final else ""),
        ("Resources", ", ".join(f"{one.ref} {one.condition.value}" for one in lease.resources)),
        ("Problem", lease.problem),
        ("Still there", ", ".join(lease.left)),
        ("Proof", lease.proof),
    ]


def _what(lease: Lease) -> str:
    if lease.quote is None:
        return str(lease.request.need)
    offer = lease.quote.offer
    return f"{offer.gpu_count} x {offer.gpu_model} ({offer.instance_type})"


def _end(lease: Lease, zone: str) -> str:
    ends = lease.ends_at or lease.request.until
    if ends:
        return local(ends, zone)
    return f"{spell(lease.request.duration)} after it is ready" if lease.request.duration else ""


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
