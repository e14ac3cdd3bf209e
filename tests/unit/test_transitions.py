"""From the request to the decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import transitions
from lessor.domain.lease import Event, Lease, State, describe
from lessor.domain.people import Person
from lessor.domain.policy import Outcome
from lessor.domain.quote import Quote
from tests.builders import (
    ADMIN,
    APPROVED,
    ASKED,
    FINANCE,
    MANAGER,
    READY,
    REQUESTER,
    STRANGER,
    a_decision,
    a_lease,
    a_quote,
    a_request,
    a_step,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def test_a_submission_is_a_lease_of_its_requester() -> None:
    change = transitions.submit("gpu-7k3qxa2m", a_request(), ASKED)
    lease = change.lease
    assert (lease.state, lease.owner, lease.requested_at, lease.revision) == (State.REQUESTED, "U0REQUESTER", ASKED, 0)
    assert change.events == (
        Event(
            "requested",
            ASKED,
            "U0REQUESTER",
            {
                "team": "ml",
                "need": "8 x A100-80GB",
                "place": "aws/research/us-east-1",
                "market": "on-demand",
                "workload": "training",
                "purpose": "train the ranking model",
                "end": "8 h after it is ready",
            },
        ),
    )


def test_an_end_that_was_asked_for_is_on_record_as_an_instant() -> None:
    change = transitions.submit("gpu-7k3qxa2m", a_request(until=ASKED + DAY), ASKED)
    assert change.events[0].data["end"] == "2026-11-28T09:00:00+00:00"


def assess(outcome: Outcome, quote: Quote | None = None) -> tuple[Lease, tuple[Event, ...]]:
    lease = a_lease(State.REQUESTED)
    steps = (a_step(),) if outcome is Outcome.REQUIRE else ()
    change = transitions.assess(lease, quote or a_quote(), a_decision(outcome), steps, REQUESTER, ASKED + MINUTE)
    return change.lease, change.events


def test_an_assessment_that_requires_people() -> None:
    lease, events = assess(Outcome.REQUIRE, a_quote(usd("0.526")))
    assert (lease.state, lease.asked_at) == (State.AWAITING_APPROVAL, ASKED + MINUTE)
    (step,) = lease.steps
    assert (step.approvers, step.asked_at, step.lapses_at) == (("lead:ml",), ASKED + MINUTE, ASKED + MINUTE + DAY)
    assert (step.remind_at, step.escalate_at) == (ASKED + 16 * MINUTE, ASKED + MINUTE + 4 * HOUR)
    assert lease.owner_ids == ("U0REQUESTER", "W0REQUESTER", "requester@example.test")
    assert lease.requester_ids == set(lease.owner_ids)
    assert (lease.revision, lease.decided_at, lease.gpus, lease.model) == (2, None, 8, "A100-80GB")
    data = {
        "outcome": "require",
        "reasons": "large: eight GPUs or more",
        "policy": "p1",
        "offer": "p4de.24xlarge",
        "hourly": "0.526 USD",
        "price_list": "catalogue 2026-11-01",
    }
    clock = {"remind": "2026-11-27T09:16:00+00:00", "escalate": "2026-11-27T13:01:00+00:00"}
    clock |= {"step": "manager", "who": "lead:ml", "lapse": "2026-11-28T09:01:00+00:00"}
    assert events == (
        Event("assessed", ASKED + MINUTE, "policy", data),
        Event("asked", ASKED + MINUTE, "lessor", clock),
    )


def test_an_unknown_price_is_on_record_as_unknown() -> None:
    assert assess(Outcome.REQUIRE, a_quote(None))[1][0].data["hourly"] == "unknown"


def test_a_policy_that_approves() -> None:
    lease, events = assess(Outcome.APPROVE)
    assert (lease.state, lease.decided_by, lease.approved_at) == (State.APPROVED, "policy", ASKED + MINUTE)
    assert [e.type for e in events] == ["assessed", "approved"]
    assert events[1].data == {"why": "large: eight GPUs or more"}
    assert lease.revision == 2


def test_a_policy_that_denies() -> None:
    lease, events = assess(Outcome.DENY)
    assert (lease.state, lease.decided_by, lease.closed_at) == (State.DENIED, "policy", ASKED + MINUTE)
    assert [e.type for e in events] == ["assessed", "denied"]
    assert lease.decided_reason == "large: eight GPUs or more"


@pytest.mark.parametrize("state", [s for s in State if s is not State.REQUESTED])
def test_only_a_fresh_request_is_assessed(state: State) -> None:
    code, _ = refusal(
        transitions.assess, a_lease(state), a_quote(), a_decision(), (a_step(),), REQUESTER, ASKED + MINUTE
    )
    assert code == "wrong-state"


def test_one_approval_of_one_step_decides() -> None:
    change = transitions.approve(a_lease(State.AWAITING_APPROVAL), MANAGER, APPROVED, "go")
    lease = change.lease
    assert (lease.state, lease.decided_by, lease.decided_at) == (State.APPROVED, "U0MANAGER", APPROVED)
    assert (lease.decided_reason, lease.approved_at, lease.revision) == ("go", APPROVED, 4)
    assert change.events == (
        Event("approval-given", APPROVED, "U0MANAGER", {"step": "manager", "note": "go"}),
        Event("approved", APPROVED, "U0MANAGER", {"why": "go"}),
    )


def test_all_steps_are_needed() -> None:
    lease = a_lease(State.AWAITING_APPROVAL, steps=(a_step(), a_step("budget", "group:finance")))
    change = transitions.approve(lease, MANAGER, APPROVED)
    assert (change.lease.state, [e.type for e in change.events]) == (State.AWAITING_APPROVAL, ["approval-given"])
    assert change.lease.decided_at is None
    change = transitions.approve(change.lease, FINANCE, READY)
    assert (change.lease.state, change.lease.decided_by) == (State.APPROVED, "U0FINANCE")


def test_a_request_whose_end_has_passed_is_not_approved() -> None:
    lease = a_lease(State.AWAITING_APPROVAL, request=a_request(until=ASKED + HOUR))
    code, message = refusal(transitions.approve, lease, MANAGER, ASKED + HOUR)
    assert code == "end-passed"
    assert message == "the end asked for, 2026-11-27 10:00 UTC, has passed; ask for a new lease"
    assert transitions.approve(lease, MANAGER, ASKED + HOUR - MINUTE).lease.state is State.APPROVED


@pytest.mark.parametrize(
    ("state", "code", "message"),
    [
        (State.REQUESTED, "wrong-state", "gpu-7k3qxa2m is requested; this needs a lease that is awaiting approval"),
        (State.DENIED, "already-decided", "already denied by U0MANAGER at 2026-11-27 09:10 UTC"),
        (State.WITHDRAWN, "already-decided", "already withdrawn by U0REQUESTER at 2026-11-27 09:10 UTC"),
        (
            State.LAPSED,
            "wrong-state",
            "gpu-7k3qxa2m is expired at 2026-11-28 09:00 UTC without a decision; "
            "this needs a lease that is awaiting approval",
        ),
        *(
            (state, "already-decided", "already approved by U0MANAGER at 2026-11-27 09:10 UTC")
            for state in State
            if state not in (State.REQUESTED, State.AWAITING_APPROVAL, State.DENIED, State.WITHDRAWN, State.LAPSED)
        ),
    ],
)
def test_a_decision_that_comes_too_late_is_told_who_decided(state: State, code: str, message: str) -> None:
    for person in (MANAGER, ADMIN):
        assert refusal(transitions.approve, a_lease(state), person, READY) == (code, message)
        assert refusal(transitions.deny, a_lease(state), person, "no", READY) == (code, message)


def test_several_states_that_would_do_are_told_as_a_list() -> None:
    assert refusal(transitions.withdraw, a_lease(State.CLOSED), REQUESTER.id, READY) == (
        "wrong-state",
        "gpu-7k3qxa2m is closed; this needs a lease that is requested, awaiting approval, approved, provisioning or "
        "waiting for capacity",
    )


def test_a_denial_needs_a_reason() -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    assert refusal(transitions.deny, lease, MANAGER, "  ", APPROVED) == (
        "no-reason",
        "say why: the requester reads the reason",
    )
    change = transitions.deny(lease, MANAGER, " too dear ", APPROVED)
    assert (change.lease.state, change.lease.decided_reason) == (State.DENIED, "too dear")
    assert change.events == (Event("denied", APPROVED, "U0MANAGER", {"reason": "too dear"}),)
    assert describe(change.lease) == "denied by U0MANAGER at 2026-11-27 09:10 UTC"


@pytest.mark.parametrize(
    ("person", "code"),
    [(REQUESTER, "own-request"), (STRANGER, "not-approver"), (replace(MANAGER, active=False), "inactive")],
)
def test_who_may_neither_approve_nor_deny(person: Person, code: str) -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    assert refusal(transitions.approve, lease, person, APPROVED)[0] == code
    assert refusal(transitions.deny, lease, person, "no", APPROVED)[0] == code


def test_who_has_approved_can_still_deny_while_others_are_asked() -> None:
    lease = a_lease(State.AWAITING_APPROVAL, steps=(a_step(quorum=2),))
    lease = transitions.approve(lease, MANAGER, APPROVED).lease
    assert refusal(transitions.approve, lease, MANAGER, READY)[0] == "already-voted"
    assert transitions.deny(lease, MANAGER, "I misread it", READY).lease.state is State.DENIED
