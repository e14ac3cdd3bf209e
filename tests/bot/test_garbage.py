"""Searches for garbage: not among what was loaded, and only when nobody would wait for them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bot.background import Front
from bot.garbage import EVERY_SECONDS, LONGEST_SECONDS, NEVER, QUIET_SECONDS, Tidying, settle


class Cycle:
    """Holds itself, so that only a search finds it."""

    gone = 0

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        Cycle.gone += 1


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("bot.background.time.monotonic", found)
    return found


def test_what_is_loaded_is_left_out_of_later_searches_for_garbage(collector: None) -> None:
    before, here = gc.get_threshold(), [object()]
    assert any(one is here for one in gc.get_objects())
    settle()
    assert not any(one is here for one in gc.get_objects())
    assert gc.get_threshold() == (before[0], before[1], NEVER)


def test_old_garbage_is_searched_for_once_a_minute_at_a_quiet_moment(collector: None, clock: Clock) -> None:
    front = Front()
    tidying = Tidying(front, clock)
    gone = Cycle.gone
    clock.now += EVERY_SECONDS - 1
    assert not tidying.look()
    clock.now += 1
    front.knocked()
    clock.now += QUIET_SECONDS - 0.5
    assert not tidying.look()
    Cycle()
    clock.now += 1
    assert tidying.look()
    assert Cycle.gone == gone + 1
    assert not tidying.look()


def test_one_who_is_never_left_in_peace_searches_in_the_end(collector: None, clock: Clock) -> None:
    front = Front()
    tidying = Tidying(front, clock)
    for _ in range(int(LONGEST_SECONDS) - 1):
        clock.now += 1
        front.knocked()
        assert not tidying.look()
    clock.now += 1
    front.knocked()
    assert tidying.look()
