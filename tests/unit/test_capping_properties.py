"""Whatever happens to a lease with a cap: it is stopped in time, never unannounced, and no deadline spins."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain import billing, capping, life, ownership, pausing, storage, suspension
from lessor.domain.billing import Span, Storage
from lessor.domain.deadlines import Due, next_deadline
from lessor.domain.ladder import Consent, Why
from lessor.domain.lease import Lease, State
from lessor.domain.terms import AtCap, Terms
from tests.builders import ASKED, LAUNCHED, MANAGER, a_lease, a_request, usd

NOTICE = Terms().notice
RETRY = timedelta(minutes=1)
ENDS = ASKED + timedelta(days=20)
BASE = a_lease(request=a_request(cap=usd("100")))
STEP = timedelta(microseconds=1)
STEPS = {50, 80, *(100 * 2**n for n in range(16)), *(150 * 2**n for n in range(16))}
"""Few, however much more than its cap a lease costs."""


class Life:
    """Leads a lease as its workflow does. `reached` says of each message in turn whether somebody got it."""

    def __init__(self, lease: Lease, reached: list[bool]) -> None:
        self.lease, self.now = lease, LAUNCHED
        self.reached = reached
        self.told: list[tuple[int, datetime]] = []
        self.turns = 0

    def until_paused(self) -> None:
        """Through every deadline of the cap, until it is paused, or nothing more is due before the end."""
        while (due := self._due()) is not None and self.lease.pause is None:
            self.turns += 1
            assert self.turns < 100, f"it spins at {self.now}: {due}"
            self.now = max(self.now, due)
            self._do()

    def announce(self) -> None:
        """Until people were told that it is stopped."""
        while self.lease.cap_stop_at is None and (due := self._due()) is not None:
            self.now = max(self.now, due)
            self._do()

    def _due(self) -> datetime | None:
        step = capping.next_step(self.lease, self.now)
        return step.at if step and max(step.at, self.now) < ENDS else None

    def _do(self) -> None:
        step = capping.next_step(self.lease, self.now)
        assert step is not None
        assert step.at <= self.now, "a step that was due is put off without anybody having done anything"
        if step.stops:
            self.lease = capping.stop(self.lease, self.now).lease
        elif self.reached.pop(0) if self.reached else True:
            self.lease = capping.told(self.lease, step.percent, "slack", self.now).lease
            self.told.append((step.percent, self.now))
        else:
            undelivered = life.warning_undelivered(self.lease, "nobody", self.now + RETRY, self.now)
            self.lease = undelivered.lease


def a_life(
    hourly: int, gib: int, cap: int, reached: list[bool], at_cap: AtCap = AtCap.STOP, volatile: bool = False
) -> Life:
    """One that runs until it is paused, at so many dollars an hour, with so much disk, and for so many at most."""
    lease = replace(
        BASE,
        request=replace(BASE.request, cap=usd(str(cap))),
        terms=replace(BASE.terms, at_cap=at_cap),
        spans=(Span(LAUNCHED, None, usd(str(hourly))),),
        storage=(Storage(LAUNCHED, None, gib, usd("0.08")),),
        ready_at=LAUNCHED,
        ends_at=ENDS,
        volatile=volatile,
    )
    return Life(lease, reached)


def spent(lease: Lease, life: Life) -> Fraction:
    hours = Fraction((life.now - LAUNCHED) // STEP, 3_600_000_000)
    hourly = lease.spans[0].hourly
    compute = Fraction(hourly.amount) * hours if hourly else Fraction(0)
    return compute + storage.gib_months(lease.storage, life.now) * Fraction("0.08")


CASES = {
    "hourly": st.integers(1, 400),
    "gib": st.integers(0, 50_000),
    "cap": st.integers(1, 50_000),
    "reached": st.lists(st.booleans(), max_size=12),
}


@settings(max_examples=40, deadline=None)
@given(**CASES)
def test_no_stop_without_a_delivered_warning_and_its_notice(
    hourly: int, gib: int, cap: int, reached: list[bool]
) -> None:
    led = a_life(hourly, gib, cap, reached)
    led.until_paused()
    if led.lease.pause is None:
        assert capping.reached_at(led.lease, 100, ENDS) is None or led.lease.cap_stop_at is not None
        return
    assert led.lease.pause.why is Why.BUDGET
    announced = [at for percent, at in led.told if percent >= 100]
    assert announced
    assert led.now - announced[-1] >= NOTICE
    assert spent(led.lease, led) >= cap


@settings(max_examples=40, deadline=None)
@given(hourly=CASES["hourly"], gib=CASES["gib"], cap=st.integers(2_000, 50_000))
def test_where_people_are_reached_it_is_stopped_exactly_at_the_cap(hourly: int, gib: int, cap: int) -> None:
    led = a_life(hourly, gib, cap, [])
    led.until_paused()
    if led.lease.pause is None:
        assert spent(led.lease, Life(led.lease, [])) <= cap
        return
    assert spent(led.lease, led) >= cap
    led.now -= STEP
    assert spent(led.lease, led) < cap


@settings(max_examples=40, deadline=None)
@given(**CASES, volatile=st.booleans())
def test_where_nothing_may_be_stopped_people_hear_of_it_again_and_again_and_it_runs_on(
    hourly: int, gib: int, cap: int, reached: list[bool], volatile: bool
) -> None:
    led = a_life(hourly, gib, max(cap, 50), reached, AtCap.STOP if volatile else AtCap.WARN, volatile)
    led.until_paused()
    assert led.lease.pause is None
    percents = [percent for percent, _ in led.told]
    assert percents == sorted(set(percents))
    assert set(percents) <= STEPS
    assert len(percents) <= len(STEPS)


@pytest.mark.parametrize(("again", "cost"), [(1, "150"), (2, "200"), (3, "300"), (4, "400")])
def test_each_start_after_a_stop_leads_to_the_next_share_of_the_cap(again: int, cost: str) -> None:
    led = a_life(10, 0, 100, [])
    for _ in range(again):
        led.until_paused()
        stopped = replace(led.lease, suspended_at=led.now, spans=billing.ended(led.lease.spans, led.now))
        led.lease = replace(
            pausing.start(stopped, "U0MANAGER", led.now).lease,
            state=State.ACTIVE,
            spans=billing.opened(stopped.spans, led.now, usd("10")),
        )
    led.until_paused()
    assert led.lease.cost(led.now) == usd(cost)


def test_a_stop_by_the_schedule_meanwhile_does_not_lose_the_stop_at_the_cap() -> None:
    led = a_life(10, 0, 100, [])
    led.announce()
    rests = replace(led.lease, state=State.SUSPENDED, spans=billing.ended(led.lease.spans, led.now))
    assert capping.next_step(rests, led.now + timedelta(days=3)) is None
    woken = suspension.started_again(rests, led.now + timedelta(days=3), led.now + timedelta(days=3)).lease
    deadline = next_deadline(woken, led.now + timedelta(days=3))
    assert deadline is not None
    assert (deadline.due, deadline.at) == (Due.CAP, led.now + timedelta(days=3) + NOTICE)


def test_consent_to_losing_local_disks_brings_the_stop_with_its_warning() -> None:
    led = a_life(10, 0, 100, [], volatile=True)
    led.until_paused()
    told = led.lease.cap_told
    assert led.lease.pause is None
    agreed = replace(led.lease, consent=Consent("U0REQUESTER", led.now), ends_at=ENDS + timedelta(days=9))
    step = capping.next_step(agreed, led.now)
    assert step is not None
    assert (step.percent > max(told), step.stops) == (True, False)


def test_a_lease_that_changes_hands_is_never_stopped_on_a_word_to_its_former_owner() -> None:
    led = a_life(10, 0, 100, [])
    led.announce()
    other = replace(MANAGER, teams=("ml",))
    offered = ownership.offer(led.lease, other, "", led.lease.owner, led.now).lease
    moved = ownership.take(offered, other, None, led.now).lease
    step = capping.next_step(moved, led.now + NOTICE)
    assert step is not None
    assert (step.percent, step.stops) == (100, False)
