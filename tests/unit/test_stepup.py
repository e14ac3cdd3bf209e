"""Above a set cost an approval is typed out; what moved since then is decided once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from lessor.domain import transitions
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quote import Quote
from lessor.domain.terms import Terms
from tests.builders import APPROVED, MANAGER, READY, a_decision, a_lease, a_quote, a_request, a_step, usd

HOUR = timedelta(hours=1)


def waiting(limit: Money | None, quote: Quote | None = None, **request: object) -> Lease:
    terms = Terms(step_up=limit)
    return a_lease(State.AWAITING_APPROVAL, terms=terms, quote=quote, request=a_request(**request))


@pytest.mark.parametrize(
    ("limit", "quote", "typed"),
    [
        (None, None, False),
        (usd("786.56"), None, True),
        (usd("786.57"), None, False),
        (usd("100000"), a_quote(None), True),
        (Money(Decimal("100000"), "EUR"), None, True),
    ],
)
def test_the_total_decides_whether_it_is_typed(limit: Money | None, quote: Quote | None, typed: bool) -> None:
    lease = waiting(limit, quote)
    if not typed:
        assert transitions.approve(lease, MANAGER, APPROVED).lease.state is State.APPROVED
        return
    with pytest.raises(Refused) as refused:
        transitions.approve(lease, MANAGER, APPROVED)
    assert refused.value.code == "needs-confirmation"
    assert transitions.approve(lease, MANAGER, APPROVED, "", " GPU-7k3qxa2m ").lease.state is State.APPROVED


def test_the_refusal_says_what_to_type() -> None:
    with pytest.raises(Refused) as refused:
        transitions.approve(waiting(usd("500")), MANAGER, APPROVED, "", "yes")
    assert str(refused.value) == (
        "gpu-7k3qxa2m costs 786.56 USD, and from 500.00 USD on an approval is typed out: "
        "type gpu-7k3qxa2m to approve it, not 'yes'; nothing was decided yet"
    )
    with pytest.raises(Refused, match="has no known price, and from"):
        transitions.approve(waiting(usd("500"), a_quote(None)), MANAGER, APPROVED)


def test_nobody_who_may_not_decide_learns_what_to_type() -> None:
    with pytest.raises(Refused) as refused:
        transitions.approve(waiting(usd("1")), replace(MANAGER, leads=()), APPROVED)
    assert refused.value.code == "not-approver"


def test_a_reservation_costs_from_its_start_on() -> None:
    start = APPROVED + 50 * HOUR
    lease = waiting(usd("500"), start=start, until=start + 2 * HOUR)
    assert transitions.approve(lease, MANAGER, APPROVED).lease.state is State.APPROVED


# --- what was approved and what holds now (F42)


def approved(*facts: tuple[str, str], outcome: Outcome = Outcome.REQUIRE) -> Lease:
    return a_lease(State.APPROVED, decision=a_decision(outcome, facts=facts), steps=(a_step(),))


def requoted(lease: Lease, decision: Decision) -> tuple[Lease, list[str]]:
    change = transitions.requote(lease, a_quote(), decision, (a_step("again"),), READY)
    return change.lease, [event.type for event in change.events]


@pytest.mark.parametrize(
    ("name", "before", "after", "back"),
    [
        ("budget.left", "1000.00", "899.99", True),
        ("budget.left", "1000.00", "900.00", False),
        ("budget.left", "1000.00", "5000.00", False),
        ("budget.left", "-10", "-12", True),
        ("budget.hours_left", "100", "80", True),
        ("budget.committed", "1,000.00 USD", "1,100.01 USD", True),
        ("budget.committed", "1,000.00 USD", "10.00 USD", False),
        ("budget.share", "50", "56", True),
        ("team.free", "16", "14", True),
        ("team.free", "0", "1", False),
        ("team.free", "0", "-1", True),
        ("team.used", "0", "1", True),
        ("team.used", "0", "0", False),
        ("similar.count", "1", "2", True),
        ("budget.left", "1000.00", "unknown", True),
        ("budget.left", "unknown", "1000.00", False),
        ("budget.name", "gpu", "other", False),
        ("budget.spent", "10", "20", False),
        ("time.hour", "9", "18", False),
        ("request.hours", "8", "4", False),
        ("quote.total", "100", "10", False),
    ],
)
def test_facts_that_got_worse_go_back_to_people(name: str, before: str, after: str, back: bool) -> None:
    lease, events = requoted(approved((name, before)), a_decision(facts=((name, after),)))
    assert (lease.state is State.AWAITING_APPROVAL) is back
    assert events == (["facts-changed", "asked"] if back else [])
    if back:
        assert lease.decision == a_decision(facts=((name, after),))
        assert (lease.decided_by, lease.approved_at, lease.steps[0].asked_at) == ("", None, READY)


def test_the_record_says_what_moved() -> None:
    change = transitions.requote(
        approved(("team.free", "16")), a_quote(), a_decision(facts=(("team.free", "8"),)), (a_step(),), READY
    )
    assert change.events[0].data == {"why": "team.free: 16 -> 8", "price_list": "catalogue 2026-11-01"}


def test_a_policy_that_denies_now_denies_with_its_words() -> None:
    deny = Decision(Outcome.DENY, (Reason("frozen", "the budget is spent"),))
    change = transitions.requote(approved(), a_quote(), deny, (), READY)
    assert change.lease.state is State.DENIED
    assert change.lease.decided_reason == (
        "it was approved, but the policy does not allow it any more (frozen: the budget is spent); nothing was created"
    )


def test_what_waits_for_capacity_is_looked_at_again_and_looked_for_once_it_is_over() -> None:
    lease = a_lease(State.WAITING_FOR_CAPACITY)
    back = transitions.requote(lease, a_quote(usd("999")), a_decision(), (a_step("again"),), READY).lease
    assert (back.state, back.untouched, back.decided_by) == (State.AWAITING_APPROVAL, False, "")
    deny = Decision(Outcome.DENY, (Reason("frozen", "the budget is spent"),))
    denied = transitions.requote(lease, a_quote(), deny, (), READY).lease
    assert (denied.state, denied.outcome, denied.decided_by) == (State.DELETING, State.DENIED, "policy")


@pytest.mark.parametrize(
    ("before", "now", "back"),
    [
        ((StepSpec("manager", ("lead:ml",)),), (StepSpec("manager", ("lead:ml",)),), False),
        ((StepSpec("manager", ("lead:ml",), 2),), (StepSpec("manager", ("lead:ml",)),), False),
        ((StepSpec("manager", ("lead:ml",)),), (StepSpec("manager", ("lead:ml",), 2),), True),
        ((StepSpec("manager", ("a", "b")),), (StepSpec("manager", ("b", "a")),), False),
        (
            (StepSpec("manager", ("lead:ml",)),),
            (StepSpec("manager", ("lead:ml",)), StepSpec("money", ("group:finance",))),
            True,
        ),
    ],
)
def test_a_policy_that_asks_for_more_asks_people_again(
    before: tuple[StepSpec, ...], now: tuple[StepSpec, ...], back: bool
) -> None:
    lease = a_lease(State.APPROVED, decision=a_decision(steps=before))
    assert (requoted(lease, a_decision(steps=now))[0].state is State.AWAITING_APPROVAL) is back


def test_what_the_policy_approved_and_leaves_to_people_now_goes_to_them() -> None:
    lease = approved(outcome=Outcome.APPROVE)
    assert requoted(lease, a_decision())[1] == ["facts-changed", "asked"]


def test_what_the_policy_approves_still_or_by_now_stays_approved() -> None:
    for lease in (approved(outcome=Outcome.APPROVE), approved()):
        change = transitions.requote(lease, a_quote(usd("999")), a_decision(Outcome.APPROVE), (), READY)
        assert change.lease is lease
