"""What a lease is judged to be doing: idle is said only of a whole window that was seen whole (law 1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.judging import advance, certain, changed, partly_idle, working
from lessor.domain.usage import GpuUse, HostUse, Observation, Subject
from tests.unit.judged import HOUR, MACHINE, MINUTE, QUIET, START, Judged, at, gpu, gpus, mig, of, verdict

NOW_BUSY = gpu(0.9)


def test_idle_after_a_whole_window_and_not_a_minute_before() -> None:
    judged = of(1, warm_up=timedelta())
    assert verdict(judged.ticks(59, gpu())) == (Verdict.UNKNOWN, at(1))
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    assert certain(judged.standing)
    assert judged.evidence.covered == 1.0


def test_work_in_one_tick_of_the_window_is_work() -> None:
    judged = of(1)
    judged.ticks(70, gpu())
    judged.tick(gpu(0.03))
    assert verdict(judged.ticks(59, gpu())) == (Verdict.BUSY, at(70))
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(71))


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(gpu(0.021), id="engine"),
        pytest.param(gpu(0.0, sm=0.5), id="multiprocessors"),
        pytest.param(gpu(None, util=6.0), id="utilisation where there is no engine"),
        pytest.param(gpu(0.0, util=50.0), id="utilisation beside an engine"),
        pytest.param(mig(0.5), id="engine of a slice"),
        pytest.param(mig(0.0, sm=0.5), id="multiprocessors of a slice"),
    ],
)
def test_a_gpu_works_by_any_of_its_signals(use: GpuUse) -> None:
    judged = of(1)
    assert judged.tick(use).verdict is Verdict.BUSY
    assert working(judged.standing) == 1
    assert (judged.standing.active_at, judged.standing.active_kind) == (at(1), "gpu")


def test_power_counts_where_a_threshold_is_set_and_never_for_a_slice() -> None:
    hot = gpu(0.0, power=250.0)
    assert of(1, warm_up=timedelta()).tick(hot).verdict is Verdict.UNKNOWN
    assert of(1, power=200.0).tick(hot).verdict is Verdict.BUSY
    assert of(1, power=200.0).tick(mig(0.0, power=250.0)).verdict is Verdict.WARMING_UP


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        (replace(QUIET, cpu=80.0), "cpu"),
        (replace(QUIET, network=2e6), "network"),
        (replace(QUIET, disk=6e6), "disk"),
        (replace(QUIET, sessions=1), "session"),
        (replace(QUIET, kernels=1), "kernel"),
        (replace(QUIET, requests=0.1), "requests"),
        (replace(QUIET, kernels=1, cpu=90.0), "kernel"),
    ],
)
def test_what_the_machine_does_beside_its_gpus_is_work(host: HostUse, kind: str) -> None:
    judged = of(1)
    judged.ticks(100, gpu())
    standing = judged.tick(gpu(), host=host)
    assert verdict(standing) == (Verdict.BUSY, at(100))
    assert (standing.active_at, standing.active_kind) == (at(101), kind)
    assert verdict(judged.ticks(60, gpu())) == (Verdict.IDLE, at(101))


@pytest.mark.parametrize("name", ["cpu", "network", "disk", "requests"])
def test_a_signal_that_is_left_out_counts_for_nothing(name: str) -> None:
    judged = of(1, **{name: None})
    judged.ticks(100, gpu())
    assert judged.tick(gpu(), host=replace(QUIET, **{name: 99.0})).verdict is Verdict.IDLE


def test_warming_up_is_not_idle_and_work_in_it_is_work() -> None:
    judged = of(1, warm_up=2 * HOUR)
    assert verdict(judged.ticks(119, gpu())) == (Verdict.WARMING_UP, START)
    assert judged.standing.idle_gpus == 0
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    other = of(1, warm_up=2 * HOUR)
    assert other.tick(NOW_BUSY).verdict is Verdict.BUSY


def test_where_nobody_knows_the_start_the_warm_up_counts_from_the_first_sample() -> None:
    judged = Judged(IdleTerms(warm_up=HOUR, window=timedelta(minutes=10), warn=HOUR), Subject("gpu-1", 1, (MACHINE,)))
    assert judged.ticks(59, gpu()).verdict is Verdict.WARMING_UP
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)


def test_a_machine_that_starts_within_a_tick_is_idle_from_its_start() -> None:
    judged = of(1)
    judged.subject = replace(judged.subject, ready_at=START + timedelta(seconds=20))
    judged.ticks(60, gpu())
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START + timedelta(seconds=20))


def test_a_tick_that_was_judged_already_or_comes_late_changes_nothing() -> None:
    judged = of(1)
    standing = judged.ticks(5, gpu())
    again = Observation("gpu-7k3qxa2m", at(5), at(5), (NOW_BUSY,), (QUIET,))
    late = replace(again, at=at(3), newest=at(3))
    assert advance(standing, again, judged.terms, judged.subject, MINUTE) is standing
    assert advance(standing, late, judged.terms, judged.subject, MINUTE) is standing


def test_one_gpu_short_of_a_fraction_is_idle_and_idle_since_the_fraction_was_last_met() -> None:
    judged = of(4, fraction=0.5)
    judged.ticks(90, *gpus(0.9, 0.9, 0.0, 0.0))
    assert judged.standing.verdict is Verdict.BUSY
    standing = judged.ticks(60, *gpus(0.9, 0.0, 0.0, 0.0))
    assert verdict(standing) == (Verdict.IDLE, at(90))
    assert standing.idle_gpus == 3
    judged.tick(*gpus(0.9, 0.0, 0.5, 0.0))
    assert judged.standing.verdict is Verdict.BUSY


@pytest.mark.parametrize(("fraction", "busy"), [(0.07, 7), (0.29, 29), (0.25, 25), (0.0, 1), (1.0, 100)])
def test_a_fraction_of_the_gpus_is_counted_exactly(fraction: float, busy: int) -> None:
    judged = of(100, fraction=fraction, warm_up=timedelta())
    assert judged.tick(*gpus(*[0.9] * busy, *[0.0] * (100 - busy))).verdict is Verdict.BUSY
    fewer = of(100, fraction=fraction, warm_up=timedelta())
    assert fewer.tick(*gpus(*[0.9] * (busy - 1), *[0.0] * (101 - busy))).verdict is Verdict.UNKNOWN


def test_memory_that_is_taken_or_freed_is_something_that_happened() -> None:
    judged = of(1)
    full = gpu(memory_used=70_000.0)
    judged.ticks(90, gpu())
    assert verdict(judged.tick(full)) == (Verdict.BUSY, at(90))
    assert verdict(judged.ticks(60, full)) == (Verdict.HELD, at(91))
    assert verdict(judged.tick(gpu())) == (Verdict.BUSY, at(151))
    assert verdict(judged.ticks(60, gpu())) == (Verdict.IDLE, at(152))


def test_a_process_that_ends_is_something_that_happened_even_if_its_memory_stays() -> None:
    judged = of(1, window=10 * MINUTE, warm_up=timedelta())
    full = {"memory_used": 70_000.0}
    judged.ticks(90, gpu(**full, processes=1))
    assert judged.standing.verdict is Verdict.HELD
    assert verdict(judged.tick(gpu(**full, processes=0))) == (Verdict.BUSY, at(90))
    assert verdict(judged.ticks(10, gpu(**full, processes=0))) == (Verdict.IDLE, at(91)), "nothing holds it any more"


def test_the_last_activity_is_the_latest_of_all_kinds() -> None:
    judged = of(1)
    judged.ticks(5, gpu(0.9))
    judged.ticks(20, gpu())
    judged.tick(gpu(), host=replace(QUIET, cpu=90.0))
    judged.ticks(20, gpu())
    assert (judged.standing.active_at, judged.standing.active_kind) == (at(26), "cpu")


def test_gpus_without_series_count_among_those_that_may_work() -> None:
    judged = of(4, fraction=0.5)
    judged.ticks(90, *gpus(0.0, 0.0, 0.9))
    assert judged.standing.verdict is Verdict.UNKNOWN, "the fourth may be the second that works"
    judged.ticks(60, *gpus(0.0, 0.0, 0.0))
    assert verdict(judged.standing) == (Verdict.IDLE, at(90))


def test_memory_without_a_total_is_held_above_a_gibibyte() -> None:
    judged = of(1)
    assert judged.ticks(60, gpu(memory_used=2_000.0, memory_total=None)).verdict is Verdict.HELD
    other = of(1)
    assert other.ticks(60, gpu(memory_used=900.0, memory_total=None)).verdict is Verdict.IDLE


def test_peaks_are_the_most_since_the_last_work() -> None:
    judged = of(2)
    judged.ticks(5, *gpus(0.9, 0.8))
    judged.tick(gpu(0.01, "0"), gpu(0.0, "1", memory_used=40_960.0), host=replace(QUIET, cpu=15.0))
    judged.ticks(62, gpu(0.0, "0"), gpu(0.005, "1", memory_used=40_960.0))
    found = judged.evidence
    assert found.verdict is Verdict.HELD
    assert (found.peak_engine, found.peak_util, found.peak_memory) == (0.01, 1.0, 0.5)
    assert (found.peak_power, found.peak_cpu, found.peak_network, found.peak_disk) == (63.0, 15.0, 2_000.0, 1_000.0)
    assert (found.peak_sessions, found.peak_requests) == (0, None)
    assert (found.since, found.active_at, found.active_kind) == (at(6), at(6), "gpu")
    assert (found.gpus, found.idle_gpus, found.covered, found.problem) == (2, 2, 1.0, "")


def test_windows_that_are_no_longer_than_a_tick_are_judged_too() -> None:
    judged = of(1, window=10 * MINUTE, warm_up=timedelta())
    judged.every = 30 * MINUTE
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    assert verdict(judged.ticks(3, gpu())) == (Verdict.IDLE, START)


def standing_of(verdict: Verdict, **fields: object) -> Standing:
    values: dict[str, object] = {"lease_id": "gpu-1", "at": at(90), "verdict": verdict, "since": START, "gpus": 8}
    return Standing(**(values | fields))  # type: ignore[arg-type]


BUSY, IDLE, HELD, WARM, UNKNOWN = (
    standing_of(one) for one in (Verdict.BUSY, Verdict.IDLE, Verdict.HELD, Verdict.WARMING_UP, Verdict.UNKNOWN)
)
PARTLY = replace(BUSY, idle_gpus=7)
WAS_IDLE = replace(UNKNOWN, before=Verdict.IDLE)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, IDLE, True),
        (None, BUSY, False),
        (None, WARM, False),
        (None, UNKNOWN, False),
        (None, PARTLY, True),
        (BUSY, IDLE, True),
        (IDLE, BUSY, True),
        (IDLE, HELD, True),
        (IDLE, UNKNOWN, True),
        (BUSY, UNKNOWN, False),
        (UNKNOWN, BUSY, False),
        (WAS_IDLE, BUSY, True),
        (WAS_IDLE, UNKNOWN, False),
        (WARM, BUSY, False),
        (WARM, IDLE, True),
        (IDLE, replace(IDLE, at=at(91)), False),
        (IDLE, replace(IDLE, since=at(5)), True),
        (BUSY, PARTLY, True),
        (PARTLY, replace(PARTLY, idle_gpus=6), False),
        (replace(PARTLY, idle_gpus=6), PARTLY, True),
        (PARTLY, BUSY, True),
        (BUSY, replace(BUSY, idle_gpus=8), False),
        (BUSY, replace(BUSY, faulty=("3",)), True),
        (replace(BUSY, faulty=("3",)), BUSY, False),
    ],
)
def test_a_lease_is_told_what_follows_something_for_it(before: Standing | None, after: Standing, told: bool) -> None:
    assert changed(before, after) is told


def test_all_gpus_idle_beside_a_busy_processor_is_not_partly_idle() -> None:
    judged = of(2)
    judged.ticks(80, *gpus(0.0, 0.0), host=replace(QUIET, cpu=50.0))
    assert judged.standing.verdict is Verdict.BUSY
    assert (judged.standing.idle_gpus, partly_idle(judged.standing)) == (2, 0)
