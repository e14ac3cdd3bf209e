"""What the page of the fleet shows of a place: its numbers in words, who has its GPUs, and what is held by nobody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lessor.domain.bearing import Bearing, bearing
from lessor.domain.fleet import PlaceFleet
from lessor.domain.fleet_words import EMPTY, EMPTY_CLOUD, UNNAMED, body, figures, unit, where
from lessor.domain.pools import Holder
from lessor.web.shown import Row, row

SHOWN = 50
"""Leases of a place, and what runs there without one, on the page of all places."""

COUNTED = (
    ("total", "Total"),
    ("leased", "Leased"),
    ("ownerless", "Ownerless"),
    ("free", "Free"),
    ("largest", "Free on one {body}"),
    ("unhealthy", "Unhealthy"),
    ("unknown", "Unknown"),
    ("reserved", "Reserved"),
    ("queued", "Queued"),
)
"""The numbers of a place in the order in which people ask for them, with what they are called."""


@dataclass(frozen=True)
class Model:
    """One GPU model in a place: its name, each number with what it is called, and who bears what of an hour."""

    name: str
    counted: tuple[tuple[str, str], ...]
    hour: Bearing | None = None


@dataclass(frozen=True)
class Occupied:
    """A lease in a place: as lists show it, and what it does."""

    row: Row
    where: str
    doing: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """One place as its page shows it; `empty` says why there is nothing to see.

    `more` are leases and `strays` what runs without one that are not shown here for length.
    """

    fleet: PlaceFleet
    models: tuple[Model, ...]
    tenants: tuple[Occupied, ...]
    ownerless: tuple[Holder, ...]
    empty: str
    more: int = 0
    strays: int = 0


def sited(one: PlaceFleet, at: datetime, *, alone: bool) -> Site:
    """A place for the template. Owners are named there, by their ids. Of one shown `alone` no stray is left out."""
    models, inside = [], body(one.place)
    for line in one.lines:
        said, counted = figures(line), unit(line)
        name = f"{line.model or UNNAMED} ({counted})" if counted else line.model or UNNAMED
        models.append(
            Model(name, tuple((called.format(body=inside), said[key]) for key, called in COUNTED), bearing(line))
        )
    tenants = (
        Occupied(row(tenant.lease, "", at), where(tenant), tenant.doing, tenant.flags) for tenant in one.tenants[:SHOWN]
    )
    strays = one.ownerless if alone else one.ownerless[:SHOWN]
    nothing = not (one.lines or one.problem or one.tenants or one.ownerless)
    return Site(
        one,
        tuple(models),
        tuple(tenants),
        strays,
        (EMPTY_CLOUD if one.on_demand else EMPTY) if nothing else "",
        more=max(len(one.tenants) - SHOWN, 0),
        strays=len(one.ownerless) - len(strays),
    )
