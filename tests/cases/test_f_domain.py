"""Governance cases that the domain alone can show: requests, approvals, quota, times and money."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

import pytest

from lessor.domain import approval, billing, life, staffing, transitions
from lessor.domain.billing import Span
from lessor.domain.errors import Invalid, Refused
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.policy import Outcome, StepSpec
from lessor.domain.quota import Reservation, check
from lessor.domain.request import Market, Request, validate
from tests.builders import (
    ADMIN,
    APPROVED,
    ASKED,
    ENDS,
    LAUNCHED,
    MANAGER,
    READY,
    REQUESTER,
    RESOURCES,
    a_decision,
    a_lease,
    a_person,
    a_quota,
    a_quote,
    a_request,
    a_step,
    an_offer,
    members_of,
    some_limits,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NEW_YORK = ZoneInfo("America/New_York")


def end_errors(request: Request, now: datetime) -> list[str]:
    try:
        validate(request, some_limits(), now)
    except Invalid as invalid:
        return [e.message for e in invalid.errors if e.field == "end"]
    return []


@pytest.mark.parametrize(
    "person",
    [
        REQUESTER,
        a_person("W0REQUESTER", leads=("ml",), admin=True),
        a_person("U0NEW", email="REQUESTER@example.test", leads=("ml",)),
        a_person("U0NEW", ids=("U0NEW", "requester@example.test"), leads=("ml",)),
    ],
)
def test_F05_the_requester_decides_nothing_under_any_id_or_address(person: Person) -> None:
    lease = a_lease(State.AWAITING_APPROVAL, steps=(a_step("any", "lead:ml", "admins", f"person:{person.id}"),))
    assert refusal(transitions.approve, lease, person, APPROVED) == (
        "own-request",
        "this is your own request; somebody else has to decide it",
    )
    code, _ = refusal(transitions.deny, lease, person, "no", APPROVED)
    assert code == "own-request"
    reassigned = replace(lease, steps=(a_step("again", f"person:{person.id}"),))
    assert refusal(transitions.approve, reassigned, person, APPROVED)[0] == "own-request"


def test_F05_the_refused_attempt_is_audited() -> None:
    refused = Refused("own-request", "this is your own request; somebody else has to decide it")
    change = transitions.refused_attempt(a_lease(State.AWAITING_APPROVAL), "W0REQUESTER", "approve", refused, APPROVED)
    assert [(e.type, e.actor, e.data["code"]) for e in change.events] == [("refused", "W0REQUESTER", "own-request")]


def test_F07_a_request_of_the_only_approver_goes_to_the_next_level() -> None:
    lead = a_person("U0LEAD", ids=("U0LEAD", "W0LEAD"), leads=("ml",))
    lead_again = a_person("W0LEAD", leads=("ml",))
    specs = (StepSpec("manager", ("lead:ml",)),)
    (step,) = staffing.staff(specs, members_of(lead, lead_again, ADMIN), lead)
    assert step.escalated == "admins"
    assert approval.eligible(step.approvers, members_of(lead, lead_again, ADMIN), lead) == (ADMIN,)
    code, message = refusal(staffing.staff, specs, members_of(lead, lead_again), lead)
    assert code == "nobody-can-decide"
    assert "ask an administrator to add an approver in lessor.yaml" in message


def test_F10_of_two_requests_for_the_whole_quota_one_fits_and_the_other_hears_the_numbers() -> None:
    quota = (a_quota("ml", 8),)
    first, second = (Reservation(f"gpu-{n}", "ml", "A100-80GB", 8) for n in (1, 2))
    check(first, quota, ())
    assert refusal(check, second, quota, (first,)) == (
        "quota",
        "team ml may hold 8 GPUs and holds 8; 8 more do not fit. "
        "Release a lease of the team or ask an administrator for more quota.",
    )


def test_F11_after_many_random_lives_what_is_used_is_what_is_open() -> None:
    random, held = Random(11), dict[str, Reservation]()
    quota = (a_quota("ml", 40),)
    for number in range(1_000):
        wanted = Reservation(f"gpu-{number}", "ml", "L4", random.randint(1, 8))
        try:
            check(wanted, quota, held.values())
        except Refused:
            held.pop(random.choice(list(held)), None)
        else:
            held[wanted.lease_id] = wanted
        assert sum(r.gpus for r in held.values()) <= 40


def test_F16_extensions_have_a_cap_on_their_sum() -> None:
    lease, now = a_lease(), READY
    while lease.allowance >= DAY:
        assert lease.ends_at
        now = lease.ends_at - HOUR
        lease = life.extend(lease, lease.ends_at + DAY, "U0REQUESTER", "more", now).lease
    assert (lease.extensions, lease.allowance) == (29, 16 * HOUR)
    assert lease.ends_at
    code, message = refusal(life.extend, lease, lease.ends_at + DAY, "U0REQUESTER", "more", now)
    assert code == "beyond-maximum"
    assert "at most 30 d in total are allowed, 16 h of it left" in message
    lease = life.extend(lease, lease.ends_at + 16 * HOUR, "U0REQUESTER", "the rest", now).lease
    assert lease.allowance == timedelta()


def test_F17_the_clock_starts_when_the_resource_is_usable() -> None:
    waiting = a_lease(State.PROVISIONING, request=a_request(duration=4 * HOUR))
    usable = APPROVED + 40 * MINUTE
    lease = life.ready(waiting, RESOURCES, "", APPROVED + 5 * MINUTE, usd("1"), usable).lease
    assert lease.ends_at == usable + 4 * HOUR


@pytest.mark.parametrize("duration", [3_650 * DAY, timedelta(), -HOUR, 9_999 * HOUR, timedelta(seconds=1)])
def test_F17_a_length_that_makes_no_sense_is_refused_with_the_allowed_range(duration: timedelta) -> None:
    (message,) = end_errors(a_request(duration=duration), ASKED)
    assert message.endswith("; 15 min to 30 d from now are allowed")


def test_F19_a_second_approval_changes_nothing() -> None:
    lease = a_lease()
    code, message = refusal(transitions.approve, lease, MANAGER, READY + HOUR)
    assert (code, message) == ("already-decided", "already approved by U0MANAGER at 2026-11-27 09:10 UTC")


def test_F19_what_policy_approved_is_provisioned_once() -> None:
    lease = a_lease(State.PROVISIONING, decision=a_decision(Outcome.APPROVE), steps=())
    assert lease.decided_by == "policy"
    assert refusal(life.start_provisioning, lease, READY)[0] == "wrong-state"
    assert refusal(transitions.approve, lease, MANAGER, READY)[1].startswith("already approved by policy at")


def test_F21_an_end_is_compared_as_an_instant_on_creation_and_on_change() -> None:
    zone = ZoneInfo("Africa/Lagos")
    now = datetime(2026, 11, 27, 20, 0, tzinfo=zone)
    (message,) = end_errors(a_request(until=now.replace(hour=19, minute=50)), now.astimezone(UTC))
    assert message == "is in the past; 15 min to 30 d from now are allowed"
    assert end_errors(a_request(until=now.replace(minute=30)), now.astimezone(UTC)) == []
    (message,) = end_errors(a_request(until=now.replace(minute=14)), now.astimezone(UTC))
    assert message == "is 14 min away; 15 min to 30 d from now are allowed"
    lease = a_lease()
    for early in (READY - DAY, READY, READY + 14 * MINUTE):
        assert refusal(life.extend, lease, early.astimezone(zone), "U0REQUESTER", "", READY)[0] == "end-too-early"
    stopped = a_lease(State.STOPPED)
    assert refusal(life.restore, stopped, ENDS + 14 * MINUTE, "U0REQUESTER", ENDS)[0] == "end-too-early"


@pytest.mark.parametrize(
    ("until", "elapsed"),
    [
        (datetime(2026, 3, 8, 13, 0, tzinfo=NEW_YORK), timedelta(hours=24)),
        (datetime(2026, 3, 8, 12, 0, tzinfo=NEW_YORK), timedelta(hours=23)),
    ],
)
def test_F24_elapsed_time_counts_over_a_clock_change(until: datetime, elapsed: timedelta) -> None:
    start = datetime(2026, 3, 7, 12, 0, tzinfo=NEW_YORK)
    assert a_request(until=until).length(start) == elapsed
    lease = a_lease(State.PROVISIONING, request=a_request(until=until), shift=start.astimezone(UTC) - READY)
    lease = life.ready(lease, RESOURCES, "", start, usd("1.00"), start.astimezone(UTC)).lease
    assert lease.ends_at == until.astimezone(UTC)
    lease = life.release(lease, "U0REQUESTER", until.astimezone(UTC)).lease
    lease = life.stopped(lease, until, until.astimezone(UTC)).lease
    assert lease.hours(until.astimezone(UTC)) == elapsed
    assert lease.cost(until.astimezone(UTC)) == usd(f"{elapsed // HOUR}.00")


def test_F25_a_day_that_two_stretches_share_is_counted_once() -> None:
    midnight = datetime.combine(date(2026, 9, 1), datetime.min.time(), NEW_YORK).astimezone(UTC)
    spans = billing.opened((Span(midnight - 744 * HOUR, None, usd("1")),), midnight, usd("1"))
    assert spans[0].end == spans[1].start == midnight
    assert billing.elapsed(spans, midnight) == 744 * HOUR
    assert billing.cost(spans, midnight, "USD") == usd("744.00")


def test_F26_shares_add_up_in_the_same_order() -> None:
    assert [str(s.amount) for s in usd("1.00").split([1, 1, 1])] == ["0.34", "0.33", "0.33"]
    lines = usd("100.01").split([1] * 81)
    assert sum(line.amount for line in lines) == Decimal("100.01")
    assert lines == usd("100.01").split([1] * 81)


@pytest.mark.parametrize(
    ("currency", "shown"), [("JPY", "1,235 JPY"), ("EUR", "1,234.57 EUR"), ("KWD", "1,234.568 KWD")]
)
def test_F27_each_currency_has_its_own_decimals(currency: str, shown: str) -> None:
    assert str(Money(Decimal("1234.5678"), currency)) == shown


def test_F28_a_price_change_charges_the_time_in_two_parts() -> None:
    start, change = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 15, tzinfo=UTC)
    end = datetime(2026, 12, 1, tzinfo=UTC)
    spans = billing.ended(billing.opened((Span(start, None, usd("1")),), change, usd("2")), end)
    assert billing.cost(spans, end, "USD") == usd("1104.00")


@pytest.mark.parametrize("how", ["product", "provider", "inside"])
def test_F29_cost_ends_with_the_stop_however_it_was_stopped(how: str) -> None:
    at, seen = READY + 3 * HOUR, READY + 3 * HOUR + 10 * MINUTE
    lease = a_lease()
    lease = {
        "product": lambda: life.stopped(life.release(lease, "U0REQUESTER", at).lease, at, seen),
        "provider": lambda: life.lost(lease, "spot interruption", at, seen),
        "inside": lambda: life.lost(lease, "stopped from inside", at, seen, gone=False),
    }[how]().lease
    reports = {str(lease.cost(seen + days * DAY)) for days in range(10)}
    assert reports == {"299.88 USD"}
    assert lease.hours(seen + 30 * DAY) == at - LAUNCHED


@pytest.mark.parametrize("restarts", [(), (11,), (11, 12, 13)])
def test_F31_consecutive_stretches_have_no_gap_and_no_overlap(restarts: tuple[int, ...]) -> None:
    start, end = datetime(2026, 11, 27, 10, 20, tzinfo=UTC), datetime(2026, 11, 27, 13, 40, tzinfo=UTC)
    spans: billing.Spans = (Span(start, None, usd("1.00")),)
    for hour in restarts:
        spans = billing.opened(spans, start.replace(hour=hour, minute=0), usd("1.00"))
    spans = billing.ended(spans, end)
    seconds = [int(s.elapsed(end).total_seconds()) for s in spans]
    assert sum(seconds) == 12_000
    assert billing.cost(spans, end, "USD") == usd("3.33")
    if len(restarts) == 3:
        assert seconds == [2_400, 3_600, 3_600, 2_400]


def test_F34_an_approval_limit_looks_at_the_on_demand_price() -> None:
    spot = an_offer(market=Market.SPOT, hourly=usd("30"), on_demand_hourly=usd("98.32"))
    quote = a_quote(offer=spot, spot_low=usd("28"), spot_high=usd("45"))
    assert quote.judged_hourly == usd("98.32")
    assert (quote.spot_low, quote.spot_high, quote.price_list) == (usd("28"), usd("45"), "catalogue 2026-11-01")
    unknown = a_quote(offer=replace(spot, on_demand_hourly=None))
    assert unknown.judged_hourly is None


def a_price_of(hourly: str) -> Lease:
    lease = a_lease(State.APPROVED)
    return transitions.requote(lease, a_quote(usd(hourly)), a_decision(), (a_step(),), READY).lease


def test_F42_an_approval_keeps_what_it_was_based_on() -> None:
    lease = a_lease(State.APPROVED)
    assert lease.quote == a_quote()
    assert lease.decision
    assert (lease.decision.policy_version, lease.quote.price_list) == ("p1", "catalogue 2026-11-01")
    assert a_price_of("108.15").quote == lease.quote


def test_F42_a_price_over_ten_percent_higher_goes_back_to_the_approver() -> None:
    assert a_price_of("108.15").state is State.APPROVED
    asked_again = a_price_of("108.16")
    assert (asked_again.state, asked_again.quote) == (State.AWAITING_APPROVAL, a_quote(usd("108.16")))
    assert refusal(life.start_provisioning, asked_again, READY)[0] == "wrong-state"
    assert transitions.approve(asked_again, MANAGER, READY + MINUTE).lease.state is State.APPROVED
