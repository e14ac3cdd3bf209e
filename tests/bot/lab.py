"""A place with a cluster that counts itself, beside a cloud: what people in Slack see of it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import LeaseKind, Place
from lessor.gateway import PlaceChoice
from lessor.sandbox.slack import RunningSandbox, visible_text
from lessor.sandbox.slack.client import Somebody
from tests.bot.world import PLACE, Clock, World, a_world

NAMESPACE, WORKSPACE = LeaseKind.NAMESPACE, LeaseKind.WORKSPACE
LAB = Place("kubernetes", "lab")
LAB_CHOICE = PlaceChoice("lab", "The <lab>", "kubernetes", kinds=(NAMESPACE, WORKSPACE))
ASKED = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}


@dataclass
class Cluster:
    """Counts itself; `gate` holds its answers back, `fail` is raised instead of one."""

    clock: Any = None
    pools: list[Pool] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    fail: Exception | None = None
    gate: threading.Event | None = None

    def census(self, place: Place) -> Census:
        if self.gate:
            self.gate.wait(30)
        if self.fail:
            raise self.fail
        return Census(place, self.clock(), tuple(self.pools), tuple(self.holders), notes=self.notes)


@pytest.fixture
def cluster() -> Cluster:
    pool = Pool(LAB, "A100-80GB", total=16, free=5, unhealthy=2, largest=4, queued=3)
    return Cluster(Clock(), [pool])


@pytest_asyncio.fixture
async def lab(slack: RunningSandbox, sqlite_url: str, cluster: Cluster) -> AsyncIterator[World]:
    async with a_world(slack, sqlite_url, places=(LAB_CHOICE, PLACE), capacity=cluster) as world:
        yield world
        if cluster.gate:
            cluster.gate.set()


async def in_the_lab(world: World, **changes: Any) -> Any:
    return await world.ask(place=LAB, kind=NAMESPACE, **changes)


async def told(person: Somebody, words: str) -> str:
    return visible_text(await person.wait_for_ephemeral(lambda message: words in visible_text(message)))
