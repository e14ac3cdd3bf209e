"""The numbers of the fleet in words, the same on every surface: what is unknown is never shown as 0, nor left empty."""

from __future__ import annotations

from fractions import Fraction

from lessor.domain.fleet import Line, Tenant
from lessor.domain.pools import Census, Pool
from lessor.domain.request import Place
from lessor.domain.vacancy import Vacancy

ON_DEMAND = "on demand"
UNSOUGHT = "not looked for"
UNNAMED = "unknown model"
EMPTY = "no GPUs were seen, and none are leased"
EMPTY_CLOUD = "machines are made on demand, and none is leased now"
MODELS_MOST = 8


def figures(line: Line) -> dict[str, str]:
    """Each number of a line: a cloud's total is `on demand`, and nobody looks there for what is without a lease."""
    demand = ON_DEMAND if line.on_demand else ""
    return {
        "total": demand or number(line.total),
        "leased": number(line.leased),
        "ownerless": UNSOUGHT if line.on_demand and line.ownerless is None else number(line.ownerless),
        "free": demand or number(line.free),
        "unhealthy": demand or number(line.unhealthy),
        "unknown": number(line.unknown),
        "largest": "" if line.on_demand or line.largest is None else number(line.largest),
        "reserved": number(line.reserved) if line.reserved else "",
        "queued": number(line.queued) if line.queued else "",
    }


def where(tenant: Tenant) -> str:
    """The place of a lease, with the machine where it has just one; what has the name of the lease says no more."""
    place = tenant.lease.request.place.name
    apart = tenant.refs if not any(tenant.lease.id in ref for ref in tenant.refs) else ()
    return f"{place}: {apart[0].rpartition(':')[2]}" if len(apart) == 1 else place


def body(place: Place) -> str:
    """What GPUs of a place are in together: a machine of the organisation's own, else a node."""
    return "machine" if place.provider == "machines" else "node"


def number(amount: int | None) -> str:
    return "unknown" if amount is None else f"{amount:,}"


def vacancy_words(found: Vacancy, count: int) -> str:
    """What is free of a model for somebody who wants `count`, in one sentence without its beginning."""
    if found.on_demand:
        return "on demand: whether there are machines is known when it is tried"
    if found.free is None:
        return f"unknown: {found.problem}" if found.problem else "unknown"
    if found.total == 0:
        return f"none: there is no {found.model} here"
    of = f" of {found.total:,}" if found.total is not None else ""
    counted = f" {unit(found)}" if unit(found) else ""
    said = [f"{found.free:,}{of}{counted} free now"]
    if found.largest is not None and found.free:
        said.append(f"at most {found.largest:,} on one {body(found.place)}")
    if found.queued:
        said.append(f"{found.queued:,} wait in the queue")
    if found.fits(count) is False:
        said.append("fewer than are asked for, so it would wait")
    elif found.together(count) is False:
        said.append(f"not all on one {body(found.place)}")
    return ", ".join(said)


def free_words(census: Census) -> tuple[str, str]:
    """A place by its name, and what is free in it model by model, shortly."""
    if not census.complete and not census.pools:
        return census.place.name, "unknown"
    shown = [f"{pool.model} {_free(pool)}" for pool in census.pools[:MODELS_MOST]]
    more = len(census.pools) - len(shown)
    said = ", ".join(shown) or "no GPUs"
    return census.place.name, f"{said} and {more} more models" if more else said


def _free(pool: Pool) -> str:
    of = f" of {pool.total:,}" if pool.total is not None else ""
    return f"{number(pool.free)}{of if pool.free is not None else ''}"


def unit(one: Line | Vacancy) -> str:
    """What a line counts in, where that is not whole GPUs: `slices of 1/7 GPU`."""
    if one.unit == "GPU" and one.share == 1:
        return ""
    return f"{one.unit}s" if one.share in (0, Fraction(1)) else f"{one.unit}s of {one.share} GPU"
