"""The pages. Each shows what the record says at the moment it is asked for, and works without any script."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, Response

from lessor.domain.lease import OPEN, State
from lessor.drawing import DrawingError
from lessor.web import lease_page, shown
from lessor.web.answers import page, told
from lessor.web.asking import Wanted, lease_id, query_of, wanted
from lessor.web.charting import shown_of
from lessor.web.desk import desk_of
from lessor.web.fleet_page import sited

PAGE = 50
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""A chart looked at by itself: vl-convert writes styles into it, and it runs nothing."""

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
async def overview(request: Request) -> HTMLResponse:
    """Who watches, what is held back, what is open, what waits for whom."""
    desk = desk_of(request)
    seen, status = await desk.gateway.overlooking.now(), await desk.gateway.meter.status()
    names = await desk.names([status.brake.by, *(one.lease.owner for one in seen.pending)])
    return page(
        request,
        "overview.html.j2",
        seen=seen,
        states=[(state, seen.states[state]) for state in State if state in seen.states],
        status=status,
        sources=shown.sources(status, seen.at),
        tick_age=shown.age(status.report.at if status.report else None, seen.at),
        names=names,
        pending=[(one, shown.age(one.wait.since, seen.at)) for one in seen.pending],
    )


@router.get("/fleet")
async def fleet(request: Request, what: Annotated[str, Query(max_length=80)] = "") -> HTMLResponse:
    """Every place with its GPUs by model, who has them, and what nobody asked for."""
    desk = desk_of(request)
    found = await desk.gateway.fleet.view(what)
    places = [sited(one, found.at, alone=len(found.places) == 1) for one in found.places]
    names = await desk.names(held.row.lease.owner for one in places for held in one.tenants)
    return page(request, "fleet.html.j2", places=places, names=names, what=what)


@router.get("/leases")
async def leases(request: Request, asked: Annotated[Wanted, Depends(wanted)]) -> HTMLResponse:
    """A page of leases, narrowed down by the form above it."""
    desk = desk_of(request)
    limit = asked.limit if "limit" in request.query_params else PAGE
    query = await query_of(desk.gateway, asked)
    found = await desk.gateway.leases(shown.one_more(query, limit))
    listed = found[:limit]
    names = await desk.names(one.owner for one in listed)
    return page(
        request,
        "leases.html.j2",
        rows=[shown.row(one, names[one.owner], desk.clock()) for one in listed],
        asked=asked,
        states=[(state.value, state in OPEN) for state in State],
        further=asked.address(listed[-1].id) if len(found) > limit else "",
    )


@router.get("/leases/{id}")
async def lease(request: Request, id: str) -> HTMLResponse:
    """One lease: facts, money, what it does, everything that happened to it."""
    desk = desk_of(request)
    return page(request, "lease.html.j2", **(await lease_page.values(desk, lease_id(id))))


@router.get("/leases/{id}/chart.svg")
async def chart(request: Request, id: str) -> Response:
    """What it was seen doing in the last day."""
    desk = desk_of(request)
    found = await desk.gateway.lease(lease_id(id))
    drawn = await shown_of(desk.gateway.meter, found, desk.scene().zone, desk.clock())
    if drawn is None:
        return told(request, 404, "not-metered", f"nothing is on record of what {found.id} did in its last day")
    try:
        content = await desk.draw(drawn, "svg")
    except DrawingError as error:
        return told(request, 503, "not-drawn", f"the chart could not be drawn ({error}); load the page again")
    return Response(content, media_type="image/svg+xml", headers={"content-security-policy": SVG_POLICY})


@router.get("/api")
async def reference(request: Request) -> HTMLResponse:
    """What programs can ask for, from the description that they read."""
    described = request.app.openapi()
    ways = [(path, way["get"]) for path, way in described["paths"].items()]
    return page(request, "api.html.j2", ways=ways)
