"""Test data that holds together: leases are led through the domain itself, so that no test invents a state of its own.

A suspended lease has the schedule `MORNINGS`, which close at `CLOSES`.

Times: asked at `ASKED`, approved 10 minutes later (`APPROVED`), usable 15 minutes later (`READY`), for 8 hours
(`ENDS`), then stopped for 7 days of grace. Prices are exact: 98.32 USD an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lessor.domain import life, suspension, transitions
from lessor.domain.approval import Step
from lessor.domain.lease import Change, Event, Lease, State
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quota import Ceiling
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Limits, Market, Need, Place, Request, Workload
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from lessor.when.hours import Week

ASKED = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
APPROVED = ASKED + timedelta(minutes=10)
LAUNCHED = ASKED + timedelta(minutes=12)
READY = ASKED + timedelta(minutes=15)
LENGTH = timedelta(hours=8)
ENDS = READY + LENGTH
CLOSES = ASKED + timedelta(hours=3)
LEASE_ID = "gpu-7k3qxa2m"
ACCESS = "aws ssm start-session --target i-0aaa"


def usd(amount: str) -> Money:
    return Money(Decimal(amount), "USD")


HOURLY = usd("98.32")


MORNINGS = Hours("UTC", ((ASKED - timedelta(days=1), 0),), opens=9 * 60, closes=12 * 60)
"""09:00 to 12:00 UTC on every day."""
OFFICE = Week((0, 1, 2, 3, 4), opens=9 * 60, closes=18 * 60)
"""What people work unless the configuration says otherwise."""


def a_quota(team: str, most: int, model: str = "", **changes: Any) -> Ceiling:
    """A hard ceiling for GPUs that a team holds at once."""
    return Ceiling(f"team:{team}", Decimal(most), model=model, **changes)


def a_person(id: str = "U0REQUESTER", **changes: Any) -> Person:
    """An active person; by default the requester, member of team `ml`."""
    return Person(id, **({"ids": (id,), "name": id.lower(), "teams": ("ml",)} | changes))


REQUESTER = a_person("U0REQUESTER", ids=("U0REQUESTER", "W0REQUESTER"), email="requester@example.test")
MANAGER = a_person("U0MANAGER", leads=("ml",))
FINANCE = a_person("U0FINANCE", teams=(), groups=("finance",))
ADMIN = a_person("U0ADMIN", teams=(), admin=True)
STRANGER = a_person("U0STRANGER", teams=("vision",))
PEOPLE = (REQUESTER, MANAGER, FINANCE, ADMIN, STRANGER)


def members_of(*people: Person) -> Callable[[str], tuple[Person, ...]]:
    """Who stands behind a reference, among `people` (everybody by default)."""
    return lambda ref: tuple(p for p in people or PEOPLE if ref in p.refs)


def a_need(**changes: Any) -> Need:
    fields: dict[str, Any] = {"model": "A100-80GB", "count": 8}
    return Need(**(fields | changes))


def a_place(**changes: Any) -> Place:
    return Place(**({"provider": "aws", "name": "research", "region": "us-east-1"} | changes))


def a_request(**changes: Any) -> Request:
    """A valid request of the requester for 8 GPUs for 8 hours. `until` replaces the duration."""
    fields: dict[str, Any] = {
        "requester": REQUESTER.id,
        "team": "ml",
        "purpose": "train the ranking model",
        "workload": Workload.TRAINING,
        "need": a_need(),
        "place": a_place(),
        "duration": None if "until" in changes else LENGTH,
        "interaction": "slack:T1:view:1",
    }
    return Request(**(fields | changes))


def some_limits(**changes: Any) -> Limits:
    return Limits(**({"teams": ("ml",), "places": ("research",)} | changes))


def an_offer(**changes: Any) -> Offer:
    fields: dict[str, Any] = {
        "instance_type": "p4de.24xlarge",
        "gpu_model": "A100-80GB",
        "gpu_count": 8,
        "gpu_memory_gib": 80,
        "vcpus": 96,
        "market": Market.ON_DEMAND,
        "hourly": HOURLY,
    }
    return Offer(**(fields | changes))


def a_quote(hourly: Money | None = HOURLY, **changes: Any) -> Quote:
    """A quote of one offer at `hourly`, which is `None` when unknown."""
    fields: dict[str, Any] = {"need": a_need(), "offer": an_offer(hourly=hourly), "at": ASKED}
    return Quote(**(fields | {"price_list": "catalogue 2026-11-01"} | changes))


def a_decision(outcome: Outcome = Outcome.REQUIRE, **changes: Any) -> Decision:
    fields: dict[str, Any] = {
        "reasons": (Reason("large", "eight GPUs or more"),),
        "steps": (StepSpec("manager", ("lead:ml",)),) if outcome is Outcome.REQUIRE else (),
        "policy_version": "p1",
    }
    return Decision(outcome, **(fields | changes))


def a_step(name: str = "manager", *approvers: str, quorum: int = 1, stage: int = 0) -> Step:
    return Step(name, approvers or ("lead:ml",), quorum, stage=stage)


def an_instance(id: str = "i-0aaa", condition: Condition = Condition.RUNNING, **changes: Any) -> Resource:
    return Resource(Kind.INSTANCE, id, condition, **({"region": "us-east-1", "type": "p4de.24xlarge"} | changes))


def a_volume(id: str = "vol-0aaa", condition: Condition = Condition.RUNNING) -> Resource:
    return Resource(Kind.VOLUME, id, condition)


def a_snapshot(id: str = "snap-0aaa", condition: Condition = Condition.RUNNING) -> Resource:
    return Resource(Kind.SNAPSHOT, id, condition)


def a_sighting(*resources: Resource, at: datetime = ENDS, complete: bool = True, problem: str = "") -> Sighting:
    """What a look shows; of nothing at all it is clean."""
    return Sighting(resources, at, complete, problem)


RESOURCES = (an_instance(), a_volume())
GONE = (an_instance(condition=Condition.GONE), a_volume(condition=Condition.GONE))


def a_lease(state: State = State.ACTIVE, **changes: Any) -> Lease:
    """A lease that came to `state` by the usual way; see `a_story` for what can be changed."""
    return a_story(state, **changes)[0]


def a_story(
    state: State = State.ACTIVE,
    *,
    id: str = LEASE_ID,
    request: Request | None = None,
    quote: Quote | None = None,
    decision: Decision | None = None,
    steps: tuple[Step, ...] | None = None,
    terms: Terms | None = None,
    stoppable: bool = True,
    shift: timedelta = timedelta(),
    schedule: Hours | None = None,
) -> tuple[Lease, tuple[Event, ...]]:
    """A lease in `state` and all events that led there. `shift` moves every time of it.

    Failed, blocked and withdrawn leases failed, were blocked and withdrawn at the first place where that is possible;
    a lease that ends is ended by its end date after all its warnings.
    """
    request = request or a_request()
    first = transitions.submit(id, request, ASKED + shift, terms)
    steps = (a_step(),) if steps is None else steps
    judged = (quote or a_quote(), decision or a_decision(), steps)
    hours = schedule or (MORNINGS if state is State.SUSPENDED else None)
    lease, events = replace(first.lease, schedule=hours), list(first.events)
    for change in _way(state, lease, judged, stoppable, shift):
        lease = change.lease
        events.extend(change.events)
    if lease.state is not state:
        raise AssertionError(f"the way to {state} led to {lease.state}")
    return lease, tuple(events)


Changes = Generator[Change, None, None]
Judged = tuple[Quote, Decision, tuple[Step, ...]]


def _way(state: State, lease: Lease, judged: Judged, stoppable: bool, shift: timedelta) -> Changes:
    if state is State.REQUESTED:
        return
    quote, decision, steps = judged
    lease = yield from _step(transitions.assess(lease, quote, decision, steps, REQUESTER, ASKED + shift))
    if lease.state is state:
        return
    if state is State.WITHDRAWN:
        yield transitions.withdraw(lease, lease.owner, APPROVED + shift)
        return
    if state is State.DENIED:
        yield transitions.deny(lease, MANAGER, "too expensive", APPROVED + shift)
        return
    if state is State.LAPSED:
        yield transitions.lapse(lease, lease.lapses_at)
        return
    if lease.state is State.AWAITING_APPROVAL:
        lease = yield from _step(transitions.approve(lease, MANAGER, APPROVED + shift))
    if state is not State.APPROVED:
        yield from _provisioned(state, lease, stoppable, shift)


def _provisioned(state: State, lease: Lease, stoppable: bool, shift: timedelta) -> Changes:
    lease = yield from _step(life.start_provisioning(lease, APPROVED + shift))
    if state is State.PROVISIONING:
        return
    if state is State.WAITING_FOR_CAPACITY:
        tried = ("p4de.24xlarge in us-east-1a (on-demand)",)
        yield life.wait_for_capacity(lease, tried, READY + shift)
        return
    if state is State.FAILED:
        lease = yield from _step(life.fail(lease, "access denied", READY + shift))
        yield from _closed(lease, a_sighting())
        return
    hourly = lease.quote.offer.hourly if lease.quote else None
    made = life.ready(lease, RESOURCES, ACCESS, LAUNCHED + shift, hourly, READY + shift, stoppable=stoppable)
    lease = yield from _step(made)
    if state is State.SUSPENDED:
        yield from _suspended(lease, shift)
    elif state is not State.ACTIVE:
        yield from _ended(state, lease)


def _suspended(lease: Lease, shift: timedelta) -> Changes:
    at = CLOSES + shift
    lease = yield from _step(suspension.announced(lease, "slack:dm", at - lease.terms.suspend_notice))
    lease = yield from _step(suspension.suspend(lease, at))
    yield suspension.suspended(lease, at, at)


def _ended(state: State, lease: Lease) -> Changes:
    ends_at = lease.ends_at or ENDS
    before = max(lease.terms.notice, timedelta(minutes=30))
    lease = yield from _step(life.warned(lease, before, "slack:dm", ends_at - before))
    lease = yield from _step(life.end(lease, ends_at))
    if state is State.ENDING:
        return
    deletes_at = ends_at
    if lease.stoppable:
        lease = yield from _step(life.stopped(lease, ends_at, ends_at))
        deletes_at = ends_at + lease.terms.grace
    if state is State.STOPPED:
        return
    lease = yield from _step(life.start_deleting(lease, deletes_at))
    if state is State.DELETING:
        return
    if state is State.BLOCKED:
        yield life.looked(lease, a_sighting(a_volume()), deletes_at + lease.terms.cleanup_limit)
        return
    yield from _closed(lease, a_sighting(*GONE))


def _closed(lease: Lease, sighting: Sighting) -> Changes:
    at = lease.deleting_at or ENDS
    while not lease.final:
        lease = yield from _step(life.looked(lease, replace(sighting, at=at), at))
        at += lease.terms.verify_interval


def _step(change: Change) -> Generator[Change, None, Lease]:
    yield change
    return change.lease


def tiny_terms() -> Terms:
    """Timings with which a whole life takes about a second, for servers that skip no time."""
    moment = timedelta(milliseconds=200)
    return Terms(
        warnings=(moment,),
        short_warnings=(moment,),
        notice=moment,
        grace=moment,
        min_duration=moment,
        verify_interval=moment,
    )
