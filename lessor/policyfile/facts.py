"""What rules may look at. Every field is documented here and only here; docs/policy.md is made from it.

A field that is `None` is unknown. Unknown is never zero, empty or false: a condition that needs it stays undetermined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, get_args, get_type_hints
from zoneinfo import ZoneInfo

from lessor.domain.case import Case
from lessor.domain.people import Person
from lessor.domain.quota import Headroom
from lessor.domain.quote import Quote
from lessor.domain.request import Request

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class RequestFacts:
    """What is asked for."""

    model: Annotated[str | None, "GPU model, such as `A100-80GB`, as the offer has it"] = None
    count: Annotated[int | None, "number of GPUs that the offer holds"] = None
    memory_gib: Annotated[int | None, "memory of each GPU in GiB"] = None
    instance_type: Annotated[str | None, "instance type of the offer, such as `g5.xlarge`"] = None
    workload: Annotated[
        str | None, "`training`, `fine-tuning`, `batch-inference`, `realtime-inference`, `notebook`, ..."
    ] = None
    market: Annotated[str | None, "`on-demand`, `spot` or `capacity-block`"] = None
    purpose: Annotated[str | None, "the purpose as it was written"] = None
    hours: Annotated[Decimal | None, "length in hours, from now when an end date was given"] = None
    days: Annotated[Decimal | None, "length in days of 24 hours"] = None
    ends: Annotated[datetime | None, "the end, if it began now"] = None
    disk_gib: Annotated[int | None, "size of the root volume in GiB"] = None
    snapshot: Annotated[bool | None, "whether a snapshot is kept after deletion"] = None
    tags: Annotated[Mapping[str, str] | None, "extra tags, by key"] = None


@dataclass(frozen=True)
class QuoteFacts:
    """What it costs. Limits apply to the on-demand price even for spot, because spot prices move."""

    known: Annotated[bool | None, "whether the price is known; always there"] = None
    hourly: Annotated[Decimal | None, "on-demand price of an hour"] = None
    total: Annotated[Decimal | None, "`hourly` for the whole length, rounded to the currency"] = None
    market_hourly: Annotated[Decimal | None, "price of an hour in the market that was asked for"] = None
    currency: Annotated[str | None, "currency code, such as `USD`"] = None


@dataclass(frozen=True)
class TeamFacts:
    """The team and the tightest quota that this request counts against."""

    key: Annotated[str | None, "the team's key"] = None
    limited: Annotated[bool | None, "whether a quota applies; without one the next four are unknown"] = None
    quota: Annotated[int | None, "GPUs that the team may hold at once"] = None
    used: Annotated[int | None, "GPUs of it that are held now"] = None
    free: Annotated[int | None, "`quota - used`"] = None
    after: Annotated[int | None, "`used` with this request granted"] = None


@dataclass(frozen=True)
class PersonFacts:
    """Who asks."""

    id: Annotated[str | None, "primary Slack user id"] = None
    email: Annotated[str | None, "main e-mail address in lower case; unknown if not configured"] = None
    teams: Annotated[tuple[str, ...] | None, "keys of the teams they belong to"] = None
    groups: Annotated[tuple[str, ...] | None, "approver groups they belong to"] = None
    lead: Annotated[bool | None, "whether they lead the team that the request is for"] = None
    admin: Annotated[bool | None, "whether they are an administrator"] = None


@dataclass(frozen=True)
class PlaceFacts:
    """Where it would run."""

    name: Annotated[str | None, "the place's name in lessor.yaml"] = None
    provider: Annotated[str | None, "`aws`"] = None
    region: Annotated[str | None, "region, if one was asked for"] = None
    zone: Annotated[str | None, "zone, if one was asked for"] = None


@dataclass(frozen=True)
class TimeFacts:
    """When it is asked, on the requester's own clock."""

    now: Annotated[datetime | None, "the instant"] = None
    hour: Annotated[int | None, "hour from 0 to 23 in the requester's time zone"] = None
    weekday: Annotated[str | None, "`monday` to `sunday` there"] = None
    weekend: Annotated[bool | None, "whether that is Saturday or Sunday"] = None
    date: Annotated[str | None, "date there, such as `2026-12-24`"] = None


@dataclass(frozen=True)
class Facts:
    """Everything that a condition can name, by the first word before the dot."""

    request: RequestFacts = RequestFacts()
    quote: QuoteFacts = QuoteFacts()
    team: TeamFacts = TeamFacts()
    person: PersonFacts = PersonFacts()
    place: PlaceFacts = PlaceFacts()
    time: TimeFacts = TimeFacts()

    def flat(self) -> dict[str, Any]:
        """Every fact by its dotted name, `None` where unknown."""
        return {
            f"{group.name}.{one.name}": getattr(getattr(self, group.name), one.name)
            for group in fields(self)
            for one in fields(getattr(self, group.name))
        }


def facts(case: Case) -> Facts:
    """The facts of one case."""
    request, quote, now = case.request, case.quote, case.now
    return Facts(
        request=_request(request, quote, now),
        quote=_quote(quote, request.length(now)),
        team=_team(request, quote, case.rooms),
        person=_person(case.person, request.team),
        place=PlaceFacts(
            name=request.place.name,
            provider=request.place.provider,
            region=request.place.region or None,
            zone=request.place.zone or None,
        ),
        time=_time(case.person.tz, now),
    )


def documented() -> dict[str, tuple[Any, str]]:
    """Every fact by its dotted name, with its Python type and what it means."""
    found: dict[str, tuple[Any, str]] = {}
    for group, facts_type in get_type_hints(Facts).items():
        hints = get_type_hints(facts_type, include_extras=True)
        found |= {f"{group}.{one.name}": get_args(hints[one.name]) for one in fields(facts_type)}
    return found


def _request(request: Request, quote: Quote | None, now: datetime) -> RequestFacts:
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
        ends=now + length,
        disk_gib=request.disk_gib,
        snapshot=request.snapshot,
        tags=request.tags,
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


def _team(request: Request, quote: Quote | None, team_headroom: Iterable[Headroom] | None) -> TeamFacts:
    if team_headroom is None:
        return TeamFacts(key=request.team)
    rooms = list(team_headroom)
    if not rooms:
        return TeamFacts(key=request.team, limited=False)
    tightest = min(rooms, key=lambda room: room.free)
    count = quote.offer.gpu_count if quote else None if request.need.instance_type else request.need.count
    return TeamFacts(
        key=request.team,
        limited=True,
        quota=tightest.quota.gpus,
        used=tightest.used,
        free=tightest.free,
        after=None if count is None else tightest.used + count,
    )


def _person(person: Person, team: str) -> PersonFacts:
    return PersonFacts(
        id=person.id,
        email=person.email.casefold() or None,
        teams=person.teams,
        groups=person.groups,
        lead=team in person.leads,
        admin=person.admin,
    )


def _time(tz: str, now: datetime) -> TimeFacts:
    try:
        local = now.astimezone(ZoneInfo(tz))
    except (KeyError, ValueError, OSError):
        return TimeFacts(now=now)
    return TimeFacts(
        now=now,
        hour=local.hour,
        weekday=WEEKDAYS[local.weekday()],
        weekend=local.weekday() >= 5,
        date=local.date().isoformat(),
    )
