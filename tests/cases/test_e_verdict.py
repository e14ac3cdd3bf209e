"""Cases of telling idle GPUs from others: what is judged, and from what. Each tick is a minute unless it says else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.attribution import attribute
from lessor.domain.idle import Verdict
from lessor.domain.idle_review import kept_up
from lessor.domain.judging import changed, partly_idle
from lessor.domain.usage import GpuUse, HourUse, Reading
from tests.builders import LEASE_ID
from tests.unit.judged import HOUR, MINUTE, QUIET, START, at, gpu, gpus, mig, of, verdict


def test_E04_a_busy_slice_whose_classic_field_is_0_is_busy() -> None:
    judged = of(1)
    for _ in range(300):
        standing = judged.tick(mig(0.7, 1), mig(0.6, 2), gpu(None, "0", util=0.0))
    assert verdict(standing) == (Verdict.BUSY, START)
    assert (standing.idle_gpus, standing.gpus) == (0, 2)


def test_E04_a_slice_of_which_only_the_classic_field_is_known_is_unknown() -> None:
    judged = of(1)
    assert judged.ticks(300, mig(None, util=0.0)).verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "not seen, or with values that cannot be: GPU 0/1 of i-0aaa"


def test_E05_a_ratio_above_1_is_capped_and_slices_of_a_card_are_judged_separately() -> None:
    judged = of(1)
    standing = judged.ticks(90, mig(1.07, 1), mig(0.0, 2))
    assert (standing.verdict, standing.idle_gpus, standing.gpus) == (Verdict.BUSY, 1, 2)
    standing = judged.ticks(60, mig(0.0, 1), mig(0.0, 2))
    assert verdict(standing) == (Verdict.IDLE, at(90))


def test_E05_a_slice_with_a_gap_is_unknown_and_its_neighbour_is_not() -> None:
    judged = of(1)
    judged.ticks(70, mig(0.0, 1), mig(0.0, 2))
    judged.ticks(5, mig(0.0, 1))
    assert (judged.standing.verdict, judged.standing.idle_gpus) == (Verdict.UNKNOWN, 1)
    judged.tick(mig(0.0, 1), mig(0.0, 2))
    assert (judged.standing.verdict, judged.standing.idle_gpus) == (Verdict.UNKNOWN, 1)
    judged.ticks(59, mig(0.0, 1), mig(0.0, 2))
    assert verdict(judged.standing) == (Verdict.IDLE, at(75))


def test_E05_a_card_that_is_cut_anew_is_judged_by_its_new_slices() -> None:
    judged = of(1)
    judged.ticks(70, mig(0.0, 1), mig(0.0, 2))
    judged.tick(mig(0.0, 7), mig(0.0, 8), mig(0.0, 9))
    assert (judged.standing.verdict, judged.standing.gpus) == (Verdict.UNKNOWN, 3)
    assert verdict(judged.ticks(59, mig(0.0, 7), mig(0.0, 8), mig(0.0, 9))) == (Verdict.IDLE, at(70))


def test_E07_full_use_without_a_process_is_a_faulty_card_after_half_an_hour_and_no_activity() -> None:
    judged = of(1)
    judged.ticks(70, gpu(processes=0))
    stuck = gpu(1.0, processes=0)
    standing = judged.ticks(29, stuck)
    assert (standing.verdict, standing.faulty) == (Verdict.BUSY, ())
    before = standing
    standing = judged.tick(stuck)
    assert (standing.verdict, standing.since) == (Verdict.IDLE, START)
    assert standing.faulty == ("0 of i-0aaa",)
    assert changed(before, standing)
    assert judged.evidence.peak_util is None, "what a broken card shows is no evidence"
    assert verdict(judged.ticks(60, stuck)) == (Verdict.IDLE, START)
    assert judged.standing.active_kind == ""


def test_E07_memory_without_a_process_is_a_faulty_card_and_not_a_loaded_model() -> None:
    judged = of(1)
    full = gpu(memory_used=80_000.0, processes=0)
    assert judged.ticks(90, full).verdict is Verdict.IDLE
    assert judged.standing.faulty == ("0 of i-0aaa",)


def test_E07_a_process_that_is_seen_at_last_makes_it_activity_from_the_beginning() -> None:
    judged = of(1)
    judged.ticks(29, gpu(1.0, processes=0))
    judged.ticks(1, gpu(1.0, processes=1))
    assert verdict(judged.ticks(59, gpu(processes=0))) == (Verdict.BUSY, START)
    assert verdict(judged.tick(gpu(processes=0))) == (Verdict.IDLE, at(30))
    short = of(1)
    short.ticks(90, gpu(processes=0))
    short.ticks(10, gpu(1.0, processes=0))
    assert verdict(short.tick(gpu(processes=0))) == (Verdict.BUSY, at(90))
    assert verdict(short.ticks(59, gpu(processes=0))) == (Verdict.IDLE, at(100))


def test_E07_without_knowing_the_processes_nothing_is_faulty() -> None:
    judged = of(1)
    standing = judged.ticks(500, gpu(1.0))
    assert (standing.verdict, standing.faulty) == (Verdict.BUSY, ())


def test_E08_memory_held_without_compute_is_a_state_of_its_own_with_both_numbers() -> None:
    judged = of(1)
    judged.ticks(10, gpu(0.9, memory_used=77_824.0, processes=1))
    standing = judged.ticks(60, gpu(0.0, memory_used=77_824.0, processes=1))
    assert verdict(standing) == (Verdict.HELD, at(10))
    found = judged.evidence
    assert (found.peak_memory, found.peak_util) == (0.95, 0.0)


def test_E10_a_quiet_processor_and_a_busy_gpu_is_busy() -> None:
    judged = of(1)
    assert judged.ticks(300, gpu(0.9), host=replace(QUIET, cpu=0.0)).verdict is Verdict.BUSY


@pytest.mark.parametrize("signal", [{"cpu": 80.0}, {"network": 5e6}, {"disk": 9e6}, {"sessions": 1}, {"kernels": 1}])
def test_E10_idle_requires_all_available_signals_to_be_idle(signal: dict[str, float]) -> None:
    judged = of(1)
    assert judged.ticks(300, gpu(), host=replace(QUIET, **signal)).verdict is Verdict.BUSY  # type: ignore[arg-type]
    found = judged.ticks(60, gpu()) and judged.evidence
    assert found.verdict is Verdict.IDLE
    shown = (found.peak_engine, found.peak_util, found.peak_power, found.peak_cpu, found.peak_network, found.peak_disk)
    assert shown == (0.0, 0.0, 60.0, 2.0, 2_000.0, 1_000.0)
    assert found.peak_sessions == 0


def test_E11_a_start_and_preparation_on_the_processor_are_not_idleness() -> None:
    judged = of(1)
    assert judged.ticks(59, gpu()).verdict is Verdict.WARMING_UP
    other = of(1)
    assert other.ticks(90, gpu(), host=replace(QUIET, cpu=80.0)).verdict is Verdict.BUSY


def test_E11_ten_minutes_in_every_hour_are_active_with_a_window_of_two_hours() -> None:
    judged = of(1, window=2 * HOUR, warn=2 * HOUR, final=3 * HOUR, stop=4 * HOUR)
    for _ in range(24):
        judged.ticks(10, gpu(0.9))
        assert judged.ticks(50, gpu()).verdict is Verdict.BUSY


def test_E13_the_clock_starts_when_the_run_ends() -> None:
    judged = of(1, window=10 * MINUTE, warm_up=timedelta())
    judged.ticks(100, gpu())
    assert judged.standing.verdict is Verdict.IDLE
    judged.ticks(12, gpu(0.9))
    assert judged.ticks(9, gpu()).verdict is Verdict.BUSY
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(112))


def test_E14_an_open_tab_is_no_activity_and_the_last_one_is_told_with_its_kind() -> None:
    judged = of(1)
    judged.ticks(5, gpu(), host=replace(QUIET, kernels=1))
    polled = replace(QUIET, kernels=0, sessions=0, network=40_000.0, cpu=3.0)
    judged.ticks(200, gpu(), host=polled)
    found = judged.evidence
    assert (found.verdict, found.since) == (Verdict.IDLE, at(5))
    assert (found.active_at, found.active_kind) == (at(5), "kernel")


def test_E16_never_used_at_all_is_idle_from_its_start() -> None:
    judged = of(1)
    judged.ticks(60, gpu())
    found = judged.evidence
    assert (found.verdict, found.since) == (Verdict.IDLE, START)
    assert (found.active_at, found.active_kind) == (None, "")


def week(**changes: object) -> list[HourUse]:
    first = HourUse(LEASE_ID, at(0), ticks=60, busy=60)
    return [replace(first, hour=at(60 * hour), **changes) for hour in range(168)]  # type: ignore[arg-type]


def test_E17_what_was_never_idle_for_a_week_with_gpus_that_did_nothing_is_listed() -> None:
    judged = of(2)
    kept = judged.ticks(70, *gpus(0.0, 0.0), host=replace(QUIET, sessions=1))
    now = at(168 * 60)
    assert kept_up(kept, week(), now)
    assert not kept_up(kept, week(gpu_busy=0.5), now)
    assert not kept_up(kept, week(idle=1), now)
    assert not kept_up(kept, week()[:100], now), "less than a week on record says nothing"
    assert not kept_up(judged.ticks(70, *gpus(0.9, 0.0)), week(), now)


def test_E17_each_tick_without_a_whole_look_is_counted() -> None:
    judged = of(1)
    judged.ticks(70, gpu())
    assert [judged.silence().missed for _ in range(4)] == [1, 2, 3, 4]
    assert judged.tick(gpu()).missed == 0


def test_E19_one_gpu_of_eight_at_work_is_busy_with_seven_idle() -> None:
    judged = of(8)
    standing = judged.ticks(60, *gpus(1.0, *[0.0] * 7))
    assert (standing.verdict, standing.idle_gpus, standing.gpus) == (Verdict.BUSY, 7, 8)
    assert partly_idle(standing) == 7
    found = judged.evidence
    assert (found.idle_gpus, found.gpus) == (7, 8)


def test_E19_work_that_goes_from_gpu_to_gpu_leaves_none_idle() -> None:
    judged = of(4)
    for minute in range(240):
        standing = judged.tick(*(gpu(0.9 if minute % 4 == index else 0.0, str(index)) for index in range(4)))
    assert (standing.verdict, standing.idle_gpus) == (Verdict.BUSY, 0)


def test_E20_an_allocation_without_any_process_is_idle_from_its_start() -> None:
    judged = of(8)
    without = tuple(GpuUse(str(index), "i-0aaa", processes=0) for index in range(8))
    standing = judged.ticks(60, *without, host=None)
    assert verdict(standing) == (Verdict.IDLE, START)
    assert (standing.idle_gpus, standing.gpus) == (8, 8)


def test_E20_an_allocation_without_any_series_is_judged_too_and_is_unknown() -> None:
    judged = of(8)
    for minute in range(1, 200):
        (seen,) = attribute((judged.subject,), [Reading("prometheus", at(minute))], at(minute))
        judged.judge(seen)
    assert (judged.standing.verdict, judged.standing.gpus, judged.standing.idle_gpus) == (Verdict.UNKNOWN, 8, 0)
