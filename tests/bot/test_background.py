"""Work behind the acknowledgement: in a loop of its own, after those who knock, and never lost in silence."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from bot.background import Background, Front, Workshop


async def where() -> int:
    return threading.get_ident()


async def test_work_runs_in_the_workshops_thread_and_its_result_comes_back() -> None:
    async with Workshop() as workshop:
        background = Background(workshop.loop)
        there = await background.start(where(), "look where")
        assert there == await workshop.do(where())
        assert there != threading.get_ident()
        assert not background.busy


async def test_work_that_blocks_its_thread_delays_nothing_here() -> None:
    release = threading.Event()

    async def blocks() -> None:
        release.wait(5)

    async with Workshop() as workshop:
        background = Background(workshop.loop)
        background.start(blocks(), "block")
        await asyncio.sleep(0.01)
        assert background.busy
        release.set()
        await background.idle()


async def test_a_failure_is_logged_with_what_it_was_and_gives_none(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise ValueError("no")

    assert await Background().start(fails(), "paint the door") is None
    said = capsys.readouterr().out
    assert "paint the door" in said
    assert "ValueError: no" in said


class Busy(Front):
    """Somebody knocks at it all the time."""

    @property
    def quiet(self) -> bool:
        return False


async def test_work_waits_for_a_quiet_front_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.background.TURN_SECONDS", 0.04)
    background = Background(front=Busy())

    async def begins() -> float:
        return time.monotonic()

    asked = time.monotonic()
    assert await background.start(begins(), "begin") >= asked + 0.04


async def test_urgent_work_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.background.TURN_SECONDS", 3_600)
    background = Background(front=Busy())
    waits = background.start(where(), "wait")
    assert await background.start(where(), "begin", urgent=True)
    assert not waits.done()
    await background.drain(0)


async def test_draining_cancels_what_does_not_end() -> None:
    async with Workshop() as workshop:
        background = Background(workshop.loop)
        stuck = background.start(asyncio.sleep(60), "sleep")
        await background.drain(0.02)
        assert stuck.cancelled()
        assert not background.busy


async def test_what_follows_an_answer_runs_here_and_what_it_starts_is_waited_for_at_the_end() -> None:
    done: list[int] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append(threading.get_ident())

    async def dispatch() -> None:
        done.append(threading.get_ident())
        background.start(work(), "work")

    async with Workshop() as workshop:
        background = Background(workshop.loop)
        background.follow(dispatch(), "dispatch")
        assert background.busy
        await background.drain(10)
        assert done == [threading.get_ident(), await workshop.do(where())]
        assert not background.busy


async def test_what_follows_an_answer_and_fails_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise ValueError("no")

    background = Background()
    background.follow(fails(), "paint the door")
    await background.idle()
    assert "paint the door" in capsys.readouterr().out
