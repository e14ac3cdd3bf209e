"""`lessor fleet`: what every place has, who has it, and what nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lessor.cli.leases import short_end
from lessor.cli.output import Column, print_json, table, tell
from lessor.cli.session import DONE, REFUSED, Session
from lessor.domain.fleet import Fleet, Line, PlaceFleet, Tenant
from lessor.domain.fleet_words import EMPTY, EMPTY_CLOUD, UNNAMED, figures, unit, where
from lessor.domain.people import Person
from lessor.domain.pools import Holder
from lessor.fleetjson import fleet_facts
from lessor.when import in_zone, local

if TYPE_CHECKING:
    from lessor.gateway import Gateway

PURPOSE_MOST = 60

GPUS = (
    Column("Place", whole=True),
    Column("GPUs", whole=True),
    Column("Total", whole=True),
    Column("Leased", whole=True),
    Column("Ownerless", whole=True),
    Column("Free", whole=True),
    Column("Unhealthy", whole=True, spare=1),
    Column("Unknown", whole=True),
    Column("Largest block", whole=True, spare=2),
    Column("Reserved", whole=True, spare=3),
    Column("Queued", whole=True, spare=4),
)
LEASES = (
    Column("Lease", whole=True),
    Column("Place", whole=True),
    Column("GPUs", whole=True),
    Column("Owner", whole=True),
    Column("Team", whole=True, spare=2),
    Column("Does"),
    Column("Ends", whole=True),
    Column("Cost", whole=True, spare=1),
    Column("Purpose", spare=3),
)
OWNERLESS = (
    Column("What"),
    Column("Place", whole=True),
    Column("GPUs", whole=True),
    Column("Who", spare=1),
    Column("Since", whole=True, spare=2),
    Column("Cost", whole=True, spare=4),
    Column("What is known", spare=3),
)


async def show_fleet(session: Session, gateway: Gateway, person: Person, wanted: str, limit: int) -> int:
    """Everything that is known; fails where a place could not be read whole, after all the others were shown."""
    fleet = await gateway.fleet.view(wanted)
    unread = any(one.problem for one in fleet.places)
    if session.as_json:
        print_json(fleet_facts(fleet))
        return REFUSED if unread else DONE
    _show(fleet, person.tz, limit)
    return REFUSED if unread else DONE


def _show(fleet: Fleet, zone: str, limit: int) -> None:
    places = fleet.places
    table("", GPUS, [_line(one, line) for one in places for line in one.lines])
    leases = [_tenant(tenant, fleet.at, zone) for one in places for tenant in one.tenants[:limit]]
    if leases:
        table("\nLeases", LEASES, leases)
    strays = [_holder(one, holder, zone) for one in places for holder in one.ownerless[:limit]]
    if strays:
        table("\nWithout a lease", OWNERLESS, strays)
    for text in (text for one in places for text in _remarks(one, limit)):
        tell(False, {}, in_zone(text, zone))
    tell(False, {}, f"Times are on the clock of {zone}.")


def _remarks(one: PlaceFleet, limit: int) -> Iterator[str]:
    """What could not be read, what administrators should know, and what was left out for length."""
    if one.problem:
        yield f"{one.place.name} could not be read whole: {one.problem}; what was not read is unknown"
    if not (one.lines or one.problem):
        yield f"{one.place.name}: {EMPTY_CLOUD if one.on_demand else EMPTY}"
    for note in one.notes:
        yield f"{one.place.name}: {note}"
    for what, count in (("with a lease", len(one.tenants)), ("without a lease", len(one.ownerless))):
        if count > limit:
            yield f"{one.place.name} has {count - limit:,} more {what}: lessor fleet {one.place.name} --limit {count}"


def _line(one: PlaceFleet, line: Line) -> Sequence[str]:
    said = figures(line)
    counted = f" ({unit(line)})" if unit(line) else ""
    names = ("total", "leased", "ownerless", "free", "unhealthy", "unknown", "largest", "reserved", "queued")
    return (one.place.name, f"{line.model or UNNAMED}{counted}", *(said[name] for name in names))


def _tenant(tenant: Tenant, now: datetime, zone: str) -> Sequence[str]:
    lease = tenant.lease
    kind = f", {lease.request.kind.value}" if lease.request.kind else ""
    does = "; ".join((tenant.doing, *tenant.flags))
    return (
        lease.id,
        where(tenant),
        f"{lease.gpus} x {lease.model or 'any GPU'}{kind}",
        lease.owner,
        lease.request.team,
        does,
        short_end(lease, now, zone),
        str(tenant.cost) if tenant.cost else "unknown",
        lease.request.purpose[:PURPOSE_MOST],
    )


def _holder(one: PlaceFleet, holder: Holder, zone: str) -> Sequence[str]:
    return (
        holder.ref,
        one.place.name,
        f"{holder.units} x {holder.model or UNNAMED}",
        holder.who or "unknown",
        local(holder.since, zone) if holder.since else "unknown",
        str(holder.cost) if holder.cost else "unknown",
        holder.flag,
    )
