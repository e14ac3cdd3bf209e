"""HEAD is answered as GET is, without the content: by programs that only ask whether a page is there."""

from __future__ import annotations

import httpx
import pytest

from tests.web.serving import served
from tests.web.world import TOKEN, World


@pytest.mark.parametrize("path", ["/", "/leases", "/fleet", "/login", "/api", "/api/leases", "/assets/page.css"])
async def test_every_page_answers_head_as_it_answers_get(world: World, path: str) -> None:
    world.story(1)
    async with served(world) as url, httpx.AsyncClient(base_url=url) as client:
        whole, head = await client.get(path), await client.head(path)
        again = await client.get(path)
    assert head.content == b""
    assert (head.status_code, head.headers["content-type"]) == (whole.status_code, whole.headers["content-type"])
    assert int(head.headers["content-length"]) == len(whole.content) == len(again.content) > 0


async def test_head_shows_nobody_more_than_get_does(world: World) -> None:
    lease = world.story(1)
    world.token = TOKEN
    async with world.client() as client:
        assert (await client.head(f"/api/leases/{lease.id}")).status_code == 401
        assert (
            await client.head("/api/leases/gpu-zzzzzzzz", headers={"authorization": f"Bearer {TOKEN}"})
        ).status_code == 404


async def test_head_is_no_way_of_its_own_in_the_description(world: World) -> None:
    async with world.client() as client:
        ways = (await client.get("/api/openapi.json")).json()["paths"]
    assert {method for way in ways.values() for method in way} == {"get"}
