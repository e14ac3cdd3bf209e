"""The stable JSON form of the fleet, the same on the command line and by HTTP: `null` is unknown, instants in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lessor.domain.bearing import Bearing, bearing
from lessor.domain.fleet import Fleet, Line, PlaceFleet, Tenant
from lessor.domain.pools import Holder
from lessor.domain.slices import whole_gpus


def fleet_facts(fleet: Fleet) -> dict[str, Any]:
    """Every place with its GPUs by model, its leases, and what runs there without one."""
    return {"at": fleet.at.isoformat(), "places": [_place(one) for one in fleet.places]}


def _place(one: PlaceFleet) -> dict[str, Any]:
    return {
        "place": one.place.name,
        "provider": one.place.provider,
        "read_at": one.at.isoformat(),
        "problem": one.problem or None,
        "notes": list(one.notes),
        "on_demand": one.on_demand,
        "gpus": [_line(line) for line in one.lines],
        "leases": [_tenant(tenant) for tenant in one.tenants],
        "ownerless": [_holder(holder) for holder in one.ownerless],
    }


def _line(line: Line) -> dict[str, Any]:
    """Numbers in units of `share` of a GPU each."""
    return {
        "model": line.model,
        "unit": line.unit,
        "share": str(line.share),
        "total": line.total,
        "total_whole_gpus": None if line.total is None else str(whole_gpus(line.total, line.share)),
        "leased": line.leased,
        "ownerless": line.ownerless,
        "free": line.free,
        "unhealthy": line.unhealthy,
        "unknown": line.unknown,
        "reserved": line.reserved,
        "largest": line.largest,
        "queued": line.queued,
        "an_hour": _hour(bearing(line)),
    }


def _hour(found: Bearing | None) -> dict[str, Any] | None:
    """What the line costs an hour by who bears it, as text; `idle` is what nobody uses, borne by the place."""
    if found is None:
        return None
    parts = {"leased": found.leased, "ownerless": found.ownerless, "idle": found.idle, "total": found.total}
    amounts = {name: str(money.amount) for name, money in parts.items()}
    return {**amounts, "idle_units": found.unused, "currency": found.total.currency}


def _tenant(tenant: Tenant) -> dict[str, Any]:
    lease, cost = tenant.lease, tenant.cost
    ends = lease.ends_at or lease.request.until
    return {
        "id": lease.id,
        "state": lease.state.value,
        "kind": lease.request.kind.value if lease.request.kind else None,
        "owner": lease.owner,
        "team": lease.request.team,
        "purpose": lease.request.purpose,
        "model": lease.model or None,
        "gpus": lease.gpus,
        "held": tenant.held,
        "holds": list(tenant.refs),
        "ends_at": _iso(ends),
        "verdict": tenant.doing,
        "since": _iso(tenant.since),
        "cost": str(cost.amount) if cost else None,
        "currency": cost.currency if cost else None,
        "flags": list(tenant.flags),
    }


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "ref": holder.ref,
        "model": holder.model,
        "units": holder.units,
        "whole_gpus": str(whole_gpus(holder.units, holder.share)),
        "share": str(holder.share),
        "who": holder.who or None,
        "since": _iso(holder.since),
        "flag": holder.flag or None,
        "cost": str(holder.cost.amount) if holder.cost else None,
        "currency": holder.cost.currency if holder.cost else None,
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
