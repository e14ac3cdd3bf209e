"""The bot searches for garbage by itself, and lets acknowledgements go first."""

from __future__ import annotations

import gc

import pytest

from bot.background import Front, Workshop
from bot.garbage import begin_tidying
from lessor.garbage import NEVER


async def test_the_bot_settles_and_asks_its_front_for_quiet_moments(
    collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    front, before = Front(), gc.get_threshold()
    asked: list[object] = []

    class Idle:
        def __init__(self, silent_for: object) -> None:
            asked.append(silent_for)

        async def keep(self) -> str:
            return "kept"

    monkeypatch.setattr("bot.garbage.Tidying", Idle)
    async with Workshop() as workshop:
        assert str(await begin_tidying(workshop, front)) == "kept"
    assert gc.get_threshold() == (before[0], before[1], NEVER)
    assert asked == [front.silent_for]
