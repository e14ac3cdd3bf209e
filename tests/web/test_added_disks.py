"""The page of a lease names the disks that people added beside those that it came with, and adds them up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.domain.billing import Storage
from lessor.domain.lease import Event
from tests.builders import READY, usd
from tests.web.test_pages import read, words
from tests.web.world import World


async def test_a_lease_shows_the_disks_that_people_added_beside_those_that_it_came_with(world: World) -> None:
    made = world.story(1)
    added = Storage(READY, None, 600, usd("0.08"), "volume:pv-1@1", "team/<b>data</b>")
    kept = (Storage(READY, None, 300, usd("0.08")), added)
    lease = replace(made, storage=kept, revision=made.revision + 1)
    world.record(lease, Event("note", READY, "lessor", {}))
    world.now = READY + timedelta(hours=72)
    page = words(await read(world, f"/leases/{lease.id}"))
    assert (
        "disks that it came with 30.000 GiB-months 2.40 USD disks that people added 60.000 GiB-months 4.80 USD "
        "together 7,091.16 USD Disks that people added team/<b>data</b>, 600 GiB, 48.00 USD a month, 4.80 USD so far"
    ) in page
    many = tuple(replace(added, disk=f"volume:{n}", monthly=None) for n in range(23))
    world.record(replace(lease, storage=many, revision=lease.revision + 1), Event("note", READY, "lessor", {}))
    page = words(await read(world, f"/leases/{lease.id}"))
    assert "disks that it came with" not in page
    assert "disks that people added 1,380.000 GiB-months unknown together unknown" in page
    assert page.count("600 GiB, at an unknown price") == 20
    assert "and 3 more" in page
