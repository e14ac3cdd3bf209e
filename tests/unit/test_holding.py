"""What a pod asks for and holds: as the scheduler counts, from its node to its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.holding import CRASHING, NEVER_RAN, STARTING, STAYS, Box, PodUse, asked
from lessor.domain.slices import profile, shared, whole_gpus

GPU = "nvidia.com/gpu"
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

units = st.integers(0, 16)
mains = st.lists(units, min_size=1, max_size=5)
inits = st.lists(st.tuples(units, st.booleans()), max_size=6)


def boxes(numbers: list[int]) -> list[Box]:
    return [Box({GPU: number}) for number in numbers]


def firsts(numbers: list[tuple[int, bool]]) -> list[Box]:
    return [Box({GPU: number}, sidecar) for number, sidecar in numbers]


def most_at_once(main: list[int], first: list[tuple[int, bool]]) -> int:
    """Plays the pod's start step by step: the most that runs beside each other at any time."""
    sidecars, most = 0, 0
    for number, sidecar in first:
        most = max(most, sidecars + number)
        sidecars += number if sidecar else 0
    return max(most, sidecars + sum(main))


@given(mains, inits)
def test_a_pod_asks_for_the_most_that_ever_runs_at_once(main: list[int], first: list[tuple[int, bool]]) -> None:
    assert asked(boxes(main), firsts(first))[GPU] == most_at_once(main, first)


@given(mains, inits, units)
def test_overhead_comes_on_top(main: list[int], first: list[tuple[int, bool]], over: int) -> None:
    assert asked(boxes(main), firsts(first), {GPU: over})[GPU] == most_at_once(main, first) + over


@given(mains, inits)
def test_resources_are_counted_apart(main: list[int], first: list[tuple[int, bool]]) -> None:
    mixed = [Box({GPU: number, "amd.com/gpu": 1}) for number in main]
    found = asked(mixed, firsts(first))
    assert (found[GPU], found["amd.com/gpu"]) == (most_at_once(main, first), len(main))


def a_use(**changes: object) -> PodUse:
    """Two GPUs on a node for three hours, running."""
    fields: dict[str, object] = {
        "namespace": "team",
        "name": "train",
        "node": "node-a",
        "units": {GPU: 2},
        "scheduled_at": NOW - 3 * HOUR,
        "ran": True,
    }
    return PodUse(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("use", "start", "end", "hours"),
    [
        (a_use(), NOW - 24 * HOUR, NOW, 6),
        (a_use(), NOW - HOUR, NOW, 2),
        (a_use(), NOW - 24 * HOUR, NOW - 4 * HOUR, 0),
        (a_use(), NOW - 24 * HOUR, NOW - 3 * HOUR + timedelta(seconds=1), Fraction(2, 3600)),
        (a_use(ran=False), NOW - 24 * HOUR, NOW, 6),
        (a_use(node=""), NOW - 24 * HOUR, NOW, 0),
        (a_use(ended=True, ended_at=NOW - HOUR), NOW - 24 * HOUR, NOW, 4),
        (a_use(ended=True, ended_at=NOW - HOUR), NOW - HOUR, NOW, 0),
        (a_use(ended=True), NOW - 24 * HOUR, NOW, None),
        (a_use(scheduled_at=None), NOW - 24 * HOUR, NOW, None),
        (a_use(scheduled_at=None, created_at=NOW - HOUR), NOW - 24 * HOUR, NOW, 2),
        (a_use(delete_by=NOW - HOUR), NOW - 24 * HOUR, NOW, 6),
        (a_use(units={}), NOW - 24 * HOUR, NOW, 0),
    ],
)
def test_hours_run_from_the_node_to_the_end(
    use: PodUse, start: datetime, end: datetime, hours: Fraction | int | None
) -> None:
    assert use.hours(GPU, start, end) == hours


@given(st.integers(0, 600), st.integers(0, 600), st.integers(0, 600))
def test_hours_of_parts_add_up_to_those_of_the_whole(first: int, second: int, ended: int) -> None:
    use = a_use(ended=True, ended_at=NOW - timedelta(minutes=ended))
    start, middle = NOW - timedelta(minutes=first + second), NOW - timedelta(minutes=second)
    parts = [use.hours(GPU, start, middle), use.hours(GPU, middle, NOW)]
    assert sum(part or 0 for part in parts) == use.hours(GPU, start, NOW)


@pytest.mark.parametrize(
    ("use", "holds", "waits", "flag"),
    [
        (a_use(), True, False, ""),
        (a_use(node=""), False, True, ""),
        (a_use(node="", delete_by=NOW), False, False, ""),
        (a_use(ended=True), False, False, ""),
        (a_use(ran=False, waiting="ErrImagePull"), True, False, f"{NEVER_RAN} (ErrImagePull)"),
        (a_use(ran=False), True, False, NEVER_RAN),
        (a_use(ran=False, scheduled_at=NOW - STARTING), True, False, ""),
        (a_use(waiting="CrashLoopBackOff"), True, False, f"{CRASHING} (CrashLoopBackOff)"),
        (a_use(waiting="ErrImagePull"), True, False, ""),
        (a_use(delete_by=NOW - STARTING), True, False, ""),
        (a_use(delete_by=NOW - STARTING - timedelta(seconds=1)), True, False, STAYS),
    ],
)
def test_who_holds_who_waits_and_what_is_wrong(use: PodUse, holds: bool, waits: bool, flag: str) -> None:
    assert (use.holds, use.waits, use.flag(NOW)) == (holds, waits, flag)
    assert use.held(GPU) == (2 if holds else 0)


@given(st.integers(1, 7), st.integers(1, 16), st.integers(0, 100))
def test_slices_that_make_up_a_gpu_are_exactly_one(of: int, turns: int, gpus: int) -> None:
    one = profile("1g.10gb")
    assert one is not None
    assert whole_gpus(of * turns * gpus, shared(one.share(of), turns)) == gpus


def test_no_slice_is_more_than_the_whole() -> None:
    one = profile("7g.80gb")
    assert one is not None
    assert one.share(4) == 1
