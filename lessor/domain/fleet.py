"""Every place at one glance: its GPUs by model, what they are doing, and whose they are.

Made from a reading of each place and from the leases on record. A number that is not known is `None`, and no sum is
ever made smaller by one (law 1): what a place did not say is unknown there, and everything else is shown all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from lessor.domain import fleet_rights
from lessor.domain.errors import Refused
from lessor.domain.heartbeat import MISSED
from lessor.domain.idle import Standing, Verdict
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.domain.resting import rests_since
from lessor.domain.states import State

SHOWN = fleet_rights.RIGHTS | fleet_rights.PASSING | {State.SUSPENDED, State.STOPPED, State.WAITING_FOR_CAPACITY}
"""Leases that the fleet lists: all that have something in a place, or wait for it."""

STOPPED = "stopped"
UNMETERED = "not metered"


@dataclass(frozen=True)
class Line:
    """The GPUs of one model in one place, counted in `unit`s as in `Pool`.

    `leased` are those that leases have a right to or still hold, `ownerless` those held without a lease, `unknown`
    those that nothing accounts for, or that a lease should have and nobody saw. A place that makes machines on demand
    has no total and nothing free: with `on_demand` these are not unknown, there is no such number. `ownerless` is
    `None` too where only machines of leases are looked for. `hourly` is what one unit costs an hour now.
    """

    model: str
    unit: str = "GPU"
    share: Fraction = Fraction(1)
    total: int | None = None
    leased: int = 0
    ownerless: int | None = None
    free: int | None = None
    unhealthy: int | None = None
    unknown: int | None = None
    reserved: int | None = None
    largest: int | None = None
    queued: int | None = None
    on_demand: bool = False
    hourly: Money | None = None


@dataclass(frozen=True)
class Tenant:
    """A lease in the fleet. `doing` is the verdict of the meter, or what stands for one; `flags` say what is wrong.

    `refs` are what it was seen holding in its place, such as a machine by name.
    """

    lease: Lease
    doing: str
    since: datetime | None
    cost: Money | None
    held: int | None
    flags: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlaceFleet:
    """One place. `problem` says why it could not be read whole; what is on record is shown all the same."""

    place: Place
    at: datetime
    lines: tuple[Line, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    ownerless: tuple[Holder, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()
    on_demand: bool = False


@dataclass(frozen=True)
class Fleet:
    """All places, in the order of the configuration."""

    at: datetime
    places: tuple[PlaceFleet, ...]


@dataclass(frozen=True)
class Record:
    """What is on record of all leases: where each stands, and how often the meter ticks, `None` without one."""

    leases: Sequence[Lease]
    standings: Mapping[str, Standing]
    every: timedelta | None
    now: datetime


def place_fleet(census: Census, record: Record, *, on_demand: bool = False) -> PlaceFleet:
    """One place by its reading and by the record; `on_demand` for a place that makes machines as they are ordered."""
    mine = [lease for lease in record.leases if _of(lease, census.place) and lease.state in SHOWN]
    open_ids = {lease.id for lease in mine}
    holders = [_attributed(one, open_ids, census) for one in census.holders]
    seen = [one for one in holders if one.lease in open_ids]
    held, pools = _counted(census.pools, seen, {lease.id: lease.model for lease in mine})
    ownerless = tuple(_flagged(one) for one in holders if one.lease not in open_ids | _just_over(record, census))
    tenants = tuple(_tenant(lease, _held_by(lease, held), census, record) for lease in mine)
    lines = tuple(
        _line(pool, mine, held, ownerless, census, on_demand=on_demand)
        for pool in _pools(census.place, pools, mine, ownerless)
    )
    return PlaceFleet(census.place, census.at, lines, tenants, ownerless, census.problem, census.notes, on_demand)


def narrowed(fleet: Fleet, wanted: str) -> Fleet:
    """Only one place, or only models whose name has `wanted` in it. Raises `Refused` ("no-such") with what there is.

    A place that could not be read stays: nobody knows what it has.
    """
    word = wanted.strip().casefold()
    if not word:
        return fleet
    named = tuple(one for one in fleet.places if one.place.name.casefold() == word)
    if named:
        return replace(fleet, places=named)
    models = {line.model for one in fleet.places for line in one.lines}
    chosen = {model for model in models if _squeezed(word) and _squeezed(word) in _squeezed(model)}
    if not chosen:
        places = ", ".join(one.place.name for one in fleet.places) or "none"
        seen = ", ".join(sorted(models)) or "none was seen"
        raise Refused("no-such", f"'{wanted[:40]}' is no place and no GPU model here; places: {places}; models: {seen}")
    kept = (_only(one, chosen) for one in fleet.places)
    return replace(fleet, places=tuple(one for one in kept if one.lines or one.problem))


def _only(one: PlaceFleet, models: set[str]) -> PlaceFleet:
    return replace(
        one,
        lines=tuple(line for line in one.lines if line.model in models),
        tenants=tuple(tenant for tenant in one.tenants if tenant.lease.model in models),
        ownerless=tuple(holder for holder in one.ownerless if holder.model in models),
    )


def _attributed(holder: Holder, open_ids: set[str], census: Census) -> Holder:
    """With the lease that it is named after, where a place was not read whole: what was not seen may say whose it is.

    A namespace has the name of its lease, and stands in `ref`.
    """
    if census.complete or holder.lease:
        return holder
    named = (word for word in holder.ref.replace("/", " ").split() if word in open_ids)
    return replace(holder, lease=next(named, ""))


def _just_over(record: Record, census: Census) -> set[str]:
    """Leases that were over only after the place was read: what the reading shows of them was theirs then."""
    return {one.id for one in record.leases if one.closed_at is not None and one.closed_at >= census.at}


def _flagged(holder: Holder) -> Holder:
    """A holder without an open lease, with what its mark says of one."""
    if not holder.lease:
        return holder
    over = f"{holder.lease} is over or on no record"
    return replace(holder, flag=f"{holder.flag}; {over}" if holder.flag else over)


def _of(lease: Lease, place: Place) -> bool:
    asked = lease.request.place
    return (asked.provider, asked.name) == (place.provider, place.name)


def _counted(
    pools: Sequence[Pool], held: Sequence[Holder], models: Mapping[str, str]
) -> tuple[list[Holder], list[Pool]]:
    """With what leases hold of that no pool counts any more, such as a machine that left the inventory.

    It is there until they are over, and counts as what they were approved for.
    """
    known = {pool.model for pool in pools}
    lost = [replace(one, model=models[one.lease]) for one in held if one.model not in known]
    more = {model: sum(one.units for one in lost if one.model == model) for model in known}
    whole = [replace(one, total=None if one.total is None else one.total + more.get(one.model, 0)) for one in pools]
    return [*(one for one in held if one.model in known), *lost], whole


def _pools(place: Place, read: Sequence[Pool], leases: Iterable[Lease], ownerless: Iterable[Holder]) -> list[Pool]:
    """The pools that were read, and one of which nothing is known for each other model that is leased or held."""
    pools = list(read)
    seen = {pool.model for pool in pools}
    more = {lease.model: Fraction(1) for lease in leases if lease.model}
    more |= {one.model: one.share for one in ownerless}
    return [*pools, *(Pool(place, model, share=share) for model, share in more.items() if model not in seen)]


def _held_by(lease: Lease, held: Iterable[Holder]) -> tuple[Holder, ...]:
    return tuple(one for one in held if one.lease == lease.id)


def _line(
    pool: Pool,
    leases: Sequence[Lease],
    held: Sequence[Holder],
    ownerless: Sequence[Holder],
    census: Census,
    *,
    on_demand: bool,
) -> Line:
    found = fleet_rights.claims(leases, pool, held)
    stray = sum(one.units for one in ownerless if one.model == pool.model)
    unsought = on_demand and not stray
    missed = sum(one.unheld for one in found if _up(one.lease, census))
    line = Line(
        pool.model,
        pool.unit,
        pool.share,
        pool.total,
        leased=fleet_rights.leased(found, pool, census),
        ownerless=None if unsought or not census.complete else stray,
        free=pool.free,
        unhealthy=pool.unhealthy,
        reserved=pool.reserved,
        largest=pool.largest,
        queued=pool.queued,
        on_demand=on_demand,
        hourly=pool.hourly,
    )
    return replace(line, unknown=_unknown(line, missed, census))


def _up(lease: Lease, census: Census) -> bool:
    """Whether its machine was to be seen in the reading: usable before it began, and not on its way out."""
    return lease.state is State.ACTIVE and lease.ready_at is not None and lease.ready_at < census.at


def _unknown(line: Line, missed: int, census: Census) -> int | None:
    """What nothing accounts for. Of a place that was not read whole nobody can say."""
    if not census.complete:
        return None
    if line.on_demand:
        return missed
    known = (line.total, line.free, line.unhealthy, line.ownerless)
    if any(one is None for one in known):
        return None
    total, *parts = (one or 0 for one in known)
    return max(total - sum(parts) - line.leased - (line.reserved or 0), 0)


def _tenant(lease: Lease, held: tuple[Holder, ...], census: Census, record: Record) -> Tenant:
    doing, since = _doing(lease, record)
    seen = sum(one.units for one in held)
    flags = dict.fromkeys(one.flag for one in held if one.flag)
    refs = tuple(one.ref for one in held)
    return Tenant(lease, doing, since, lease.cost(record.now), seen if census.complete else None, tuple(flags), refs)


def _doing(lease: Lease, record: Record) -> tuple[str, datetime | None]:
    """The verdict as of the latest tick; of a meter that is silent for some ticks it is unknown."""
    rests = rests_since(lease)
    if rests is not None:
        return STOPPED, rests
    if lease.state is not State.ACTIVE:
        return lease.state.value.replace("-", " "), None
    if record.every is None:
        return UNMETERED, None
    standing = record.standings.get(lease.id)
    if standing is None or record.now - standing.at > MISSED * record.every:
        return Verdict.UNKNOWN.value, standing.at if standing else None
    return standing.verdict.value, standing.since


def _squeezed(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
