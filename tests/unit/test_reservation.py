"""Requests for a future start: what is accepted, when they begin, and what else waits for capacity."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.domain import life, transitions
from lessor.domain.deadlines import Deadline, Due, next_deadline
from lessor.domain.errors import Invalid
from lessor.domain.lease import Event, Lease, State
from lessor.domain.lookalike import lookalikes
from lessor.domain.policy import Outcome
from lessor.domain.request import Market, Request, validate
from tests.builders import (
    APPROVED,
    ASKED,
    LENGTH,
    MANAGER,
    READY,
    REQUESTER,
    RESOURCES,
    a_decision,
    a_lease,
    a_quote,
    a_request,
    an_offer,
    some_limits,
)

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
START = ASKED + 3 * DAY
RESERVED = a_request(start=START)
PAST = "is in the past; give a later one, or leave it out to start as soon as it is approved"


def errors(request: Request, **limits: object) -> list[tuple[str, str]]:
    try:
        validate(request, some_limits(**limits), ASKED)
    except Invalid as invalid:
        return [(e.field, e.message) for e in invalid.errors]
    return []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (RESERVED, []),
        (a_request(start=ASKED + 90 * DAY), []),
        (a_request(start=START, until=START + 30 * DAY), []),
        (a_request(start=ASKED), [("start", PAST)]),
        (a_request(start=ASKED - DAY), [("start", PAST)]),
        (a_request(start=ASKED + 91 * DAY), [("start", "is 91 d away; at most 90 d from now are allowed")]),
        (
            a_request(start=START, until=START),
            [("end", "comes before the start; 15 min to 30 d from its start are allowed")],
        ),
        (
            a_request(start=START, until=START + 10 * MINUTE),
            [("end", "is 10 min after its start; 15 min to 30 d from its start are allowed")],
        ),
        (
            a_request(start=START, until=START + 31 * DAY),
            [("end", "is 31 d after its start; 15 min to 30 d from its start are allowed")],
        ),
        (
            a_request(until=ASKED + 33 * DAY),
            [("end", "is 33 d away; 15 min to 30 d from now are allowed")],
        ),
    ],
)
def test_what_may_be_reserved(request_: Request, expected: list[tuple[str, str]]) -> None:
    assert errors(request_) == expected


def test_schedules_are_those_of_the_organisation() -> None:
    assert errors(a_request(schedule="office"), schedules=("office",)) == []
    assert errors(a_request(schedule="ofice"), schedules=("office", "days")) == [
        ("schedule", "'ofice' is no schedule; there are: office, days")
    ]
    assert errors(a_request(schedule="office")) == [
        ("schedule", "'office' is no schedule; there are: none is configured")
    ]


def test_a_length_is_counted_from_the_start() -> None:
    request = a_request(start=START, until=START + 5 * HOUR)
    assert (request.begins(ASKED), request.begins(START + HOUR)) == (START, START + HOUR)
    assert (request.length(ASKED), request.length(START + HOUR)) == (5 * HOUR, 4 * HOUR)
    assert RESERVED.length(ASKED) == LENGTH


def approved(request: Request = RESERVED, at: datetime = APPROVED) -> tuple[Lease, tuple[Event, ...]]:
    asked = a_lease(State.AWAITING_APPROVAL, request=request)
    change = transitions.approve(asked, MANAGER, at)
    return change.lease, change.events


def test_an_approved_reservation_waits_for_its_start() -> None:
    lease, events = approved()
    assert lease.state is State.APPROVED
    assert [e.type for e in events] == ["approval-given", "approved", "reserved"]
    assert events[-1].data == {"start": START.isoformat()}
    assert next_deadline(lease, APPROVED) == Deadline(Due.START, START)
    assert Deadline(Due.START, START).summary == "begins what was reserved at 2026-11-30 09:00:00 UTC"


def test_the_policy_reserves_too() -> None:
    asked = transitions.submit("gpu-7k3qxa2m", RESERVED, ASKED).lease
    change = transitions.assess(asked, a_quote(), a_decision(Outcome.APPROVE), (), REQUESTER, ASKED)
    assert [e.type for e in change.events] == ["assessed", "approved", "reserved"]


def test_an_approval_after_the_start_reserves_nothing() -> None:
    lease, events = approved(a_request(start=ASKED + MINUTE), APPROVED)
    assert [e.type for e in events] == ["approval-given", "approved"]
    assert next_deadline(lease, APPROVED) == Deadline(Due.START, ASKED + MINUTE)


def test_what_starts_at_once_has_no_such_deadline() -> None:
    assert next_deadline(a_lease(State.APPROVED), APPROVED) is None


def test_F17_the_clock_starts_when_it_is_usable() -> None:
    """An approved lease that took 40 minutes to start gives all of its time."""
    lease, _ = approved()
    started = life.start_provisioning(lease, START).lease
    ready_at = START + 40 * MINUTE
    ready = life.ready(started, RESOURCES, "", START, None, ready_at).lease
    assert ready.ends_at == ready_at + LENGTH


@pytest.mark.parametrize(
    ("until", "now", "words"),
    [
        (START + HOUR, START, ""),
        (
            START + HOUR,
            START + HOUR,
            "the end asked for, 2026-11-30 10:00 UTC, came before it could start, reserved from 2026-11-30 09:00 UTC, "
            "so nothing was created",
        ),
    ],
)
def test_a_start_that_comes_too_late_is_none(until: datetime, now: datetime, words: str) -> None:
    assert life.too_late(a_lease(State.APPROVED, request=a_request(start=START, until=until)), now) == words


def test_a_length_is_never_too_late() -> None:
    assert life.too_late(a_lease(State.APPROVED), READY + 99 * DAY) == ""


def test_who_waits_for_capacity_is_shown_what_else_would_fit() -> None:
    other, spot = an_offer(instance_type="p5.48xlarge"), an_offer(market=Market.SPOT)
    quote = a_quote(alternatives=(an_offer(), other, spot))
    lease = a_lease(State.PROVISIONING, quote=quote)
    change = life.wait_for_capacity(lease, ("p4de.24xlarge in us-east-1a (on-demand)",), READY)
    assert change.lease.capacity is not None
    assert change.lease.capacity.alternatives == (other, spot)
    assert change.events[0].data["alternatives"] == "p5.48xlarge (on-demand), p4de.24xlarge (spot)"
    many = replace(lease, quote=a_quote(alternatives=tuple(an_offer(instance_type=f"p{n}") for n in range(9))))
    waiting = life.wait_for_capacity(many, (), READY).lease.capacity
    assert waiting is not None
    assert len(waiting.alternatives) == 5


@pytest.mark.parametrize(
    ("start", "alike"),
    [(ASKED + HOUR, True), (ASKED + 7 * HOUR, True), (ASKED + LENGTH, False), (ASKED + 9 * DAY, False)],
)
def test_F18_a_reservation_for_another_time_is_no_look_alike(start: datetime, alike: bool) -> None:
    pending = a_lease(State.AWAITING_APPROVAL)
    request = a_request(start=start, interaction="slack:T1:view:2")
    assert lookalikes(request, REQUESTER, [pending], [], ASKED) == ((pending.id,) if alike else ())
