"""Other thresholds over what was seen: who would have been warned or stopped, and what that would have saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.idle_plan import IdlePlan
from lessor.domain.idle_replay import Outcome, Rest, replay
from lessor.domain.ladder import Consent, Spared
from lessor.domain.lease import Lease, Span, State
from lessor.domain.resource import Condition
from lessor.domain.usage import GpuUse, HostUse, Observation
from tests.builders import HOURLY, LAUNCHED, READY, a_lease, a_need, a_quote, a_request, an_instance, an_offer, usd

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
STRICT = IdlePlan({"window": HOUR / 2, "warn": HOUR / 2, "final": 45 * MINUTE, "stop": HOUR, "warm_up": timedelta()})


def one_gpu(**changes: object) -> Lease:
    """A lease of one GPU at 98.32 USD an hour that has been closed since."""
    request = a_request(need=a_need(count=1))
    lease = a_lease(State.CLOSED, request=request, quote=a_quote(offer=an_offer(gpu_count=1, hourly=HOURLY)))
    gone = an_instance(condition=Condition.GONE)
    return replace(lease, resources=(gone,), **({"spans": (Span(LAUNCHED, READY + 8 * HOUR, HOURLY),)} | changes))  # type: ignore[arg-type]


def day(lease: Lease, *stretches: tuple[int, float], since: int = 0) -> Iterator[Observation]:
    """Minutes of this activity, one after the other, from `since` minutes after it became usable."""
    minute = since
    for count, engine in stretches:
        for _ in range(count):
            minute += 1
            at = READY + minute * MINUTE
            use = GpuUse("0", "i-0aaa", engine=engine)
            yield Observation(lease.id, at, at, (use,), (HostUse(cpu=1.0, machine="i-0aaa"),))


def replayed(lease: Lease, *stretches: tuple[int, float], plan: IdlePlan = STRICT) -> Outcome:
    (found,) = replay({lease.id: lease}.get, day(lease, *stretches), plan)
    return found


def test_what_is_idle_is_warned_twice_and_stopped_until_it_works_again() -> None:
    found = replayed(one_gpu(), (10, 0.9), (110, 0.0), (10, 0.9))
    assert found.warned == 2
    assert found.rests == (Rest(READY + 70 * MINUTE, READY + 121 * MINUTE, resumed=True),)
    assert found.saved == 51 * MINUTE
    assert found.money == usd("83.57"), "51 minutes at 98.32 an hour"
    assert found.ticks == 130


def test_what_stays_idle_is_stopped_until_the_last_that_was_seen() -> None:
    found = replayed(one_gpu(), (10, 0.9), (110, 0.0))
    assert found.rests == (Rest(READY + 70 * MINUTE, READY + 120 * MINUTE),)


def test_each_idle_stretch_is_a_stop_of_its_own() -> None:
    found = replayed(one_gpu(), (10, 0.9), (80, 0.0), (1, 0.9), (80, 0.0))
    assert [(one.since - READY) // MINUTE for one in found.rests] == [70, 151]
    assert found.warned == 4


def test_what_works_or_is_unknown_is_left_alone() -> None:
    assert replayed(one_gpu(), (300, 0.9)).rests == ()
    unknown = replayed(one_gpu(), (300, float("nan")))
    assert (unknown.warned, unknown.rests, unknown.money) == (0, (), usd("0"))


def test_with_the_present_thresholds_the_same_day_ends_otherwise() -> None:
    found = replayed(one_gpu(), (10, 0.9), (110, 0.0), plan=IdlePlan())
    assert (found.warned, found.rests) == (2, ())


def test_what_is_never_stopped_is_warned_only() -> None:
    only_warned = replace(STRICT, organisation={**STRICT.organisation, "stops": False})
    for lease, plan in (
        (one_gpu(stoppable=False), STRICT),
        (one_gpu(volatile=True), STRICT),
        (one_gpu(spared=Spared("U0ADMIN", READY, "a demo")), STRICT),
        (one_gpu(), only_warned),
    ):
        found = replayed(lease, (300, 0.0), plan=plan)
        assert (found.warned, found.rests) == (1, ()), lease
    agreed = one_gpu(volatile=True, consent=Consent("U0REQUESTER", READY))
    assert len(replayed(agreed, (300, 0.0)).rests) == 1


def test_an_administrators_word_holds_as_long_as_it_held() -> None:
    found = replayed(one_gpu(spared=Spared("U0ADMIN", READY, "a demo", READY + HOUR)), (300, 0.0))
    assert len(found.rests) == 1


def test_no_step_rests_on_a_tick_that_was_not_whole() -> None:
    lease = one_gpu()
    seen = list(day(lease, (10, 0.9), (110, 0.0)))
    seen[69] = Observation(lease.id, seen[69].at)
    (found,) = replay({lease.id: lease}.get, seen, STRICT)
    assert [(one.since - READY) // MINUTE for one in found.rests] == [71]


def test_money_of_an_unknown_price_is_unknown() -> None:
    found = replayed(one_gpu(spans=(Span(LAUNCHED, READY + 8 * HOUR, None),)), (300, 0.0))
    assert found.saved == 240 * MINUTE
    assert found.money is None


def test_only_what_it_ran_is_saved_and_its_warm_up_counts_from_its_start_then() -> None:
    spans = (Span(LAUNCHED, READY + 70 * MINUTE, HOURLY), Span(READY + 100 * MINUTE, READY + 300 * MINUTE, HOURLY))
    lease = one_gpu(spans=spans)
    plan = replace(STRICT, organisation={**STRICT.organisation, "warm_up": HOUR})
    seen = [*day(lease, (66, 0.0)), *day(lease, (120, 0.0), since=100)]
    (found,) = replay({lease.id: lease}.get, seen, plan)
    assert [(one.since - READY) // MINUTE for one in found.rests] == [190], "the warm-up ends at 160"
    assert found.money == usd("49.16")


def test_leases_that_are_not_known_are_left_out_and_others_are_in_order() -> None:
    lease, other = one_gpu(), replace(one_gpu(), id="gpu-00000001")
    seen = [one for pair in zip(day(lease, (5, 0.0)), day(other, (5, 0.0)), strict=True) for one in pair]
    known = {lease.id: lease, other.id: other}
    found = replay(known.get, [*seen, replace(seen[0], lease_id="gpu-99999999")], STRICT)
    assert [one.lease.id for one in found] == ["gpu-00000001", "gpu-7k3qxa2m"]


@pytest.mark.parametrize(("every", "stopped"), [(1, 70), (5, 70), (10, 80)])
def test_ticks_are_as_long_as_they_were_when_they_were_recorded(every: int, stopped: int) -> None:
    """With ticks of 10 minutes the last warning comes at 60, a quarter of an hour before the stop at the least."""
    lease = one_gpu()
    seen = [one for index, one in enumerate(day(lease, (10, 0.9), (300, 0.0))) if (index + 1) % every == 0]
    (found,) = replay({lease.id: lease}.get, seen, STRICT)
    assert [(one.since - READY) // MINUTE for one in found.rests] == [stopped]


def test_a_gap_is_no_long_tick_and_long_ticks_are_no_gaps() -> None:
    lease = one_gpu()
    gap = [*day(lease, (10, 0.9), (40, 0.0)), *day(lease, (20, 0.0), since=90)]
    assert replay({lease.id: lease}.get, gap, STRICT)[0].rests == ()
    seen = [*day(lease, (10, 0.9)), *(one for one in day(lease, (300, 0.0), since=10) if one.at.minute % 5 == 0)]
    (found,) = replay({lease.id: lease}.get, seen, STRICT)
    assert found.warned == 2
    assert len(found.rests) == 1
