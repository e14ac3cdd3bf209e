"""Planned failures: the first that hits is used up, and equal ones are told apart."""

from __future__ import annotations

from dataclasses import dataclass

from lessor.sandbox.faultplan import FaultPlan


@dataclass
class Fault:
    kind: str
    times: int | None = 1


def plan(*faults: Fault) -> FaultPlan[Fault]:
    made: FaultPlan[Fault] = FaultPlan()
    for fault in faults:
        assert made.add(fault) is fault
    return made


def test_the_first_that_hits_is_used_up_by_one() -> None:
    faults = plan(Fault("slow"), Fault("lost", 2), Fault("lost", None))
    assert faults.take(lambda one: one.kind == "down") is None
    hit = [faults.take(lambda one: one.kind == "lost") for _ in range(4)]
    assert [one and one.times for one in hit] == [0, 0, None, None]
    assert list(faults) == [Fault("slow"), Fault("lost", None)]


def test_one_that_is_used_up_takes_no_equal_one_with_it() -> None:
    first, second = Fault("lost"), Fault("lost")
    faults = plan(first, second)
    assert faults.take(lambda one: one is second) is second
    assert [one is first for one in faults] == [True]


def test_those_that_are_meant_are_taken_out() -> None:
    faults = plan(Fault("slow"), Fault("lost"))
    faults.clear(lambda one: one.kind == "slow")
    assert list(faults) == [Fault("lost")]
    faults.clear()
    assert list(faults) == []
