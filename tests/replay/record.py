"""Record the histories anew: `python -m tests.replay.record` (or `make histories`); needs no network.

Only the directory of the version in `pyproject.toml` is written. What a released version recorded is never touched:
leases that began on it may still be running.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from temporalio.client import WorkflowHistory
from temporalio.testing import WorkflowEnvironment

import tests.world
from tests.replay import histories, stories
from tests.replay.moves import Story
from tests.temporal import dev_server, time_skipping
from tests.world import busy_world


async def record(target: Path) -> None:
    """Play every story and put its histories into `target`, which is replaced only when all have been played."""
    tests.world.NUMBERS = itertools.count(1)
    with tempfile.TemporaryDirectory() as scratch:
        async for name, history in _played():
            histories.write(history, Path(scratch) / f"{name}.json")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(scratch, target)


async def _played() -> AsyncIterator[tuple[str, WorkflowHistory]]:
    for story in stories.SKIPPING:
        async for recorded in _histories(story, time_skipping()):
            yield recorded
    renewing = f"limit.historyCount.suggestContinueAsNew={stories.RENEWED_AFTER}"
    for story in stories.REAL_TIME:
        async for recorded in _histories(story, dev_server(renewing)):
            yield recorded


async def _histories(
    story: Story, server: AbstractAsyncContextManager[WorkflowEnvironment]
) -> AsyncIterator[tuple[str, WorkflowHistory]]:
    """Named after the story; a second and later run is numbered."""
    async with server as env, busy_world(env) as world:
        for number, run in enumerate(await story(world), 1):
            yield story.__name__ + (f"-{number}" if number > 1 else ""), await run.fetch_history()


if __name__ == "__main__":
    asyncio.run(record(histories.STORE / histories.version()))
