"""Cases of telling idle GPUs from those of which not enough is known. Each tick is a minute unless it says else."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from lessor.domain.attribution import attribute
from lessor.domain.idle import Verdict
from lessor.domain.judging import certain
from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen, Subject
from tests.builders import LEASE_ID
from tests.unit.judged import MINUTE, QUIET, START, Judged, at, gpu, of, verdict


def test_E01_an_empty_store_is_not_an_idle_fleet() -> None:
    judged = of(1)
    judged.ticks(240, gpu(0.9))
    for _ in range(240):
        judged.now += MINUTE
        standing = judged.judge(attribute((judged.subject,), [Reading("prometheus", judged.now)], judged.now)[0])
        assert standing.verdict not in (Verdict.IDLE, Verdict.HELD)
    assert standing.verdict is Verdict.UNKNOWN
    assert judged.ticks(59, gpu()).verdict is Verdict.UNKNOWN, "after an outage the clock starts from zero"
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(480))


@pytest.mark.parametrize(("missing", "expected"), [(6, Verdict.IDLE), (7, Verdict.UNKNOWN)])
def test_E01_nine_tenths_of_the_window_have_to_be_there(missing: int, expected: Verdict) -> None:
    judged = of(1)
    for minute in range(1, 61):
        judged.silence() if minute % 8 == 0 and minute <= missing * 8 else judged.tick(gpu())
    assert judged.standing.verdict is expected


def test_E01_no_stop_rests_on_a_look_that_found_nothing() -> None:
    judged = of(1)
    judged.ticks(120, gpu())
    assert certain(judged.standing)
    assert not certain(judged.silence())


@pytest.mark.parametrize("value", [-1.0, 101.0, float("nan"), float("inf")])
def test_E02_a_check_outside_its_range_stops_nothing(value: float) -> None:
    for use, host in ((gpu(None, util=value), QUIET), (gpu(), replace(QUIET, cpu=value))):
        judged = of(1)
        standing = judged.ticks(500, use, host=host)
        assert standing.verdict is Verdict.UNKNOWN
        assert not certain(standing)


def test_E02_a_source_that_is_down_leaves_its_leases_unknown_and_says_its_name() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    for _ in range(3):
        judged.now += MINUTE
        (seen,) = attribute((judged.subject,), [], judged.now, silent=("prometheus",))
        judged.judge(seen)
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert (judged.standing.missed, judged.standing.problem) == (3, "prometheus gave no answer")


def test_E02_a_second_source_that_is_down_is_no_zero() -> None:
    judged = of(1)
    host = Seen(Origin(machine="i-0aaa"), START, host=HostUse(cpu=3.0))
    use = Seen(Origin(machine="i-0aaa"), START, gpu())
    for minute in range(1, 200):
        now = at(minute)
        readings = [Reading("prometheus", now, (replace(use, newest=now, gpu=gpu()),))]
        if minute <= 70:
            readings.append(Reading("cloudwatch", now, (replace(host, newest=now),)))
        silent = () if minute <= 70 else ("cloudwatch",)
        judged.judge(attribute((judged.subject,), readings, now, silent)[0])
        assert judged.standing.verdict is not Verdict.IDLE or minute <= 72
    assert judged.standing.problem == "no longer reported: cpu of i-0aaa by cloudwatch"


def test_E02_a_second_source_that_was_down_from_the_beginning_is_no_zero_either() -> None:
    judged = of(1)
    asked = ("cloudwatch", "prometheus")
    standing = judged.ticks(200, gpu(), host=None, asked=asked, silent=("cloudwatch",))
    assert (standing.verdict, standing.problem) == (Verdict.UNKNOWN, "cloudwatch gave no answer yet")
    judged.ticks(59, gpu(), host=None, asked=asked)
    assert judged.standing.verdict is Verdict.UNKNOWN, "the clock starts when it has answered"
    assert verdict(judged.tick(gpu(), host=None, asked=asked)) == (Verdict.IDLE, at(200))
    later = judged.ticks(90, gpu(), host=None, asked=asked, silent=("cloudwatch",))
    assert later.verdict is Verdict.IDLE, "it is known by now that this source says nothing of this lease"


POD = Subject(LEASE_ID, 2, namespace=LEASE_ID, ready_at=START)


def pods(now: datetime, labelled: int, unlabelled: int = 0) -> Reading:
    """Idle GPUs of the lease's pods on one node, and others in use there without a label."""
    origin = Origin(node="node-1", namespace=LEASE_ID, pod="train-0")
    seen = tuple(Seen(origin, now, gpu=GpuUse(str(index), engine=0.0)) for index in range(labelled))
    return Reading("prometheus", now, seen, unlabelled={"node-1": unlabelled} if unlabelled else {})


def through(reading_at: dict[int, tuple[int, int]], minutes: int) -> Judged:
    """The lease of the pods through so many minutes; `reading_at` says from which minute how many GPUs are seen."""
    judged = Judged(subject=POD)
    shown = (0, 0)
    for minute in range(1, minutes + 1):
        shown = reading_at.get(minute, shown)
        now = at(minute)
        judged.judge(attribute((POD,), [pods(now, *shown)], now)[0])
    return judged


def test_E03_a_pod_without_attributed_series_is_unknown() -> None:
    assert through({1: (2, 0)}, 60).standing.verdict is Verdict.IDLE
    for labelled in (0, 1):
        standing = through({1: (labelled, 0)}, 300).standing
        assert standing.verdict is Verdict.UNKNOWN
        assert standing.problem


def test_E03_above_a_tenth_of_a_node_without_labels_nothing_is_idle_there() -> None:
    judged = through({1: (2, 0), 100: (2, 1)}, 110)
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "1 of 3 GPUs in use on node-1 have no label that says whose they are"
