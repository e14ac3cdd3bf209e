"""The fleet on a page and over HTTP: every place, and a bad one spoils none of the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.fleet import Surveying
from lessor.fleetjson import fleet_facts
from lessor.ports import RetryableError
from tests.builders import READY, a_place, usd
from tests.web.test_pages import elements, read, words
from tests.web.world import World

LAB, DARK = Place("kubernetes", "lab"), Place("kubernetes", "dark")
HOSTILE = "<img src=x onerror=alert(1)>"


class Clusters:
    """One that counts itself, and one that does not answer."""

    def __init__(self, world: World) -> None:
        self.world = world

    def census(self, place: Place) -> Census:
        if place == DARK:
            raise RetryableError("the API server of dark does not answer (timed out)")
        pools = (
            Pool(LAB, "A100-80GB", total=16, free=5, unhealthy=1, largest=4, queued=2, hourly=self.world.rate),
            Pool(LAB, "H100", total=8, free=None),
        )
        stray = Holder(LAB, f"pod/{HOSTILE}", "A100-80GB", 2, since=READY, cost=usd("12"), flag="nobody asked for it")
        return Census(LAB, self.world.now, pools, (stray,), notes=("node-7 is cordoned",))


@pytest.fixture
def clusters(world: World) -> World:
    world.now = READY + timedelta(hours=1)
    world.fleet = Surveying(world.ledger, {"kubernetes": Clusters(world)}, {}, lambda: [LAB, DARK], lambda: world.now)
    return world


async def test_every_place_shows_its_numbers_and_who_has_them(clusters: World) -> None:
    lease = clusters.story(1, place=replace(a_place(), provider="kubernetes", name="lab", region=""))
    page = await read(clusters, "/fleet")
    said = words(page)
    assert "GPUs Total Leased Ownerless Free Free on one node Unhealthy Unknown Reserved Queued" in said
    assert "A100-80GB 16 8 2 5 4 1 0 2" in said
    assert "H100 8 0 0 unknown unknown unknown" in said
    assert f"{lease.id} 8 x A100-80GB Requester, ml not metered" in said
    assert "103.24 USD train the ranking model" in said
    assert "2 x A100-80GB unknown Friday 27 November 2026 10:15 CET 12.00 USD nobody asked for it" in said
    assert "node-7 is cordoned" in said
    assert [tag for tag, _ in elements(page) if tag == "img"] == []


async def test_machines_of_the_organisation_s_own_are_no_nodes(world: World) -> None:
    pool = Place("machines", "pool")

    class Machines:
        def census(self, place: Place) -> Census:
            notes = ("lab-1 is booked for gpu-00000002 from 2026-11-28 15:00 UTC to 2026-11-28 16:00 UTC",)
            return Census(pool, world.now, (Pool(pool, "L4", total=4, free=3, largest=2),), notes=notes)

    world.fleet = Surveying(world.ledger, {"machines": Machines()}, {}, lambda: [pool], lambda: world.now)
    said = words(await read(world, "/fleet"))
    assert "GPUs Total Leased Ownerless Free Free on one machine Unhealthy Unknown Reserved Queued L4 4 0" in said
    assert "from Saturday 28 November 2026 16:00 CET to Saturday 28 November 2026 17:00 CET" in said


async def test_long_lists_are_cut_with_a_way_to_all_of_it(clusters: World) -> None:
    for number in range(1, 53):
        clusters.story(number, place=replace(a_place(), provider="kubernetes", name="lab", region=""))
    (stray,) = Clusters(clusters).census(LAB).holders
    many = tuple(replace(stray, ref=f"pod/stray-{number:02d}") for number in range(51))

    class Crowded(Clusters):
        def census(self, place: Place) -> Census:
            return super().census(place) if place == DARK else replace(super().census(place), holders=many)

    clusters.fleet = Surveying(
        clusters.ledger, {"kubernetes": Crowded(clusters)}, {}, lambda: [LAB, DARK], lambda: clusters.now
    )
    page = await read(clusters, "/fleet")
    said = words(page)
    assert (page.count("/leases/gpu-"), page.count("pod/stray-")) == (50, 50)
    assert "2 more leases in lab" in said
    assert "1 more without a lease in lab" in said
    assert '<a href="/leases?place=lab">' in page
    alone = await read(clusters, "/fleet?what=lab")
    assert (alone.count("/leases/gpu-"), alone.count("pod/stray-")) == (50, 51)
    assert "more without a lease" not in words(alone)


async def test_a_place_that_does_not_answer_is_unknown_and_spoils_no_other(clusters: World) -> None:
    said = words(await read(clusters, "/fleet"))
    assert "It could not be read whole: the API server of dark does not answer (timed out)." in said
    assert "A100-80GB 16 0 2 5 4 1" in said


async def test_one_place_or_one_model_is_shown_alone_and_others_are_named(clusters: World) -> None:
    assert "H100" not in words(await read(clusters, "/fleet?what=a100"))
    assert "does not answer" not in words(await read(clusters, "/fleet?what=lab"))
    assert "'tpu' is no place and no GPU model here; places: lab, dark;" in words(
        await read(clusters, "/fleet?what=tpu", 400)
    )


async def test_programs_get_what_the_command_line_prints(clusters: World) -> None:
    async with clusters.client() as client:
        told: dict[str, Any] = (await client.get("/api/fleet?what=lab")).json()
        assert (await client.get("/api/fleet?what=tpu")).json()["code"] == "no-such"
    assert clusters.fleet
    assert told == fleet_facts(await clusters.fleet.view("lab"))


async def test_without_places_it_says_so(world: World) -> None:
    assert "No place is configured." in words(await read(world, "/fleet"))


async def test_an_hour_of_a_place_is_told_by_who_bears_it(clusters: World) -> None:
    said = words(await read(clusters, "/fleet?what=a100"))
    assert "An hour of A100-80GB costs" not in said
    clusters.rate, clusters.now = usd("1.50"), clusters.now + timedelta(minutes=1)
    said = words(await read(clusters, "/fleet?what=a100"))
    assert (
        "An hour of A100-80GB costs 24.00 USD: 0.00 USD for leases, 3.00 USD for what runs without one, 21.00 USD for "
        "14 that nobody has, borne by lab itself."
    ) in said
