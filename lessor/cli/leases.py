"""Leases as the command line shows them: flat facts for programs, the same in words for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lessor.asjson import lease_facts, next_try
from lessor.cli import idleness
from lessor.cli.output import Column
from lessor.domain import capping, disks, ends, suspension
from lessor.domain.approval import waiting
from lessor.domain.authority import may_enter
from lessor.domain.changes import describe
from lessor.domain.costing import added_cost, compute_cost, storage_cost
from lessor.domain.lease import Lease, State, back_to_running
from lessor.domain.people import Person
from lessor.domain.quote import Quote
from lessor.domain.request import spell
from lessor.when import in_zone, local
from lessor.when.clock import zone_of


def facts(lease: Lease, now: datetime, viewer: Person) -> dict[str, Any]:
    """The JSON form of a lease; how to get in is `None` as well for a viewer who may not."""
    return lease_facts(lease, now, _access(lease, viewer))


def columns(mine: bool) -> tuple[Column, ...]:
    """The columns of a list; of one's own leases the owner is the first thing that can be left out."""
    return (
        Column("ID", whole=True),
        Column("State"),
        Column("Owner", whole=True, spare=5 if mine else 0),
        Column("Team", whole=True, spare=4),
        Column("GPUs", whole=True, spare=1),
        Column("Ends", whole=True),
        Column("Cost", whole=True, spare=2),
        Column("Purpose", spare=3),
    )


def row(lease: Lease, now: datetime, zone: str) -> tuple[str, ...]:
    """One line of a list, with times in the reader's zone, and the year only where it is another than now."""
    cost = lease.cost(now)
    offer = lease.quote.offer if lease.quote else None
    return (
        lease.id,
        lease.state.value.replace("-", " "),
        lease.owner,
        lease.request.team,
        f"{offer.gpu_count} x {offer.gpu_model}" if offer else str(lease.request.need),
        short_end(lease, now, zone),
        str(cost) if cost else "unknown",
        lease.request.purpose[:60],
    )


def short_end(lease: Lease, now: datetime, zone: str) -> str:
    """The end in a list, or since when it is over, with the year only where it is another than now."""
    over = ends.over(lease) or lease.closed_at
    at = over or ends.ahead(lease)
    if at is None:
        return f"{spell(lease.request.duration)} once ready" if lease.request.duration else ""
    there, today = (one.astimezone(zone_of(zone) or UTC) for one in (at, now))
    year = "" if there.year == today.year else f" {there.year}"
    return f"{'ended ' if over else ''}{there.day} {there:%b}{year} {there:%H:%M}"


def details(lease: Lease, eligible: Iterable[Person], now: datetime, viewer: Person) -> list[tuple[str, str]]:
    """Everything about one lease that the viewer may see, in the order in which people ask for it."""
    zone, again = viewer.tz, next_try(lease)
    request = lease.request
    rules = "; ".join(f"{one.rule}: {one.text}" for one in lease.decision.reasons) if lease.decision else ""
    decided = f"{lease.decided_by} on {local(lease.decided_at, zone)}" if lease.decided_at else ""
    return [
        ("Lease", lease.id),
        ("State", _state(lease)),
        ("Owner", f"{lease.owner}, team {request.team}"),
        ("Shared with", ", ".join(one.id for one in lease.co_owners)),
        ("Owned before by", ", ".join(lease.former_owners)),
        ("Offered to", _offered(lease, zone)),
        ("GPUs", f"{_what(lease)}, {request.market.value}, {request.place}"),
        ("Kind", request.kind.value if request.kind else ""),
        ("Workload", request.workload.value),
        ("Purpose", request.purpose),
        ("Requested", local(lease.requested_at, zone)),
        ("Begins", local(request.start, zone) if request.start else ""),
        ("Ended" if ends.over(lease) else "Ends", _end(lease, zone)),
        ("Later end", _wished(lease, zone)),
        ("Hours", _hours(lease, now, zone)),
        *idleness.rows(lease, now, zone),
        ("Price", _price(lease.quote)),
        ("Cost so far", _cost(lease, now)),
        ("Added disks", _added(lease, now, zone)),
        ("At most", capping.spelled(lease, now, lambda at: local(at, zone))),
        ("Policy", rules),
        ("Can decide", _deciders(lease, eligible)),
        *_talked(lease, zone),
        ("Decided", f"{decided}: {lease.decided_reason}" if lease.decided_reason else decided),
        ("Tried", _tried(lease)),
        ("Next try", local(again, zone) if again else ""),
        *_ways_in(lease, viewer),
        ("Resources", ", ".join(f"{one.ref} {one.condition.value}" for one in lease.resources)),
        ("Problem", in_zone(lease.problem, zone)),
        ("Held up", lease.held),
        ("Still there", ", ".join(lease.left)),
        ("Proof", lease.proof),
    ]


def _price(quote: Quote | None) -> str:
    known = quote and quote.offer.hourly
    return f"{known} an hour ({quote.price_list})" if quote and known else "unknown"


