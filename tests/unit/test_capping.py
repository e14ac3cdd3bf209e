"""A lease with a cap of its own: who hears of it before it is reached, what follows, and which caps are refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.domain import billing, capping, deadlines, life, pausing
from lessor.domain.billing import Storage
from lessor.domain.deadlines import Due
from lessor.domain.errors import Invalid, Refused
from lessor.domain.ladder import Consent, Why
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.request import validate
from lessor.domain.terms import AtCap
from tests.builders import ASKED, CLOSES, ENDS, LAUNCHED, READY, a_lease, a_quote, a_request, some_limits, usd
from tests.refusing import refusal_code
from tests.unit.capped import DAY, HOUR, MINUTE, NOTICE, after, at, capped

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
FREE_DISK = Storage(LAUNCHED, None, 1, usd("0.0001"))


def test_it_is_told_at_half_at_four_fifths_and_before_the_stop() -> None:
    lease = capped("600")
    assert at(lease, READY) == (50, after(3), False)
    lease = capping.told(lease, 50, "slack:dm", after(3)).lease
    assert (lease.cap_told, lease.cap_stop_at) == ((50,), None)
    assert at(lease, after(3)) == (80, after(4.8), False)
    lease = capping.told(lease, 80, "slack:dm", after(4.8)).lease
    assert at(lease, after(4.8)) == (100, after(6) - NOTICE, False)
    change = capping.told(lease, 100, "slack:dm", after(6) - NOTICE)
    assert change.events[0].type == "cap-reached"
    assert change.events[0].data == {
        "percent": "100",
        "cap": "600.00 USD",
        "spent": "591.67 USD",
        "via": "slack:dm",
        "stops": after(6).isoformat(),
    }
    assert at(change.lease, after(6) - NOTICE) == (100, after(6), True)


def test_it_is_stopped_exactly_at_the_cap_and_keeps_its_disks() -> None:
    lease = capping.told(capped("600"), 100, "slack:dm", after(6) - NOTICE).lease
    assert lease.cap_told == (50, 80, 100)
    with pytest.raises(Refused, match="not stopped for its cap now"):
        capping.stop(lease, after(6) - timedelta(microseconds=1))
    change = capping.stop(lease, after(6))
    stopped = change.lease
    assert stopped.state is State.SUSPENDED
    assert stopped.pause is not None
    assert (stopped.pause.why, stopped.pause.words) == (
        Why.BUDGET,
        "its cap of 600.00 USD is used up (600.00 USD so far)",
    )
    assert (stopped.cap_stop_at, capping.next_step(stopped, after(6))) == (None, None)
    assert change.events[0].type == "budget-stopped"


def test_no_stop_without_a_delivered_warning_and_its_notice() -> None:
    """Nobody could be told in time: then it runs on beyond its cap until its notice is over (law 4)."""
    lease = capped("600")
    with pytest.raises(Refused, match="nobody has been told yet"):
        capping.stop(lease, after(7))
    late = life.warning_undelivered(lease, "Slack is down", after(6.5), after(6)).lease
    assert at(late, after(6)) == (100, after(6.5), False)
    told = capping.told(late, 100, "mail", after(6.5)).lease
    assert told.next_try is None
    assert at(told, after(6.5)) == (100, after(6.5) + NOTICE, True)
    with pytest.raises(Refused, match="not before"):
        capping.stop(told, after(6.5) + NOTICE - timedelta(microseconds=1))
    assert capping.stop(told, after(6.5) + NOTICE).lease.pause is not None


def test_of_several_shares_that_are_due_only_the_largest_is_told() -> None:
    assert at(capped("600"), after(5)) == (80, after(5), False)
    assert at(capped("600", ends_at=after(100)), after(40)) == (600, after(40) - NOTICE, False)
    assert at(capped("600", AtCap.WARN, ends_at=after(100)), after(40)) == (600, after(40), False)


def test_started_again_it_is_stopped_again_after_half_of_the_cap_more() -> None:
    lease = capping.stop(capping.told(capped("600"), 100, "slack", after(6) - NOTICE).lease, after(6)).lease
    lease = replace(lease, suspended_at=after(6), spans=billing.ended(lease.spans, after(6)), ends_at=after(40))
    lease = pausing.start(lease, "U0MANAGER", after(8)).lease
    lease = replace(lease, state=State.ACTIVE, spans=billing.opened(lease.spans, after(8), usd("100")))
    assert at(lease, after(8)) == (150, after(11) - NOTICE, False)
    told = capping.told(lease, 150, "slack", after(11) - NOTICE).lease
    assert told.cap_told == (50, 80, 100, 150)
    assert at(told, after(11) - NOTICE) == (150, after(11), True)


def test_where_people_are_only_warned_they_hear_of_it_again_beyond_the_cap() -> None:
    lease = capping.told(capped("200", AtCap.WARN), 100, "slack", after(2)).lease
    assert lease.cap_stop_at is None
    assert at(lease, after(2)) == (150, after(3), False)
    hours = {200: 4.0, 300: 6.0, 400: 8.0}
    told = 150
    for percent, hour in hours.items():
        lease = capping.told(lease, told, "slack", after(hour - 1)).lease
        assert at(lease, after(hour - 1)) == (percent, after(hour), False)
        told = percent


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ({"stoppable": False}, "on-demand machines cannot be stopped and started again"),
        ({"volatile": True}, "a stop would lose what is on its local disks, and nobody has agreed to that"),
    ],
)
def test_what_cannot_be_stopped_without_harm_is_only_told_of(harm: dict[str, Any], why: str) -> None:
    lease = capped("600", **harm)
    assert (capping.follows(lease), capping.why_not(lease)) == (AtCap.WARN, why)
    told = capping.told(lease, 100, "slack", after(6)).lease
    assert told.cap_stop_at is None
    assert at(replace(told, ends_at=after(20)), after(6)) == (150, after(9), False)


def test_local_disks_are_stopped_with_the_consent_of_the_owner() -> None:
    lease = capped("600", volatile=True, consent=Consent("U0REQUESTER", READY))
    assert (capping.follows(lease), capping.why_not(lease)) == (AtCap.STOP, "")


def test_where_it_ends_at_the_cap_its_end_moves_with_all_its_warnings() -> None:
    lease = capped("400", AtCap.END)
    lease = replace(capping.told(lease, 80, "slack", after(1.9)).lease, warned=())
    assert at(lease, after(1.9)) == (100, after(2), False)
    change = capping.told(lease, 100, "slack", after(2))
    assert [event.type for event in change.events] == ["cap-reached", "shortened"]
    assert change.events[1].data["reason"] == "its cap of 400.00 USD is used up"
    ended = change.lease
    assert (ended.ends_at, ended.end_set_at, ended.warned) == (after(4), after(2), ())
    assert deadlines.ends_no_earlier_than(ended) is None
    assert deadlines.warning_distances(ended) == (30 * MINUTE, 15 * MINUTE, 5 * MINUTE)
    assert ended.revision == lease.revision + 2


def test_an_end_that_comes_before_the_cap_is_not_moved() -> None:
    lease = capped("600", AtCap.END)
    change = capping.told(lease, 100, "slack", after(7))
    assert [event.type for event in change.events] == ["cap-reached"]
    assert change.lease.ends_at == ENDS


@pytest.mark.parametrize("state", [State.APPROVED, State.ENDING, State.STOPPED, State.DELETING, State.CLOSED])
def test_only_a_lease_in_use_is_told_of(state: State) -> None:
    lease = a_lease(state, request=a_request(cap=usd("1")))
    assert capping.next_step(lease, ENDS) is None


def test_a_lease_that_rests_at_night_hears_of_its_disks_only() -> None:
    lease = replace(a_lease(State.SUSPENDED, request=a_request(cap=usd("10000"))), storage=(FREE_DISK,))
    assert capping.next_step(lease, CLOSES) is None


def test_the_workflow_sleeps_until_then() -> None:
    lease = capped("200")
    deadline = deadlines.next_deadline(lease, READY)
    assert deadline is not None
    assert (deadline.due, deadline.at) == (Due.CAP, after(1))
    assert "its cap" in deadline.summary
    assert deadlines.next_deadline(capped("1000000"), READY) == deadlines.next_deadline(capped(None), READY)


def test_what_people_read() -> None:
    lease = capped("600")
    assert capping.spelled(lease, after(3)) == (
        f"600.00 USD; used: 300.00 USD; at this rate it is reached {after(6):%Y-%m-%d %H:%M} UTC"
    )
    told = capping.told(lease, 100, "slack", after(6) - NOTICE).lease
    found = capping.spending(told, after(6) - NOTICE)
    assert found == capping.Spending(
        usd("600"), usd("591.67"), True, 100, after(6), AtCap.STOP, stops_at=after(6), why_not=""
    )
    assert capping.spelled(capped(None), READY) == ""
    assert capping.spending(capped(None), READY) is None
    assert capping.spelled(a_lease(State.APPROVED, request=a_request(cap=usd("9000"))), READY) == "9,000.00 USD"


def test_nothing_is_told_of_a_lease_without_a_cap_or_not_in_use() -> None:
    assert refusal_code(lambda: capping.told(capped(None), 50, "slack", READY)) == "no-cap"
    ended = replace(capped("600"), state=State.STOPPED)
    assert refusal_code(lambda: capping.told(ended, 50, "slack", READY)) == "wrong-state"


@pytest.mark.parametrize(
    ("cap", "problem"),
    [
        ("786.56", ""),
        ("1000", ""),
        (
            "786.55",
            "786.55 USD is less than the 786.56 USD that 8 h cost at 98.32 USD an hour; give at least that, ask for "
            "less or for less time, or leave it out",
        ),
    ],
)
def test_a_cap_below_the_quoted_total_is_refused_with_the_numbers(cap: str, problem: str) -> None:
    found = capping.unfit(usd(cap), a_quote(), 8 * HOUR)
    assert (found.field if found else "", found.message if found else "") == ("cap" if problem else "", problem)


def test_a_cap_on_what_has_no_price_or_another_currency_is_refused() -> None:
    unknown = capping.unfit(usd("1000"), a_quote(None), 8 * HOUR)
    assert unknown is not None
    assert "nobody could tell when it is reached" in unknown.message
    other = capping.unfit(Money(Decimal(1000), "EUR"), a_quote(), 8 * HOUR)
    assert other is not None
    assert other.message == "the price is in USD; give the cap in USD as well"
    assert capping.unfit(None, a_quote(None), 8 * HOUR) is None


@pytest.mark.parametrize("cap", ["0", "-5", "1000000000.01"])
def test_an_impossible_cap_is_refused_at_its_field(cap: str) -> None:
    with pytest.raises(Invalid) as caught:
        validate(a_request(cap=usd(cap)), some_limits(), ASKED)
    [error] = caught.value.errors
    assert error.field == "cap"
    assert "an amount above 0 and up to 1,000,000,000 is allowed, or none at all" in error.message
    validate(a_request(cap=usd("0.01")), some_limits(), ASKED)


def test_a_new_owner_who_was_not_told_of_the_stop_is_told_anew() -> None:
    lease = capping.told(capped("600"), 100, "slack:dm", after(6) - NOTICE).lease
    fresh = capping.untold(lease)
    assert (fresh.cap_told, fresh.cap_stop_at) == ((50, 80), None)
    assert at(fresh, after(6)) == (100, after(6) - NOTICE, False)
    again = capping.told(fresh, 100, "slack:dm", after(6)).lease
    assert at(again, after(6)) == (100, after(6) + NOTICE, True)
    quiet = capping.told(capped("600"), 80, "slack:dm", after(5)).lease
    assert capping.untold(quiet) is quiet


def test_while_it_is_stopped_its_disks_bring_the_cap_nearer_and_people_hear_of_it() -> None:
    """7,200 GiB at 0.10 are 1 USD an hour in November: 50 of 100 USD are reached after 50 hours."""
    kept = Storage(NOVEMBER, None, 7_200, usd("0.10"))
    resting = pausing.pause(
        capped("100", spans=(), storage=(kept,), ends_at=ASKED + 9 * DAY), Why.ASKED, "U1", "", ASKED
    )
    lease = replace(resting.lease, suspended_at=ASKED)
    assert at(lease, NOVEMBER) == (50, NOVEMBER + 50 * HOUR, False)
    lease = capping.told(lease, 80, "slack", NOVEMBER + 80 * HOUR).lease
    assert at(lease, NOVEMBER + 80 * HOUR) == (100, NOVEMBER + 100 * HOUR, False)
    told = capping.told(lease, 100, "slack", NOVEMBER + 100 * HOUR).lease
    assert (told.cap_stop_at, told.pause) == (None, lease.pause)
    assert capping.why_not(told) == "it is stopped already, and only its disks cost"
    with pytest.raises(Refused, match="nobody has been told yet"):
        capping.stop(told, NOVEMBER + 200 * HOUR)
