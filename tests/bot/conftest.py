from __future__ import annotations

from tests.bot.fixtures import slack, world
from tests.bot.lab import cluster, lab

__all__ = ["cluster", "lab", "slack", "world"]
