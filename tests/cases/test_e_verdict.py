"""Cases of telling idle GPUs from others: what is judged, and from what. Each tick is a minute unless it says else."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.config import loads
from lessor.domain.attribution import attribute
from lessor.domain.idle import Verdict
from lessor.domain.idle_review import at_maximum, kept_up
from lessor.domain.judging import certain, changed, partly_idle
from lessor.domain.ladder import Spared
from lessor.domain.lease import Lease
from lessor.domain.request import Market, Workload
from lessor.domain.usage import GpuUse, HostUse, HourUse, Origin, Reading, Seen, Subject
from tests.builders import a_lease, a_request
from tests.unit.judged import HOUR, MINUTE, QUIET, START, Judged, at, gpu, gpus, mig, of, verdict

LEASE = "gpu-7k3qxa2m"


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


POD = Subject(LEASE, 2, namespace=LEASE, ready_at=START)


def pods(now: datetime, labelled: int, unlabelled: int = 0) -> Reading:
    """Idle GPUs of the lease's pods on one node, and others in use there without a label."""
    origin = Origin(node="node-1", namespace=LEASE, pod="train-0")
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
    first = HourUse(LEASE, at(0), ticks=60, busy=60)
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


POLICY = """
organisation:
  name: Example
  people: [{id: U0LEAD111}]
  teams: {ml: {lead: U0LEAD111}, vision: {lead: U0LEAD111}}
  admins: [U0LEAD111]
places: [{name: research, regions: [us-east-1]}]
idle:
  final: 110min
  workloads: {notebook: {snoozes: 9}}
  teams: {ml: {final: 111min}}
  projects: {ranking: {final: 112min}}
  rules:
    - {name: large, when: request.count >= 8 && request.market == "spot", then: {final: 113min}}
"""


def lease(**changes: object) -> Lease:
    return a_lease(request=a_request(**({"team": "vision"} | changes)))


@pytest.mark.parametrize(
    ("changes", "final", "origin"),
    [
        ({}, 110, "organisation"),
        ({"team": "ml"}, 111, "team ml"),
        ({"team": "ml", "project": "ranking"}, 112, "project ranking"),
        ({"team": "ml", "project": "ranking", "market": Market.SPOT}, 113, "rule large"),
    ],
)
def test_E22_each_level_acts_and_says_that_it_does(changes: dict[str, object], final: int, origin: str) -> None:
    plan = loads(POLICY).idle_plan
    terms = plan.terms(lease(**changes))
    assert (terms.final, terms.origins["final"]) == (final * MINUTE, origin)
    assert (terms.window, terms.origins["window"]) == (HOUR, "built in")


SHORT = "{window: 30min, warn: 30min, warm_up: 0s}"


@pytest.mark.parametrize(
    "level",
    [
        SHORT.strip("{}").replace(", ", "\n  "),
        f"workloads: {{training: {SHORT}}}",
        f"teams: {{vision: {SHORT}}}",
        f"projects: {{ranking: {SHORT}}}",
        f"rules: [{{name: mine, when: 'request.project == \"ranking\"', then: {SHORT}}}]",
    ],
)
def test_E22_what_any_level_says_is_what_is_judged_by(level: str) -> None:
    organisation = POLICY.partition("idle:")[0]
    mine, other = lease(project="ranking"), a_lease(id="gpu-00000001", request=a_request(workload=Workload.NOTEBOOK))
    plan = loads(f"{organisation}idle:\n  {level}\n").idle_plan
    assert Judged(plan.terms(mine), of(1).subject).ticks(30, gpu()).verdict is Verdict.IDLE
    everybody = level.startswith("window")
    expected = Verdict.IDLE if everybody else Verdict.WARMING_UP
    assert Judged(plan.terms(other), of(1).subject).ticks(30, gpu()).verdict is expected


def test_E22_the_workload_and_the_lease_itself_are_levels_too() -> None:
    plan = loads(POLICY).idle_plan
    notebook = lease(workload=Workload.NOTEBOOK)
    terms = plan.terms(notebook)
    assert (terms.snoozes, terms.origins["snoozes"]) == (9, "workload notebook")
    assert (terms.spare, terms.origins["spare"]) == (8 * HOUR, "built in for notebook")
    assert (terms.stops, terms.origins["stops"]) == (True, "built in")
    spared = replace(notebook, spared=Spared("U0ADMIN", at(0), "a demo on Friday", at(600)))
    assert plan.terms(spared).origins["stops"] == "lease (spared by U0ADMIN)"
    assert plan.terms(spared, at(599)).stops is False
    assert plan.terms(spared, at(600)).stops is True


def test_E26_windows_are_half_open() -> None:
    judged = of(1, window=5 * MINUTE, warm_up=timedelta())
    judged.tick(gpu(0.9))
    assert judged.ticks(4, gpu()).verdict is Verdict.BUSY
    assert judged.tick(gpu()).verdict is Verdict.IDLE


def test_E27_samples_from_the_future_are_dropped_and_the_servers_clock_alone_decides() -> None:
    judged = of(1)
    for minute in range(1, 200):
        fast = Seen(Origin(machine="i-0aaa"), at(minute + 10), gpu=gpu(), host=QUIET)
        (seen,) = attribute((judged.subject,), [Reading("prometheus", at(minute), (fast,))], at(minute))
        assert (seen.gpus, seen.newest) == ((), None)
        judged.judge(seen)
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "the clock of i-0aaa is ahead: its samples are dropped"


@pytest.mark.parametrize(("seconds", "expected"), [(60, Verdict.IDLE), (61, Verdict.UNKNOWN)])
def test_E27_the_verdict_itself_trusts_no_time_of_the_future(seconds: int, expected: Verdict) -> None:
    judged = of(1)
    for minute in range(1, 61):
        judged.tick(gpu(), newest=at(minute) + timedelta(seconds=seconds))
    assert judged.standing.verdict is expected
    assert all(one.last <= judged.now for one in judged.standing.tracks)


def test_E28_full_use_for_three_days_is_shown_to_administrators_and_nothing_else() -> None:
    judged = of(2)
    judged.every = 10 * MINUTE
    standing = judged.ticks(431, *gpus(0.99, 0.5))
    assert at_maximum(standing, judged.terms) == ()
    standing = judged.tick(*gpus(0.95, 0.5))
    assert at_maximum(standing, judged.terms) == ("0 of i-0aaa",)
    assert standing.verdict is Verdict.BUSY
    judged.silence(5)
    assert at_maximum(judged.tick(*gpus(1.0, 0.5)), judged.terms) == ("0 of i-0aaa",)
    judged.now += 5 * judged.every
    assert at_maximum(judged.tick(*gpus(1.0, 0.5)), judged.terms) == ("0 of i-0aaa",)
    assert at_maximum(judged.tick(*gpus(0.9, 0.5)), judged.terms) == ()


def test_E28_what_was_asked_for_to_be_fully_used_needs_no_review() -> None:
    plan = loads(POLICY).idle_plan
    assert plan.terms(lease(workload=Workload.TRAINING)).review_after is None
    assert plan.terms(lease(workload=Workload.EXPERIMENT)).review_after == 72 * HOUR
