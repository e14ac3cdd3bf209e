"""What is not known is never idle, and after it the idle clock starts from zero (law 1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.idle import Standing, Verdict
from lessor.domain.judging import certain
from lessor.domain.usage import Subject
from lessor.ledger.packing import Packed
from tests.unit.judged import MINUTE, QUIET, START, Judged, at, gpu, gpus, mig, of, verdict

STANDING = Packed(Standing)


def test_a_gap_of_two_intervals_is_borne_and_a_longer_one_is_not() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    standing = judged.silence()
    assert verdict(standing) == (Verdict.IDLE, START)
    assert (standing.missed, standing.problem) == (1, "prometheus gave no answer")
    assert not certain(standing)
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    assert certain(judged.standing)
    judged.silence(2)
    assert judged.standing.verdict is Verdict.IDLE
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    judged.silence(2)
    standing = judged.silence()
    assert verdict(standing) == (Verdict.UNKNOWN, at(98))
    assert (standing.missed, standing.before) == (3, Verdict.IDLE)


def test_after_an_outage_the_clock_starts_from_zero() -> None:
    judged = of(1)
    judged.ticks(300, gpu())
    judged.silence(3)
    assert judged.ticks(59, gpu()).verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(303))


def test_it_does_not_matter_whether_ticks_of_an_outage_were_judged_or_left_out() -> None:
    judged, other = of(1), of(1)
    for one in (judged, other):
        one.ticks(100, gpu())
    judged.silence(5)
    other.now += 5 * other.every
    for _ in range(70):
        assert replace(judged.tick(gpu()), since=START) == replace(other.tick(gpu()), since=START)
    assert verdict(judged.standing) == verdict(other.standing) == (Verdict.IDLE, at(105))


def test_the_newest_sample_may_be_two_intervals_old_and_no_older() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    judged.tick(gpu(), newest=at(91) - timedelta(seconds=119))
    assert judged.standing.missed == 0
    judged.tick(gpu(), newest=at(92) - timedelta(seconds=121))
    assert (judged.standing.missed, judged.standing.problem) == (1, "no samples of this time")
    assert judged.standing.verdict is Verdict.UNKNOWN, "the sample before was two minutes old then, and is three now"


def test_less_than_nine_tenths_of_the_window_is_unknown_and_the_clock_starts_anew() -> None:
    judged = of(1)
    for minute in range(1, 61):
        judged.silence() if minute % 10 == 0 else judged.tick(gpu())
    assert verdict(judged.standing) == (Verdict.IDLE, START), "54 of 60 minutes are nine tenths"
    assert judged.evidence.covered == 0.9
    judged.tick(gpu())
    judged.silence()
    assert judged.standing.verdict is Verdict.UNKNOWN, "53 of 60 are not"
    judged.tick(gpu())
    assert judged.ticks(58, gpu()).verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(62))


@pytest.mark.parametrize("judged_too", [True, False])
def test_a_window_that_was_too_thin_in_between_begins_anew_whether_or_not_anybody_looked(judged_too: bool) -> None:
    judged = of(1)
    for minute in range(1, 62):
        judged.silence() if minute in (3, 12, 22, 32, 42, 52) else judged.tick(gpu())
    assert judged.standing.verdict is Verdict.IDLE
    if judged_too:
        assert judged.silence().verdict is Verdict.UNKNOWN, "seven of the last sixty are missing"
    else:
        judged.now += judged.every
    assert judged.tick(gpu()).verdict is Verdict.UNKNOWN, "six are now, but seven were"
    assert verdict(judged.ticks(59, gpu())) == (Verdict.IDLE, at(62))


def test_a_window_of_very_many_ticks_is_remembered_in_part_and_watched_in_every_part() -> None:
    judged = of(1, window=5_000 * MINUTE, warm_up=timedelta())
    judged.ticks(4_999, gpu())
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, START)
    assert STANDING.load(STANDING.dump(judged.standing)) == judged.standing
    for _ in range(411):
        judged.silence()
        judged.tick(gpu())
    assert judged.standing.verdict is Verdict.UNKNOWN, "411 of the last 4,096 are more than a tenth"


def test_an_exporter_that_restarts_begins_a_new_window() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    standing = judged.tick(gpu(), restarted=True)
    assert verdict(standing) == (Verdict.UNKNOWN, at(91))
    assert standing.problem == "an exporter restarted"
    assert judged.ticks(59, gpu()).verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(91))


def test_what_works_is_seen_to_work_whatever_else_is_missing() -> None:
    judged = of(2)
    assert judged.tick(gpu(0.9), restarted=True).verdict is Verdict.BUSY
    assert judged.tick(gpu(0.9)).verdict is Verdict.BUSY
    assert judged.standing.problem == "1 of 2 GPUs have no series"
    judged.silence(3)
    assert judged.standing.verdict is Verdict.WARMING_UP, "what it did before the outage says nothing of now"


def test_a_gpu_without_any_series_is_unknown_however_idle_the_others_are() -> None:
    judged = of(8)
    standing = judged.ticks(200, *gpus(*[0.0] * 7))
    assert standing.verdict is Verdict.UNKNOWN
    assert (standing.gpus, standing.idle_gpus, standing.missed) == (8, 7, 200)
    assert standing.problem == "1 of 8 GPUs have no series"


def test_a_gpu_that_vanishes_leaves_the_lease_unknown_until_it_is_back_for_a_window() -> None:
    judged = of(2)
    judged.ticks(90, *gpus(0.0, 0.0))
    judged.ticks(3, *gpus(0.0))
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "not seen, or with values that cannot be: GPU 1 of i-0aaa"
    assert judged.ticks(500, *gpus(0.0)).verdict is Verdict.UNKNOWN
    assert judged.ticks(59, *gpus(0.0, 0.0)).verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(*gpus(0.0, 0.0))) == (Verdict.IDLE, at(593))


def test_a_card_without_any_series_is_not_made_up_for_by_the_slices_of_another() -> None:
    judged = of(2)
    assert judged.ticks(200, mig(0.0, 1), mig(0.0, 2)).verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "1 of 3 GPUs have no series"
    assert judged.ticks(60, mig(0.0, 1), mig(0.0, 2), gpu(0.0, "1")).verdict is Verdict.IDLE


def test_gpus_of_a_machine_that_was_replaced_are_gone() -> None:
    judged = of(1)
    judged.ticks(90, gpu(machine="i-0old"))
    assert judged.ticks(59, gpu()).verdict is Verdict.UNKNOWN
    assert (judged.standing.gpus, judged.tick(gpu()).verdict) == (1, Verdict.IDLE)


def test_pods_that_move_to_other_gpus_leave_the_old_ones_behind() -> None:
    judged = Judged(subject=Subject("gpu-1", 2, namespace="gpu-1", ready_at=START))
    judged.ticks(90, *gpus(0.0, 0.0), host=None)
    moved = (gpu(0.0, "6"), gpu(0.0, "7"))
    assert judged.ticks(59, *moved, host=None).verdict is Verdict.UNKNOWN
    assert (judged.standing.gpus, judged.tick(*moved, host=None).verdict) == (2, Verdict.IDLE)
    judged.ticks(3, gpu(0.0, "6"), host=None)
    assert judged.standing.verdict is Verdict.UNKNOWN, "nobody took the place of the other one"


def test_what_the_machine_did_before_an_outage_says_nothing_of_now() -> None:
    judged = of(1)
    judged.ticks(90, gpu(), host=replace(QUIET, cpu=90.0))
    judged.silence(4)
    assert judged.tick(gpu()).verdict is Verdict.UNKNOWN


def test_problems_of_a_tick_leave_every_gpu_of_it_unknown() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    assert judged.ticks(3, gpu(), problems=("2 of 4 GPUs have no label",)).idle_gpus == 0
    assert judged.standing.problem == "2 of 4 GPUs have no label"


def test_the_coverage_is_that_of_the_signal_with_the_most_gaps() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    judged.tick(gpu(), host=None)
    assert (judged.evidence.covered, judged.standing.missed) == (59 / 60, 1)
