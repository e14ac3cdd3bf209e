"""Searches for garbage: not among what was loaded, and only when nobody would wait for them or there is much of it."""

from __future__ import annotations

import gc

import pytest

from lessor.garbage import (
    EVERY_SECONDS,
    LONGEST_SECONDS,
    NEVER,
    QUIET_SECONDS,
    SELDOM_SECONDS,
    Tidying,
    Turnover,
    settle,
)


class Cycle:
    """Holds itself, so that only a search finds it."""

    gone = 0

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        Cycle.gone += 1


class Day:
    """What a process is busy with: when it is, when it was last asked for something, and what it has thrown away."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.asked = 0.0
        self.litter = 0

    def silent_for(self, seconds: float) -> bool:
        return self.now - self.asked > seconds

    def tidying(self, most: int | None = None) -> Tidying:
        """One who knows what is thrown away, with `most` of it, or who does not."""
        if most is None:
            return Tidying(self.silent_for, clock=lambda: self.now)
        return Tidying(self.silent_for, lambda: self.litter, most, lambda: self.now)


@pytest.fixture
def day(collector: None) -> Day:
    return Day()


def test_what_is_loaded_is_left_out_of_later_searches_for_garbage(collector: None) -> None:
    before, here = gc.get_threshold(), [object()]
    assert any(one is here for one in gc.get_objects())
    settle()
    assert not any(one is here for one in gc.get_objects())
    assert gc.get_threshold() == (before[0], before[1], NEVER)


def test_old_garbage_is_searched_for_once_a_minute_at_a_quiet_moment(day: Day) -> None:
    tidying = day.tidying()
    gone = Cycle.gone
    day.now += EVERY_SECONDS - 1
    assert not tidying.look()
    day.now += 1
    day.asked = day.now
    day.now += QUIET_SECONDS - 0.5
    assert not tidying.look()
    Cycle()
    day.now += 1
    assert tidying.look()
    assert Cycle.gone == gone + 1
    assert not tidying.look()


def test_one_who_is_never_left_in_peace_searches_in_the_end(day: Day) -> None:
    tidying = day.tidying()
    for _ in range(int(LONGEST_SECONDS) - 1):
        day.now += 1
        day.asked = day.now
        assert not tidying.look()
    day.now += 1
    day.asked = day.now
    assert tidying.look()


def test_much_that_was_thrown_away_waits_for_no_quiet_moment(day: Day) -> None:
    day.litter = 1_000
    tidying = day.tidying(most=3)
    day.asked = day.now
    day.litter += 2
    assert not tidying.look()
    day.litter += 1
    assert tidying.look()
    day.litter += 2
    assert not tidying.look()
    day.litter += 2
    assert tidying.look()


def test_where_nothing_is_known_to_be_thrown_away_searches_are_seldom(day: Day) -> None:
    tidying = day.tidying(most=100)
    day.now += SELDOM_SECONDS - 1
    assert not tidying.look()
    day.now += 1
    day.asked = day.now
    assert not tidying.look()
    day.now += QUIET_SECONDS + 1
    assert tidying.look()
    day.now += EVERY_SECONDS
    assert not tidying.look()
    day.litter = 1
    assert tidying.look()


def test_what_is_thrown_away_during_a_search_is_left_for_the_next(day: Day, monkeypatch: pytest.MonkeyPatch) -> None:
    def search() -> None:
        day.litter += 1

    tidying = day.tidying(most=100)
    day.litter = 1
    monkeypatch.setattr("lessor.garbage.gc.collect", search)
    for _ in range(3):
        day.now += EVERY_SECONDS
        assert tidying.look()


def test_it_is_silent_once_nobody_has_had_anything_to_do_for_so_long() -> None:
    now = 100.0
    turnover = Turnover(lambda: now)
    assert turnover.silent_for(2)
    turnover.seen(thrown=0)
    now = 102.0
    assert not turnover.silent_for(2)
    now = 102.1
    assert turnover.silent_for(2)
    turnover.seen(thrown=2)
    turnover.seen(thrown=1)
    assert turnover.thrown() == 3
