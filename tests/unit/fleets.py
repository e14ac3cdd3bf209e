"""Leases, clusters and clouds of a fleet, for tests of the view over all of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lessor.domain.clouds import cloud_census
from lessor.domain.fleet import Line, PlaceFleet, Record, place_fleet
from lessor.domain.idle import Standing
from lessor.domain.lease import Lease, State
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Tagged
from tests.builders import READY, a_lease, a_quote, a_request, an_offer

LAB = Place("kubernetes", "lab")
US = Place("aws", "us")
NOW = READY + timedelta(hours=1)
MINUTE = timedelta(minutes=1)
A100 = "A100-80GB"


def leased(id: str, place: Place = LAB, gpus: int = 2, model: str = A100, state: State = State.ACTIVE) -> Lease:
    quote = a_quote(offer=an_offer(gpu_count=gpus, gpu_model=model))
    return a_lease(state, id=id, request=a_request(place=place), quote=quote)


def record(*leases: Lease, standings: tuple[Standing, ...] = (), every: timedelta | None = MINUTE) -> Record:
    return Record(leases, {one.lease_id: one for one in standings}, every, NOW)


def pool(**changes: Any) -> Pool:
    fields: dict[str, Any] = {"total": 16, "free": 5, "held": 8, "promised": 1, "unhealthy": 2, "largest": 4}
    return Pool(LAB, A100, **(fields | changes))


def census(*pools: Pool, holders: tuple[Holder, ...] = (), **changes: Any) -> Census:
    return Census(LAB, NOW, pools, holders, **changes)


def held(units: int, lease: str = "", **changes: Any) -> Holder:
    return Holder(LAB, changes.pop("ref", f"default/pod-{units}"), changes.pop("model", A100), units, lease=lease)


def only_line(found: PlaceFleet) -> Line:
    (line,) = found.lines
    return line


def machine(id: str, lease: str, condition: Condition = Condition.RUNNING, type: str = "p4de.24xlarge") -> Tagged:
    return Tagged(Kind.INSTANCE, id, condition, type=type, created_at=READY, lease=lease)


def types(name: str) -> tuple[str, int] | None:
    return {"p4de.24xlarge": (A100, 8), "g5.xlarge": ("A10G", 1)}.get(name)


def cloud(*machines: Tagged, leases: tuple[Lease, ...] = ()) -> PlaceFleet:
    seen = cloud_census(US, machines, {one.id: one for one in leases}, types, NOW)
    return place_fleet(seen, record(*leases), on_demand=True)