def _state(lease: Lease) -> str:
    """Where it is stopped, for now (`suspended`) or at its end (`stopped`), with what brings it back."""
    back = back_to_running(lease)
    means = "it is stopped for now" if lease.state is State.SUSPENDED else "its end has come"
    return f"{lease.state.value}: {means}; {back}" if back else lease.state.value


def _deciders(lease: Lease, eligible: Iterable[Person]) -> str:
    groups = (ref for step in waiting(lease.steps) for ref in step.approvers if ref.startswith("slack-group:"))
    return ", ".join((*(person.name or person.id for person in eligible), *dict.fromkeys(groups)))


def _cost(lease: Lease, now: datetime) -> str:
    """The sum, with what machines and disks have of it where both cost something."""
    cost = lease.cost(now)
    total = str(cost) if cost else "unknown"
    if not lease.storage:
        return total
    compute, kept = (str(one) if one else "unknown" for one in (compute_cost(lease, now), storage_cost(lease, now)))
    theirs = f", of which {added_cost(lease, now) or 'unknown'} for added ones" if disks.added(lease.storage) else ""
    return f"{total} (machines {compute}, disks {kept}{theirs})"


def _added(lease: Lease, now: datetime, zone: str) -> str:
    """Each disk that people added and that is there, and what of them is gone."""
    there = [one for one in disks.added(lease.storage) if one.end is None]
    gone = len({one.disk for one in disks.added(lease.storage)} - {one.disk for one in there})
    said = disks.listed(there, lambda one: f"{disks.spelt(one, now)} since {local(one.start, zone)}") if there else ""
    return "; ".join(filter(None, (said, f"{gone} that {'is' if gone == 1 else 'are'} gone" if gone else "")))


def _talked(lease: Lease, zone: str) -> list[tuple[str, str]]:
    """What happens while it is undecided, and what was said about it."""
    undecided = lease.state is State.AWAITING_APPROVAL
    asked = (f"{q.by}: {q.text} - {q.answer or 'not answered yet'}" for q in lease.questions)
    counter = lease.counter
    return [
        ("Lapses", local(lease.lapses_at, zone) if undecided else ""),
        ("Proposed", f"{describe(counter.changes)}, by {counter.by}" if counter and undecided else ""),
        *(("Question", one) for one in asked),
    ]


def _offered(lease: Lease, zone: str) -> str:
    if lease.transfer is None:
        return ""
    until = f", until {local(lease.transfer.expires, zone)}" if lease.transfer.expires else ""
    return f"{', '.join(lease.transfer.to)}; team {lease.transfer.team} pays then{until}"


def _what(lease: Lease) -> str:
    if lease.quote is None:
        return str(lease.request.need)
    return str(lease.quote.offer)


def _end(lease: Lease, zone: str) -> str:
    at = ends.over(lease) or ends.ahead(lease)
    if at or lease.final:
        return local(at, zone) if at else ""
    return f"{spell(lease.request.duration)} after it is ready" if lease.request.duration else ""


def _wished(lease: Lease, zone: str) -> str:
    if lease.wish is None:
        return ""
    names = ", ".join(step.name for step in waiting(lease.wish.steps))
    held = f"; it runs until {local(lease.runs_until, zone)} at the longest meanwhile" if lease.runs_until else ""
    return f"{local(lease.wish.until, zone)} is asked for by {lease.wish.by}, {names} decides{held}"


def _hours(lease: Lease, now: datetime, zone: str) -> str:
    """When it runs, where that is not always, and what happens next."""
    if lease.schedule is None or not lease.stoppable or lease.final:
        return suspension.not_applied(lease)
    hours = f"{lease.request.schedule or 'its team'}, {suspension.spelled(lease.schedule)}"
    if lease.exemption and now < lease.exemption.until:
        return f"{hours}; exempt until {local(lease.exemption.until, zone)}: {lease.exemption.reason}"
    if lease.state is State.SUSPENDED:
        return f"{hours}; it rests until {local(suspension.runs_again(lease, now), zone)}"
    stops = suspension.stops_next(lease, now) if lease.state is State.ACTIVE else None
    return f"{hours}; it is stopped {local(stops, zone)}" if stops else hours


def _tried(lease: Lease) -> str:
    if lease.capacity is None or lease.final:
        return ""
    if lease.capacity.queued:
        return f"in its queue: {', '.join(lease.capacity.tried)}"
    times = "once" if lease.capacity.tries == 1 else f"{lease.capacity.tries} times"
    return f"{times}, without capacity in {', '.join(lease.capacity.tried) or 'any place'}"


def _ways_in(lease: Lease, viewer: Person) -> list[tuple[str, str]]:
    """One command a line, so that each can be copied by itself; none while it is stopped."""
    lines = _access(lease, viewer).splitlines() if lease.state is State.ACTIVE else []
    return [("" if at else "Access", line) for at, line in enumerate(lines)]


def _access(lease: Lease, viewer: Person) -> str:
    return lease.access if not lease.final and may_enter(lease, viewer) else ""
