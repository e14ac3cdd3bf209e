"""What a lease has to hear depends on what it heard last, and on nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import telling
from lessor.domain.idle import Standing, Track, Verdict
from lessor.domain.telling import Heard
from tests.builders import READY

BUSY = Standing("gpu-7k3qxa2m", READY, Verdict.BUSY, READY, (Track("0", "i-0a", READY, READY),), gpus=8)
IDLE = replace(BUSY, verdict=Verdict.IDLE, idle_gpus=8)
UNKNOWN = replace(BUSY, verdict=Verdict.UNKNOWN)
PARTLY = replace(BUSY, idle_gpus=7)


def heard(standing: Standing, terms: str = "t1") -> Heard | None:
    return telling.kept(standing, terms)


@pytest.mark.parametrize("now", [BUSY, UNKNOWN, replace(BUSY, verdict=Verdict.WARMING_UP)])
def test_who_was_told_nothing_hears_nothing_of_work_and_of_ignorance(now: Standing) -> None:
    assert not telling.due(None, now, "t1")


@pytest.mark.parametrize("now", [IDLE, PARTLY, replace(BUSY, faulty=("GPU 3",))])
def test_who_was_told_nothing_hears_of_idleness_and_of_broken_gpus(now: Standing) -> None:
    assert telling.due(None, now, "t1")
    assert not telling.due(heard(now), replace(now, at=READY + timedelta(minutes=1)), "t1")


def test_who_was_told_of_idleness_hears_that_it_is_over() -> None:
    assert telling.due(heard(IDLE), BUSY, "t1")
    assert telling.due(heard(IDLE), UNKNOWN, "t1")
    after = replace(UNKNOWN, before=Verdict.IDLE)
    assert telling.due(heard(after), IDLE, "t1")
    assert telling.due(heard(after), BUSY, "t1")


def test_idleness_that_began_anew_is_told_anew() -> None:
    assert telling.due(heard(IDLE), replace(IDLE, since=READY + timedelta(hours=1)), "t1")


def test_other_thresholds_are_told_to_whom_they_matter() -> None:
    assert telling.due(heard(IDLE, "t1"), IDLE, "t2")
    assert not telling.due(heard(PARTLY, "t1"), PARTLY, "t2")


def test_only_what_is_needed_is_kept() -> None:
    assert heard(BUSY) is None
    kept = heard(replace(IDLE, sources=("prometheus i-0a cpu",)))
    assert kept == Heard(replace(IDLE, tracks=()), "t1")
