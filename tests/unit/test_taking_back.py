"""Withdrawn, lapsed, denied by a rule, priced again: how a request ends or goes back without an approver."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import transitions
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, Event, Refusal, State
from lessor.domain.quote import Quote
from tests.builders import (
    ASKED,
    MANAGER,
    READY,
    a_decision,
    a_lease,
    a_person,
    a_quote,
    a_step,
    an_offer,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize("state", [State.REQUESTED, State.AWAITING_APPROVAL, State.APPROVED])
def test_withdrawing_before_anything_was_tried_is_final_at_once(state: State) -> None:
    change = transitions.withdraw(
        a_lease(state), "W0REQUESTER" if state is not State.REQUESTED else "U0REQUESTER", READY
    )
    assert (change.lease.state, change.lease.closed_at) == (State.WITHDRAWN, READY)
    assert [e.type for e in change.events] == ["withdrawn"]


@pytest.mark.parametrize("state", [State.PROVISIONING, State.WAITING_FOR_CAPACITY])
def test_withdrawing_once_something_was_tried_undoes_it_first(state: State) -> None:
    change = transitions.withdraw(a_lease(state), "U0REQUESTER", READY)
    lease = change.lease
    assert (lease.state, lease.outcome, lease.deleting_at) == (State.DELETING, State.WITHDRAWN, READY)
    assert lease.closed_at is None
    assert change.events == (Event("withdraw-asked", READY, "U0REQUESTER", {}),)
    assert refusal(transitions.approve, lease, MANAGER, READY) == (
        "already-decided",
        "already withdrawn by U0REQUESTER at 2026-11-27 09:15 UTC",
    )


@pytest.mark.parametrize("state", [s for s in State if s not in transitions.BEFORE_USE])
def test_what_is_used_or_over_is_not_withdrawn(state: State) -> None:
    assert refusal(transitions.withdraw, a_lease(state), "U0REQUESTER", READY)[0] == "wrong-state"


@pytest.mark.parametrize("state", [State.ACTIVE, State.SUSPENDED, State.STOPPED])
def test_whoever_wants_to_withdraw_what_is_theirs_already_is_told_how_to_give_it_back(state: State) -> None:
    assert refusal(transitions.withdraw, a_lease(state), "U0REQUESTER", READY) == (
        "wrong-state",
        f"gpu-7k3qxa2m is {state.value}, and only a request can be withdrawn; nothing was changed. "
        "`/gpu release gpu-7k3qxa2m` or `lessor release gpu-7k3qxa2m` gives it back",
    )


def test_only_the_requester_withdraws() -> None:
    for other in ("U0MANAGER", "U0ADMIN", ""):
        assert refusal(transitions.withdraw, a_lease(State.AWAITING_APPROVAL), other, READY) == (
            "not-owner",
            "only the requester can withdraw this request",
        )


def test_a_request_lapses_when_its_time_is_over_and_not_before() -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    assert refusal(transitions.lapse, lease, ASKED + DAY - MINUTE) == (
        "not-due",
        "gpu-7k3qxa2m can be decided until 2026-11-28 09:00 UTC",
    )
    change = transitions.lapse(lease, ASKED + DAY + MINUTE)
    assert (change.lease.state, change.lease.closed_at) == (State.LAPSED, ASKED + DAY + MINUTE)
    assert change.events == (
        Event("lapsed", ASKED + DAY + MINUTE, "lessor", {"deadline": "2026-11-28T09:00:00+00:00"}),
    )


@pytest.mark.parametrize("state", list(State))
def test_a_rule_denies_only_what_was_not_tried(state: State) -> None:
    lease = a_lease(state)
    if state in (State.REQUESTED, State.AWAITING_APPROVAL, State.APPROVED):
        change = transitions.deny_by_policy(lease, "quota is full", READY)
        assert (change.lease.state, change.lease.decided_by) == (State.DENIED, "policy")
    else:
        assert refusal(transitions.deny_by_policy, lease, "quota is full", READY)[0] == "wrong-state"


@pytest.mark.parametrize("state", list(State))
def test_a_refused_attempt_is_on_record_and_changes_nothing_else(state: State) -> None:
    lease = a_lease(state)
    change = transitions.refused_attempt(lease, "U0STRANGER", "approve", Refused("not-approver", "no"), READY)
    refusal = Refusal("U0STRANGER", "approve", "no", READY)
    assert change.lease == replace(lease, revision=lease.revision + 1, refusal=refusal)
    assert change.events == (
        Event("refused", READY, "U0STRANGER", {"verb": "approve", "code": "not-approver", "why": "no"}),
    )


@pytest.mark.parametrize(
    ("quote", "asked_again"),
    [
        (a_quote(usd("98.32")), False),
        (a_quote(usd("50")), False),
        (a_quote(usd("108.152")), False),
        (a_quote(usd("108.153")), True),
        (a_quote(None), True),
    ],
)
def test_a_price_that_rose_goes_back_to_people(quote: Quote, asked_again: bool) -> None:
    lease = a_lease(State.APPROVED)
    change = transitions.requote(lease, quote, a_decision(), (a_step("again"),), READY)
    if not asked_again:
        assert change.lease is lease
        assert change.events == ()
        return
    got = change.lease
    assert (got.state, got.quote, got.asked_at) == (State.AWAITING_APPROVAL, quote, READY)
    assert [(s.name, s.asked_at) for s in got.steps] == [("again", READY)]
    assert (got.decided_by, got.decided_at, got.approved_at, got.lapses_at) == ("", None, None, READY + DAY)
    after = quote.offer.hourly.exact if quote.offer.hourly else "unknown"
    data = {"from": "98.32 USD", "to": after, "price_list": "catalogue 2026-11-01"}
    assert change.events[0] == Event("price-rose", READY, "policy", data)
    assert [event.type for event in change.events[1:]] == ["asked"]
    assert transitions.approve(got, MANAGER, READY).lease.state is State.APPROVED


def test_a_price_that_was_approved_as_unknown_stays_approved() -> None:
    lease = a_lease(State.APPROVED, quote=a_quote(None))
    assert transitions.requote(lease, a_quote(usd("9")), a_decision(), (a_step(),), READY).lease is lease


def test_a_lease_without_a_quote_counts_what_was_asked_for() -> None:
    lease = a_lease(State.REQUESTED)
    assert (lease.gpus, lease.model) == (8, "A100-80GB")
    assert a_lease(State.AWAITING_APPROVAL, quote=a_quote(offer=an_offer(gpu_count=4, gpu_model="L4"))).gpus == 4


def test_requester_ids_hold_no_empty_id() -> None:
    lease = replace(a_lease(State.AWAITING_APPROVAL), owner="", owner_ids=("", "U9"))
    assert lease.requester_ids == {"U0REQUESTER", "U9"}
    nobody = a_person("U0MANAGER", ids=("U0MANAGER", ""), leads=("ml",))
    assert transitions.approve(lease, nobody, READY).lease.state is State.APPROVED


def test_final_states_are_where_nothing_happens() -> None:
    assert {State.DENIED, State.WITHDRAWN, State.LAPSED, State.FAILED, State.CLOSED} == FINAL


@pytest.mark.parametrize("state", [s for s in State if s is not State.AWAITING_APPROVAL])
def test_only_an_undecided_request_lapses(state: State) -> None:
    assert refusal(transitions.lapse, a_lease(state), ASKED + 9 * DAY)[0] == "wrong-state"


@pytest.mark.parametrize("state", [s for s in State if s not in (State.APPROVED, State.WAITING_FOR_CAPACITY)])
def test_only_what_is_about_to_be_provisioned_is_priced_again(state: State) -> None:
    judged = (a_quote(usd("999")), a_decision(), (a_step(),))
    assert refusal(transitions.requote, a_lease(state), *judged, READY)[0] == "wrong-state"
