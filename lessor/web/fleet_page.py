"""What the page of the fleet shows of a place: its numbers in words, who has its GPUs, and what is held by nobody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lessor.domain.bearing import Bearing, bearing
from lessor.domain.fleet import PlaceFleet
from lessor.domain.fleet_words import EMPTY, EMPTY_CLOUD, UNNAMED, figures, unit
from lessor.web.shown import Row, row

COUNTED = (
    ("total", "Total"),
    ("leased", "Leased"),
    ("ownerless", "Ownerless"),
    ("free", "Free"),
    ("largest", "Free on one node"),
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
    doing: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """One place as its page shows it; `empty` says why there is nothing to see."""

    fleet: PlaceFleet
    models: tuple[Model, ...]
    tenants: tuple[Occupied, ...]
    empty: str


def sited(one: PlaceFleet, at: datetime) -> Site:
    """A place for the template. Owners are named there, by their ids."""
    models = []
    for line in one.lines:
        said, counted = figures(line), unit(line)
        name = f"{line.model or UNNAMED} ({counted})" if counted else line.model or UNNAMED
        models.append(Model(name, tuple((called, said[key]) for key, called in COUNTED), bearing(line)))
    tenants = (Occupied(row(tenant.lease, "", at), tenant.doing, tenant.flags) for tenant in one.tenants)
    nothing = not (one.lines or one.problem or one.tenants or one.ownerless)
    return Site(one, tuple(models), tuple(tenants), (EMPTY_CLOUD if one.on_demand else EMPTY) if nothing else "")
