from __future__ import annotations

from tests.bot.fixtures import slack, world

__all__ = ["slack", "world"]
