"""A regular look that somebody starts now: the schedule runs it, so that it counts on from the one before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection
from datetime import timedelta

import pytest

from lessor import contracts
from lessor.contracts import PeopleReport, SweepOutcome
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.people import Presence
from lessor.domain.request import Place
from lessor.looking import look_now
from tests.temporal import dev_server
from tests.world import PLACE, busy_world
from workflows.people import UNREAD
from workflows.schedule import keep_schedule, people_schedule, sweep_schedule

RARELY = timedelta(days=1)


async def test_a_look_over_places_waits_for_the_one_that_runs_and_is_the_next() -> None:
    async with dev_server() as env, busy_world(env) as world:
        with pytest.raises(Refused) as missing:
            await look_now(env.client, contracts.SWEEP_SCHEDULE, SweepOutcome)
        assert missing.value.code == "no-schedule"
        await keep_schedule(env.client, sweep_schedule((Place(PLACE.provider, PLACE.name),), RARELY))
        reached, go = threading.Event(), threading.Event()

        def slow() -> None:
            reached.set()
            assert go.wait(60)

        world.cloud.before["conditions"] = slow
        first = asyncio.create_task(look_now(env.client, contracts.SWEEP_SCHEDULE, SweepOutcome))
        assert await asyncio.to_thread(reached.wait, 60)
        second = asyncio.create_task(look_now(env.client, contracts.SWEEP_SCHEDULE, SweepOutcome))
        go.set()
        for outcome in (await first, await second):
            assert [(str(one.place), one.complete) for one in outcome.places] == [("aws/research", True)]
        assert world.cloud.times("conditions") == 2


async def unknown(ids: Collection[str]) -> dict[str, Presence]:
    """What a directory says when no account can be read."""
    return dict.fromkeys(ids, Presence.UNKNOWN)


async def test_administrators_are_paged_when_nobody_could_be_looked_up_for_days() -> None:
    """Unknown is not gone, but it must not stay unknown without anybody hearing of it."""
    async with dev_server() as env, busy_world(env) as world:
        handle = await world.active()
        world.directory.presences = unknown  # type: ignore[assignment, method-assign]
        await keep_schedule(env.client, people_schedule(RARELY))
        reports = [await look_now(env.client, contracts.PEOPLE_SCHEDULE, PeopleReport) for _ in range(UNREAD)]
        assert [(r.owners, r.unknown, r.unread, r.left) for r in reports] == [(1, 1, n + 1, ()) for n in range(UNREAD)]
        assert [(p.alarm.value, p.subject, p.problem) for p in world.notifier.paged] == [
            ("unread", "people", "1 of 1 owners could not be looked up")
        ]
        assert (await world.lease(handle)).state is State.ACTIVE
