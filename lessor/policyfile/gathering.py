"""Takes the facts that rules look at from a case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from lessor.domain.budget import BudgetRoom, used
from lessor.domain.case import Case, Similar
from lessor.domain.people import Person
from lessor.domain.quota import Headroom, Kind
from lessor.domain.quote import Quote
from lessor.domain.request import LeaseKind, Request
from lessor.domain.worktime import Hours
from lessor.policyfile.facts import (
    BudgetFacts,
    Facts,
    LeaseFacts,
    PersonFacts,
    PlaceFacts,
    QuoteFacts,
    RequestFacts,
    SimilarFacts,
    TeamFacts,
    TimeFacts,
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class Site:
    """What the configuration says of a place; `None` where it is not known, no types where any may be used."""

    residency: str | None = None
    encrypted: bool | None = None
    public_address: bool | None = None
    markets: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    kinds: tuple[LeaseKind, ...] = (LeaseKind.MACHINE,)


UNKNOWN_SITE = Site()


def facts(case: Case, site: Site = UNKNOWN_SITE) -> Facts:
    """The facts of one case; `site` is what the configuration says of its place."""
    request, quote, now = case.request, case.quote, case.now
    return Facts(
        request=_request(request, quote, site, now),
        quote=_quote(quote, request.length(now)),
        team=_team(request, quote, case.rooms),
        budget=_budget(case.budgets),
        person=_person(case.person, request.team),
        place=_place(request, quote, site),
        time=_time(case.person, now),
        similar=_similar(case.similar),
        lease=LeaseFacts(case.extensions),
    )


def _request(request: Request, quote: Quote | None, site: Site, now: datetime) -> RequestFacts:
    length = request.length(now)
    offer = quote.offer if quote else None
    need = request.need
    return RequestFacts(
        model=(offer.gpu_model if offer else need.model) or None,
        count=offer.gpu_count if offer else None if need.instance_type else need.count,
        memory_gib=(offer.gpu_memory_gib if offer else need.memory_gib) or None,
        instance_type=(offer.instance_type if offer else need.instance_type) or None,
        workload=request.workload.value,
        market=request.market.value,
        purpose=request.purpose,
        hours=_units(length, timedelta(hours=1)),
        days=_units(length, timedelta(days=1)),
        ends=request.begins(now) + length,
        disk_gib=request.disk_gib,
        snapshot=request.snapshot,
        tags=request.tags,
        project=request.project,
        data=request.data,
        checkpoints=request.checkpoints,
        start_in_hours=_units(max((request.start or now) - now, timedelta()), timedelta(hours=1)),
        schedule=request.schedule,
        capped=request.cap is not None,
        cap=request.cap.amount if request.cap else None,
        kind=(request.kind or site.kinds[0]).value,
    )


def _units(length: timedelta, unit: timedelta) -> Decimal:
    return Decimal(length // timedelta(microseconds=1)) / Decimal(unit // timedelta(microseconds=1))


def _quote(quote: Quote | None, length: timedelta) -> QuoteFacts:
    judged = quote.judged_hourly if quote else None
    if quote is None or judged is None or quote.offer.hourly is None:
        return QuoteFacts(known=False)
    return QuoteFacts(
        known=True,
        hourly=judged.amount,
        total=judged.for_time(length).rounded().amount,
        market_hourly=quote.offer.hourly.amount,
        currency=judged.currency,
    )


def _team(request: Request, quote: Quote | None, found: Iterable[Headroom] | None) -> TeamFacts:
    if found is None:
        return TeamFacts(key=request.team)
    rooms = list(found)
    count = quote.offer.gpu_count if quote else None if request.need.instance_type else request.need.count
    soft = [room.free for room in rooms if not room.quota.hard]
    over = None if count is None and soft else any(free < (count or 0) for free in soft)
    tightest = min((room for room in rooms if room.quota.hard), key=lambda room: room.free, default=None)
    if tightest is None:
        return TeamFacts(key=request.team, limited=False, over_soft=over)
    return TeamFacts(
        key=request.team,
        limited=True,
        quota=tightest.used + tightest.free,
        used=tightest.used,
        free=tightest.free,
        after=None if count is None else tightest.used + count,
        over_soft=over,
    )


def _budget(rooms: tuple[BudgetRoom, ...] | None) -> BudgetFacts:
    if rooms is None:
        return BudgetFacts()
    money = [room for room in rooms if room.kind is Kind.MONEY]
    hours = [room for room in rooms if room.kind is Kind.GPU_HOURS]
    tight, short = _tightest(money), _tightest(hours)
    share = used(tight) if tight else None
    return BudgetFacts(
        limited=bool(money),
        ceiling=tight.ceiling if tight else None,
        spent=tight.spent if tight else None,
        committed=tight.committed if tight else None,
        left=tight.left if tight else None,
        share=None if share is None else share * 100,
        hours_limited=bool(hours),
        hours_ceiling=short.ceiling if short else None,
        hours_used=_sum(short.spent, short.committed) if short else None,
        hours_left=short.left if short else None,
    )


def _tightest(rooms: list[BudgetRoom]) -> BudgetRoom | None:
    """The one with the least left; `None` when there is none, or when one of them is unknown and may be tighter."""
    concerned = [room for room in rooms if room.asked != 0] or rooms
    left = [(room.left, room) for room in concerned]
    if any(amount is None for amount, _ in left):
        return None
    return min(left, key=lambda one: one[0] or Decimal(0), default=(None, None))[1]


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def _person(person: Person, team: str) -> PersonFacts:
    return PersonFacts(
        id=person.id,
        email=person.email.casefold() or None,
        teams=person.teams,
        groups=person.groups,
        lead=team in person.leads,
        admin=person.admin,
    )


def _place(request: Request, quote: Quote | None, site: Site) -> PlaceFacts:
    offered = quote.offer.region if quote else ""
    return PlaceFacts(
        name=request.place.name,
        provider=request.place.provider,
        region=request.place.region or offered or None,
        zone=request.place.zone or None,
        residency=site.residency,
        encrypted=site.encrypted,
        public_address=site.public_address,
    )


def _time(person: Person, now: datetime) -> TimeFacts:
    try:
        local = now.astimezone(ZoneInfo(person.tz))
    except (KeyError, ValueError, OSError):
        return TimeFacts(now=now)
    return TimeFacts(
        now=now,
        hour=local.hour,
        weekday=WEEKDAYS[local.weekday()],
        weekend=local.weekday() >= 5,
        date=local.date().isoformat(),
        holiday=_holiday(person.hours, local),
    )


def _holiday(hours: Hours | None, local: datetime) -> bool | None:
    """Unknown where no holidays are written out: then nobody said in which country the person is."""
    return None if hours is None or not hours.holidays else local.date() in hours.holidays


def _similar(found: tuple[Similar, ...] | None) -> SimilarFacts:
    if found is None:
        return SimilarFacts()
    return SimilarFacts(len(found), tuple(one.lease_id for one in found))
