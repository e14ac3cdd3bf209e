"""The REST API: what the command line prints with `--json`, over HTTP. The description is at /api/openapi.json."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field

from lessor.asjson import event_facts, hour_facts, lease_facts, standing_facts, status_facts
from lessor.fleetjson import fleet_facts
from lessor.overview import Overview, Sum
from lessor.web.asking import Wanted, lease_id, query_of, wanted
from lessor.web.desk import desk_of

Facts = dict[str, Any]
LeaseId = Annotated[str, Path(max_length=40, description="Such as gpu-7k3qxa2m.")]
What = Annotated[str, Query(max_length=80, description="Only one place, or one GPU model; all if left out.")]
Hours = Annotated[int, Query(ge=1, le=24 * 366, description="So far back.")]


class Failure(BaseModel):
    """Why there is no answer."""

    code: str = Field(description="A word that stays the same.")
    message: str = Field(description="What happened and what to do.")


class Health(BaseModel):
    """The dashboard runs and can read the ledger."""

    ok: bool


class LeasePage(BaseModel):
    """Leases in order of their ids, each as `lessor show ID --json` prints it; how to get in is never told here."""

    leases: list[Facts]
    next: str | None = Field(description="Where the next page begins, for `after`; null on the last one.")


class Timeline(BaseModel):
    """Everything on record about a lease, oldest first, with its place in the hash chain."""

    events: list[Facts]


class Used(BaseModel):
    """Where a lease stands after the latest tick, and its sums by hour."""

    now: Facts | None
    hours: list[Facts]


class Amounts(BaseModel):
    """Money by currency, as text; `unknown` counts leases without a known amount, which are in none of it."""

    amounts: dict[str, str]
    unknown: int


class Awaited(BaseModel):
    """What a lease waits for, since when, and who can answer; `unresolved` names groups that cannot be read now."""

    lease: str
    waits_for: str
    since: str | None
    people: list[str]
    unresolved: list[str]


class Open(BaseModel):
    """All open leases together; `gpus` counts those that run."""

    at: str
    leases: int
    states: dict[str, int]
    gpus: int
    hourly: Amounts
    cost: Amounts
    waiting: list[Awaited]


_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Failure, "description": words}
    for status, words in {
        400: "What was asked for does not fit",
        401: "The token is missing",
        404: "There is no such lease",
        422: "A parameter is out of range",
        503: "The ledger cannot be read now",
    }.items()
}

router = APIRouter(responses=_FAILURES)


@router.get("/healthz", tags=["operations"], summary="Whether it works")
async def health(request: Request) -> Health:
    """Needs no token, and tells nothing but that the ledger answers."""
    await desk_of(request).gateway.meter.brake()
    return Health(ok=True)


@router.get("/api/overview", tags=["fleet"], summary="All open leases together")
async def overview(request: Request) -> Open:
    """Counts, GPUs that run, money, and what waits for whom."""
    return _open(await desk_of(request).gateway.overlooking.now())


@router.get("/api/fleet", tags=["fleet"], summary="Every place with its GPUs")
async def fleet(request: Request, what: What = "") -> Facts:
    """As `lessor fleet --json`: total, leased, ownerless, free, unhealthy and unknown by model, and who has them.

    Places are asked for at most ten seconds; one that does not answer says so, and its numbers are null.
    """
    return fleet_facts(await desk_of(request).gateway.fleet.view(what))


@router.get("/api/meter", tags=["fleet"], summary="What is metered")
async def meter(request: Request) -> Facts:
    """The latest tick, the last good one of each source, the brake; as `lessor meter status --json`."""
    return status_facts(await desk_of(request).gateway.meter.status())


@router.get("/api/leases", tags=["leases"], summary="Leases, page by page")
async def leases(request: Request, asked: Annotated[Wanted, Depends(wanted)]) -> LeasePage:
    """Open ones, unless it is asked for others."""
    desk = desk_of(request)
    found = await desk.gateway.leases(await query_of(desk.gateway, asked))
    after = found[-1].id if len(found) == asked.limit else None
    return LeasePage(leases=[lease_facts(one, desk.clock()) for one in found], next=after)


@router.get("/api/leases/{id}", tags=["leases"], summary="One lease")
async def lease(request: Request, id: LeaseId) -> Facts:
    """As `lessor show ID --json`, without how to get in."""
    desk = desk_of(request)
    found = await desk.gateway.lease(lease_id(id))
    return lease_facts(found, desk.clock())


@router.get("/api/leases/{id}/events", tags=["leases"], summary="What happened to a lease")
async def events(request: Request, id: LeaseId) -> Timeline:
    """As in `lessor show ID --events --json`."""
    found = await desk_of(request).gateway.events(lease_id(id))
    return Timeline(events=[event_facts(one) for one in found])


@router.get("/api/leases/{id}/usage", tags=["leases"], summary="What a lease did")
async def usage(request: Request, id: LeaseId, hours: Hours = 24) -> Used:
    """As `lessor usage ID --json`; the hour that is not over is not among them."""
    desk = desk_of(request)
    found, now = await desk.gateway.lease(lease_id(id)), desk.clock()
    standing = await desk.gateway.meter.standing(found.id)
    used = await desk.gateway.meter.usage(found.id, now - timedelta(hours=hours), now)
    return Used(now=standing_facts(standing), hours=[hour_facts(one) for one in used])


def _open(seen: Overview) -> Open:
    return Open(
        at=seen.at.isoformat(),
        leases=seen.leases,
        states={state.value: count for state, count in seen.states.items()},
        gpus=seen.gpus,
        hourly=_amounts(seen.hourly),
        cost=_amounts(seen.cost),
        waiting=[
            Awaited(
                lease=one.lease.id,
                waits_for=one.wait.what,
                since=one.wait.since.isoformat() if one.wait.since else None,
                people=[person.id for person in one.people],
                unresolved=list(one.unresolved),
            )
            for one in seen.pending
        ],
    )


def _amounts(total: Sum) -> Amounts:
    return Amounts(amounts={one.currency: str(one.amount) for one in total.amounts}, unknown=total.unknown)
