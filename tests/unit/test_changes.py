"""Requests that change before they are decided: proposed by who decides, taken or not; or changed by who asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import changes, life, takedown, transitions
from lessor.domain.lease import Change, Lease, State
from lessor.domain.pending import Changes, Counter
from lessor.domain.people import Person
from lessor.domain.policy import Outcome
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need
from tests.builders import (
    ADMIN,
    APPROVED,
    ASKED,
    FINANCE,
    MANAGER,
    READY,
    REQUESTER,
    a_decision,
    a_lease,
    a_need,
    a_person,
    a_quote,
    a_request,
    a_sighting,
    a_step,
    an_offer,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FEWER = Changes(count=4, duration=2 * HOUR)


def waiting(**changed: object) -> Lease:
    return a_lease(State.AWAITING_APPROVAL, **changed)


def proposed(lease: Lease | None = None, wanted: Changes = FEWER) -> Lease:
    return changes.propose(lease or waiting(), MANAGER, wanted, "too many", APPROVED).lease


def test_proposed_changes_wait_for_the_requester_and_decide_nothing() -> None:
    change = changes.propose(waiting(), MANAGER, FEWER, " too many ", APPROVED)
    assert change.lease.counter == Counter("U0MANAGER", FEWER, APPROVED, ("U0MANAGER",), "too many")
    assert (change.lease.state, change.lease.request) == (State.AWAITING_APPROVAL, a_request())
    (event,) = change.events
    assert (event.type, event.actor) == ("countered", "U0MANAGER")
    assert event.data == {"changes": "4 GPUs, for 2 h", "reason": "too many"}


def test_what_is_as_it_was_asked_for_is_no_part_of_a_proposal() -> None:
    wanted = Changes(count=8, duration=2 * HOUR, market=Market.ON_DEMAND)
    change = changes.propose(waiting(), MANAGER, wanted, "", APPROVED)
    assert change.lease.counter is not None
    assert change.lease.counter.changes == Changes(duration=2 * HOUR)
    assert change.events[0].data["changes"] == "for 2 h"


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (REQUESTER, "own-request"),
        (a_person("w0requester", leads=("ml",)), "own-request"),
        (FINANCE, "not-approver"),
        (replace(MANAGER, active=False), "inactive"),
    ],
)
def test_only_who_may_decide_proposes(person: Person, code: str) -> None:
    assert refusal(changes.propose, waiting(), person, FEWER, "", APPROVED)[0] == code


@pytest.mark.parametrize(
    ("wanted", "code", "told"),
    [
        (Changes(count=9), "not-less", "9 GPUs are more than the 8 that were asked for"),
        (Changes(duration=9 * HOUR), "not-less", "longer than the 8 h that were asked for; propose a shorter time"),
        (Changes(until=ASKED + 9 * HOUR), "not-less", "longer than the 8 h"),
        (Changes(market=Market.CAPACITY_BLOCK), "not-less", "capacity-block is not cheaper than on-demand"),
        (Changes(instance_type="p5.48xlarge"), "not-less", "p5.48xlarge costs 120.00 USD an hour, more than 98.32 USD"),
        (Changes(count=8, duration=8 * HOUR), "no-change", "are what was asked for already; nothing was changed"),
        (Changes(count=0), "no-gpus", "at least one GPU is needed"),
        (Changes(duration=MINUTE), "too-short", "the shortest lease is 15 min"),
        (Changes(until=ASKED), "too-short", "the shortest lease is 15 min"),
        (Changes(duration=HOUR, until=ASKED + HOUR), "two-ends", "not both"),
    ],
)
def test_proposals_only_take_away(wanted: Changes, code: str, told: str) -> None:
    dearer = an_offer(instance_type="p5.48xlarge", hourly=usd("120"))
    lease = waiting(quote=a_quote(alternatives=(dearer,)))
    found = refusal(changes.propose, lease, MANAGER, wanted, "", ASKED + MINUTE)
    assert found[0] == code
    assert told in found[1]


@pytest.mark.parametrize(
    "wanted",
    [
        Changes(market=Market.SPOT),
        Changes(count=1),
        Changes(duration=HOUR),
        Changes(until=ASKED + 2 * HOUR),
        Changes(instance_type="g6.xlarge"),
        Changes(instance_type="x1.unheard"),
    ],
)
def test_what_is_less_or_not_known_to_be_more_may_be_proposed(wanted: Changes) -> None:
    cheaper = an_offer(instance_type="g6.xlarge", hourly=usd("0.80"))
    lease = waiting(quote=a_quote(alternatives=(cheaper,)))
    assert proposed(lease, wanted).counter is not None


def test_one_proposal_waits_at_a_time() -> None:
    code, message = refusal(changes.propose, proposed(), MANAGER, Changes(count=2), "", READY)
    assert code == "counter-pending"
    assert message.startswith("U0MANAGER has proposed changes already")


def test_accepted_changes_are_judged_from_the_start() -> None:
    change = changes.accept(proposed(), REQUESTER, READY)
    lease = change.lease
    assert (lease.state, lease.steps, lease.untouched) == (State.REQUESTED, (), True)
    assert (lease.request.need, lease.request.duration) == (a_need(count=4), 2 * HOUR)
    assert lease.counter is not None
    assert [(e.type, e.actor, e.data["by"]) for e in change.events] == [
        ("changes-accepted", "U0REQUESTER", "U0MANAGER")
    ]
    judged = transitions.assess(lease, a_quote(), a_decision(), (a_step(),), REQUESTER, READY).lease
    assert (judged.state, judged.counter) == (State.AWAITING_APPROVAL, None)


def test_declined_changes_leave_the_request_and_give_everybody_their_time_again() -> None:
    late = ASKED + 20 * HOUR
    change = changes.decline(proposed(), REQUESTER, late)
    assert (change.lease.counter, change.lease.request) == (None, a_request())
    assert (change.lease.steps[0].asked_at, change.lease.lapses_at) == (late, late + DAY)
    assert [e.type for e in change.events] == ["changes-declined"]


@pytest.mark.parametrize("act", [changes.accept, changes.decline])
def test_only_the_requester_answers_and_only_what_was_proposed(act: Callable[..., Change]) -> None:
    for other in (MANAGER, ADMIN):
        assert refusal(act, proposed(), other, READY)[0] == "not-owner"
    assert refusal(act, waiting(), REQUESTER, READY)[0] == "no-counter"
    assert refusal(act, a_lease(State.ACTIVE), REQUESTER, READY)[0] == "wrong-state"
    other_self = a_person("U9", email="requester@example.test")
    assert act(proposed(), other_self, READY).lease.revision > 0


def test_an_approval_as_asked_settles_proposed_changes() -> None:
    assert transitions.approve(proposed(), MANAGER, READY).lease.counter is None


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        (an_offer(), an_offer(), True),
        (an_offer(), an_offer(gpu_count=4, hourly=usd("49.16")), True),
        (an_offer(), an_offer(gpu_count=4, hourly=usd("49.17")), False),
        (an_offer(), an_offer(gpu_model="L4", hourly=usd("98.32")), True),
        (an_offer(), an_offer(gpu_model="L4", hourly=usd("98.33")), False),
        (an_offer(), an_offer(hourly=None), False),
        (an_offer(hourly=None), an_offer(hourly=None), True),
        (an_offer(hourly=None), an_offer(), True),
        (an_offer(), an_offer(market=Market.SPOT, hourly=usd("9"), on_demand_hourly=usd("98.32")), True),
        (an_offer(), an_offer(market=Market.SPOT, hourly=usd("9"), on_demand_hourly=None), False),
    ],
)
def test_an_approval_of_changes_stands_unless_the_price_rose(before: Offer, after: Offer, stands: bool) -> None:
    assert changes.stands(a_quote(offer=before), a_quote(offer=after)) is stands


def test_an_approval_of_what_had_no_price_stands() -> None:
    assert changes.stands(None, a_quote())


def test_a_revised_request_loses_its_votes() -> None:
    lease = waiting(steps=(a_step(quorum=2),))
    lease = transitions.approve(lease, MANAGER, APPROVED).lease
    change = changes.revise(lease, REQUESTER, Changes(count=16, market=Market.SPOT), READY)
    assert (change.lease.state, change.lease.steps) == (State.REQUESTED, ())
    assert (change.lease.request.need.count, change.lease.request.market) == (16, Market.SPOT)
    assert [(e.type, e.data) for e in change.events] == [("revised", {"changes": "16 GPUs, spot"})]


def test_an_open_proposal_or_question_does_not_outlive_the_request_it_was_about() -> None:
    asked = changes.revise(proposed(), REQUESTER, Changes(count=2), READY).lease
    assert asked.counter is None


@pytest.mark.parametrize("state", [s for s in State if s not in (State.AWAITING_APPROVAL, State.WAITING_FOR_CAPACITY)])
def test_what_is_decided_or_in_use_cannot_be_revised(state: State) -> None:
    assert refusal(changes.revise, a_lease(state), REQUESTER, FEWER, READY)[0] == "wrong-state"


def test_only_the_requester_revises() -> None:
    assert refusal(changes.revise, waiting(), MANAGER, FEWER, READY)[0] == "not-owner"


@pytest.mark.parametrize(
    ("need", "wanted", "expected"),
    [
        (Need("A100-80GB", 8), Changes(count=4), Need("A100-80GB", 4)),
        (Need("A100-80GB", 8), Changes(instance_type="g6.xlarge"), Need("", 8, 0, "g6.xlarge")),
        (Need(instance_type="p4de.24xlarge"), Changes(count=4), Need("A100-80GB", 4)),
        (
            Need(instance_type="p4de.24xlarge"),
            Changes(count=8, market=Market.SPOT),
            Need(instance_type="p4de.24xlarge"),
        ),
        (Need(instance_type="p4de.24xlarge"), Changes(instance_type="g6.xlarge"), Need(instance_type="g6.xlarge")),
    ],
)
def test_what_is_needed_instead(need: Need, wanted: Changes, expected: Need) -> None:
    lease = waiting(request=a_request(need=need))
    assert changes.revise(lease, REQUESTER, wanted, READY).lease.request.need == expected


# --- what was tried before it was changed (law 12)


def tried() -> Lease:
    """Approved, without capacity, and changed by its requester meanwhile."""
    return changes.revise(a_lease(State.WAITING_FOR_CAPACITY), REQUESTER, FEWER, READY).lease


def judged(outcome: Outcome = Outcome.REQUIRE, quote: Quote | None = None) -> Lease:
    steps = (a_step(),) if outcome is Outcome.REQUIRE else ()
    return transitions.assess(tried(), quote or a_quote(), a_decision(outcome), steps, REQUESTER, READY).lease


def test_a_changed_request_that_had_been_tried_is_decided_anew() -> None:
    lease = tried()
    assert (lease.state, lease.untouched, lease.decided_by, lease.approved_at) == (State.REQUESTED, False, "", None)
    approved = transitions.approve(judged(), MANAGER, READY).lease
    again = life.start_provisioning(approved, READY)
    assert again.events[0].data == {"try": "1"}


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (lambda: transitions.withdraw(tried(), "U0REQUESTER", READY), State.WITHDRAWN),
        (lambda: transitions.deny_by_policy(tried(), "no", READY), State.DENIED),
        (lambda: transitions.deny(judged(), MANAGER, "no", READY), State.DENIED),
        (lambda: transitions.lapse(judged(), READY + 2 * DAY), State.LAPSED),
        (lambda: takedown.cancel(judged(), "operator", READY), State.WITHDRAWN),
        (lambda: takedown.resumed(judged(), "lost", READY), State.CLOSED),
    ],
)
def test_what_may_exist_is_looked_for_before_it_is_over(end: Callable[[], Change], outcome: State) -> None:
    lease = end().lease
    assert (lease.state, lease.outcome, lease.closed_at) == (State.DELETING, outcome, None)
    for _ in range(lease.terms.verify_passes):
        lease = takedown.looked(lease, a_sighting(), READY + 3 * DAY).lease
    assert lease.state is outcome


def test_a_denial_that_still_looks_is_told_as_one() -> None:
    denied = transitions.deny(judged(), MANAGER, "no", READY).lease
    assert (
        refusal(transitions.approve, denied, ADMIN, READY)[1] == "already denied by U0MANAGER at 2026-11-27 09:15 UTC"
    )
