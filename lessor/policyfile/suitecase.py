"""Makes the case that a policy test speaks of, without a cloud, a ledger or a directory but the configuration's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import cast

from lessor.accounting import Accounting
from lessor.config.configuration import Config
from lessor.config.model import PlaceConfig
from lessor.config.wording import nearest
from lessor.directory import ConfigDirectory
from lessor.domain.budget import Entry
from lessor.domain.case import Case, Similar
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.quota import Account, Ceiling, Reservation
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need, Place, Request
from lessor.policyfile import offline
from lessor.policyfile.suitemodel import AskedConfig
from lessor.ports import QuotaBook

A_DAY = timedelta(days=1)


def case(wanted: AskedConfig, at: datetime, config: Config) -> Case:
    """The case. Raises ValueError, in words, when it names what lessor.yaml does not have."""
    person = _person(wanted, config)
    team = wanted.team or next(iter(person.teams), next(iter(config.organisation.teams)))
    if team not in config.organisation.teams:
        known = list(config.organisation.teams)
        raise ValueError(f"there is no team '{team}'{nearest(team, known)}; teams: {', '.join(known)}")
    place = _place(wanted, config)
    need = Need(wanted.model, wanted.count, instance_type=wanted.instance_type)
    quote = _quote(wanted, need, place, at, config.organisation.currency)
    request = _request(wanted, need, place, team, person.id)
    lease = Lease("tested", request, person.id, at, owner_ids=tuple(person.all_ids), quote=quote)
    accounting = Accounting(cast(QuotaBook, _Held(lease, wanted.held)), lambda: config.quota_plan)
    return Case(
        request,
        quote,
        person,
        at,
        accounting.rooms(lease),
        accounting.budgets(lease, at),
        similar=tuple(Similar(f"similar-{number}") for number in range(1, wanted.similar + 1)),
        extensions=wanted.extensions,
    )


def _person(wanted: AskedConfig, config: Config) -> Person:
    people = ConfigDirectory(config).people
    if not wanted.by:
        return next((one for one in people if one.active and (not wanted.team or wanted.team in one.teams)), people[0])
    found = config.person_id(wanted.by)
    if found is None:
        raise ValueError(f"nobody is '{wanted.by}'{nearest(wanted.by, list(config.primary_ids))}")
    return next(one for one in people if one.id == found)


def _place(wanted: AskedConfig, config: Config) -> PlaceConfig:
    if not wanted.place:
        return config.places[0]
    place = config.place(wanted.place)
    if place is None:
        known = [one.name for one in config.places]
        raise ValueError(
            f"there is no place '{wanted.place}'{nearest(wanted.place, known)}; places: {', '.join(known)}"
        )
    return place


def _quote(wanted: AskedConfig, need: Need, place: PlaceConfig, at: datetime, currency: str) -> Quote | None:
    quote = offline.quote(need, place, wanted.region, wanted.market, at, currency)
    if quote is None:
        if wanted.model or wanted.instance_type:
            raise ValueError(f"nothing in the catalogue is {wanted.instance_type or wanted.model} in {place.name}")
        return None
    if wanted.price is None:
        return quote
    price = None if wanted.price == "unknown" else Money(Decimal(wanted.price), currency)
    listed = quote.offer.on_demand_hourly if wanted.market is Market.SPOT and price else None
    return replace(quote, offer=replace(quote.offer, hourly=price, on_demand_hourly=listed or price))


def _request(wanted: AskedConfig, need: Need, place: PlaceConfig, team: str, person: str) -> Request:
    if wanted.duration and wanted.until:
        raise ValueError("has both `for` and `until`; keep one of them")
    return Request(
        requester=person,
        team=team,
        purpose=wanted.purpose,
        workload=wanted.workload,
        need=need,
        place=Place(place.provider, place.name, wanted.region),
        market=wanted.market,
        kind=wanted.kind,
        duration=None if wanted.until else wanted.duration or A_DAY,
        until=wanted.until,
        snapshot=wanted.snapshot,
        disk_gib=wanted.disk_gib,
        tags=dict(wanted.tags),
        start=wanted.start,
        project=wanted.project,
        data=wanted.data,
        checkpoints=wanted.checkpoints,
        schedule=wanted.schedule,
    )


class _Held:
    """The record of a test: so many GPUs that the team holds, and nothing that is used of any month."""

    def __init__(self, lease: Lease, gpus: int) -> None:
        self._reservation = Reservation("held", lease.request.team, lease.model, gpus)

    def counted(self, account: Account, ceilings: Iterable[Ceiling], but: str = "") -> tuple[Reservation, ...]:
        return (self._reservation,)

    def taken(self, account: Account, months: Iterable[str], but: str = "") -> tuple[Entry, ...]:
        return ()
