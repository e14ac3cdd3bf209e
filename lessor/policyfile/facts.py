"""What rules may look at. Every field is documented here and only here; docs/policy.md is made from it.

A field that is `None` is unknown. Unknown is never zero, empty or false: a condition that needs it stays undetermined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, get_args, get_type_hints


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
    hours: Annotated[Decimal | None, "length in hours, from its start when an end date was given"] = None
    days: Annotated[Decimal | None, "length in days of 24 hours"] = None
    ends: Annotated[datetime | None, "the end, if it is ready as soon as it may begin"] = None
    disk_gib: Annotated[int | None, "size of the root volume in GiB"] = None
    snapshot: Annotated[bool | None, "whether a snapshot is kept after deletion"] = None
    tags: Annotated[Mapping[str, str] | None, "extra tags, by key"] = None
    project: Annotated[str | None, "the project that is charged; empty if none was given"] = None
    data: Annotated[str | None, "sensitivity of the data, a class of `security`; empty if none was given"] = None
    checkpoints: Annotated[bool | None, "whether the work survives an interruption"] = None
    start_in_hours: Annotated[Decimal | None, "hours until it is to begin; 0 for at once"] = None
    schedule: Annotated[str | None, "working hours outside which it is stopped; empty if none were given"] = None
    capped: Annotated[bool | None, "whether it may cost only so much; without a cap the next one is unknown"] = None
    cap: Annotated[Decimal | None, "the most that it may cost, by the requester's own wish"] = None
    kind: Annotated[str | None, "`machine`, `namespace` or `workspace`; what the place has if none was named"] = None


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
    """The team and the tightest hard quota that this request counts against: the team's, project's or person's."""

    key: Annotated[str | None, "the team's key"] = None
    limited: Annotated[bool | None, "whether a quota applies; without one the next four are unknown"] = None
    quota: Annotated[int | None, "GPUs that the team may hold at once"] = None
    used: Annotated[int | None, "GPUs of it that are held now"] = None
    free: Annotated[int | None, "`quota - used`"] = None
    after: Annotated[int | None, "`used` with this request granted"] = None
    over_soft: Annotated[bool | None, "whether a soft quota would be passed with it"] = None


@dataclass(frozen=True)
class BudgetFacts:
    """The tightest budget of money, and of GPU-hours, that this request counts against in the running period.

    What is left, and the share, are those after this request.
    """

    limited: Annotated[bool | None, "whether a budget of money applies; without one the next five are unknown"] = None
    ceiling: Annotated[Decimal | None, "money that may be spent in the period"] = None
    spent: Annotated[Decimal | None, "what is spent of it"] = None
    committed: Annotated[Decimal | None, "what running leases and approved requests will still spend"] = None
    left: Annotated[Decimal | None, "`ceiling - spent - committed - quote.total`; negative when it does not fit"] = None
    share: Annotated[Decimal | None, "percent of the ceiling that is used up after this request"] = None
    hours_limited: Annotated[bool | None, "whether a budget of GPU-hours applies"] = None
    hours_ceiling: Annotated[Decimal | None, "GPU-hours that may be used in the period"] = None
    hours_used: Annotated[Decimal | None, "GPU-hours that are used or committed"] = None
    hours_left: Annotated[Decimal | None, "GPU-hours that are left after this request"] = None


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
    provider: Annotated[str | None, "`aws`, `kubernetes` or `machines`"] = None
    region: Annotated[
        str | None, "region that was asked for, or else the one of the offer; unknown where there are none"
    ] = None
    zone: Annotated[str | None, "zone, if one was asked for"] = None
    residency: Annotated[str | None, "the jurisdiction in which data lies there; unknown if not configured"] = None
    encrypted: Annotated[bool | None, "whether storage is encrypted there"] = None
    public_address: Annotated[bool | None, "whether machines have public addresses there"] = None


@dataclass(frozen=True)
class TimeFacts:
    """When it is asked, on the requester's own clock."""

    now: Annotated[datetime | None, "the instant"] = None
    hour: Annotated[int | None, "hour from 0 to 23 in the requester's time zone"] = None
    weekday: Annotated[str | None, "`monday` to `sunday` there"] = None
    weekend: Annotated[bool | None, "whether that is Saturday or Sunday"] = None
    date: Annotated[str | None, "date there, such as `2026-12-24`"] = None
    holiday: Annotated[bool | None, "whether it is a holiday of the requester's country; unknown without one"] = None


@dataclass(frozen=True)
class SimilarFacts:
    """Open leases of the requester that look like this one: same GPUs, place, market and team."""

    count: Annotated[int | None, "how many there are"] = None
    ids: Annotated[tuple[str, ...] | None, "their ids"] = None


@dataclass(frozen=True)
class LeaseFacts:
    """The lease, when an extension is judged; then `request.hours` is the whole length with it."""

    extensions: Annotated[int | None, "how often it was extended before; 0 for a request"] = None


@dataclass(frozen=True)
class Facts:
    """Everything that a condition can name, by the first word before the dot."""

    request: RequestFacts = RequestFacts()
    quote: QuoteFacts = QuoteFacts()
    team: TeamFacts = TeamFacts()
    budget: BudgetFacts = BudgetFacts()
    person: PersonFacts = PersonFacts()
    place: PlaceFacts = PlaceFacts()
    time: TimeFacts = TimeFacts()
    similar: SimilarFacts = SimilarFacts()
    lease: LeaseFacts = LeaseFacts()

    def flat(self) -> dict[str, Any]:
        """Every fact by its dotted name, `None` where unknown."""
        return {
            f"{group.name}.{one.name}": getattr(getattr(self, group.name), one.name)
            for group in fields(self)
            for one in fields(getattr(self, group.name))
        }


def documented() -> dict[str, tuple[Any, str]]:
    """Every fact by its dotted name, with its Python type and what it means."""
    found: dict[str, tuple[Any, str]] = {}
    for group, facts_type in get_type_hints(Facts).items():
        hints = get_type_hints(facts_type, include_extras=True)
        found |= {f"{group}.{one.name}": get_args(hints[one.name]) for one in fields(facts_type)}
    return found
