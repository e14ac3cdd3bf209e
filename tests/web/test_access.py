"""Who may look: this machine by itself, everybody else with the token only."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from tests.web.world import TOKEN, World


@pytest.fixture
def guarded(world: World) -> World:
    world.token = TOKEN
    return world


async def sign_in(client: httpx.AsyncClient, token: str = TOKEN, way: str = "/") -> httpx.Response:
    return await client.post("/login", data={"token": token, "next": way})


async def test_without_a_token_only_names_of_this_machine_are_answered(world: World) -> None:
    world.story(1)
    for host in ("127.0.0.1:7417", "localhost:7417", "LOCALHOST", "[::1]:7417"):
        async with world.client(host=host) as client:
            assert (await client.get("/api/leases")).status_code == 200
    for host in (
        "evil.example",
        "127.0.0.1.evil.example:7417",
        "0.0.0.0:7417",
        "localhost.evil",
        "",
        "a{b.evil:7417",
        "[::1",
    ):
        async with world.client(host=host) as client:
            for path in ("/", "/api/leases", "/login"):
                answer = await client.get(path)
                assert (answer.status_code, answer.json()["code"]) == (403, "foreign-host")
                assert "gpu-00000001" not in answer.text


async def test_programs_show_the_token_as_a_bearer(guarded: World) -> None:
    async with guarded.client() as client:
        refused = await client.get("/api/leases")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json() == {
            "code": "not-signed-in",
            "message": "send the token as Authorization: Bearer TOKEN; nothing was shown",
        }
        for wrong in (
            "",
            "Bearer",
            f"Basic {TOKEN}",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer \u00e4".encode(),
        ):
            answer = await client.get("/api/leases", headers={b"authorization": wrong})
            assert answer.status_code == 401
        for right in (f"Bearer {TOKEN}", f"bearer  {TOKEN} "):
            assert (await client.get("/api/leases", headers={"authorization": right})).status_code == 200


async def test_under_a_token_any_name_is_answered(guarded: World) -> None:
    async with guarded.client(host="lessor.example.test", authorization=f"Bearer {TOKEN}") as client:
        assert (await client.get("/")).status_code == 200


async def test_people_sign_in_once_and_come_back_to_where_they_were(guarded: World) -> None:
    async with guarded.client() as client:
        away = await client.get("/leases?team=ml&state=active")
        assert away.status_code == 303
        assert away.headers["location"] == "/login?next=/leases%3Fteam%3Dml%26state%3Dactive"
        form = await client.get(away.headers["location"])
        assert 'name="next" value="/leases?team=ml&amp;state=active"' in form.text
        back = await sign_in(client, way="/leases?team=ml&state=active")
        assert (back.status_code, back.headers["location"]) == (303, "/leases?team=ml&state=active")
        assert (await client.get("/leases")).status_code == 200
        assert (await client.get("/api/leases")).status_code == 200


async def test_the_cookie_says_nothing_of_the_token_and_is_kept_from_scripts_and_other_sites(guarded: World) -> None:
    async with guarded.client() as client:
        cookie = (await sign_in(client)).headers["set-cookie"]
    assert TOKEN not in cookie
    assert cookie.startswith("lessor_session=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert part in cookie
    assert "Secure" not in cookie
    async with guarded.client() as client:
        client.base_url = httpx.URL("https://lessor.example.test")
        assert "Secure" in (await sign_in(client)).headers["set-cookie"]


async def test_a_cookie_ends_and_cannot_be_made_or_prolonged(guarded: World) -> None:
    async with guarded.client() as client:
        await sign_in(client)
        good = client.cookies["lessor_session"]
        guarded.now += timedelta(hours=11, minutes=59)
        assert (await client.get("/")).status_code == 200
        guarded.now += timedelta(minutes=2)
        assert (await client.get("/")).status_code == 303
    until, proof = good.split(".")
    for forged in (
        f"{int(until) + 9_999}.{proof}",
        f"{until}.{'0' * 64}",
        proof,
        "",
        ".",
        f"\u0661.{proof}",
        f"{'9' * 40}.{proof}",
    ):
        async with guarded.client() as client:
            answer = await client.get("/api/leases", headers={b"cookie": f"lessor_session={forged}".encode()})
            assert answer.status_code == 401


async def test_another_token_makes_old_cookies_worthless(guarded: World) -> None:
    async with guarded.client() as client:
        await sign_in(client)
        cookie = client.cookies["lessor_session"]
    guarded.token = "another-token-that-is-long"
    async with guarded.client(cookie=f"lessor_session={cookie}") as client:
        assert (await client.get("/")).status_code == 303


async def test_a_wrong_token_is_told_and_lets_nobody_in(guarded: World) -> None:
    async with guarded.client() as client:
        for wrong in ("", "x", TOKEN.upper(), TOKEN * 500, "\u00e4"):
            answer = await sign_in(client, wrong)
            assert answer.status_code == 403
            assert "That is not the token." in answer.text
            assert "set-cookie" not in answer.headers
            assert len(wrong) < 2 or wrong not in answer.text


async def test_signing_out_forgets(guarded: World) -> None:
    async with guarded.client() as client:
        await sign_in(client)
        assert (await client.post("/logout")).headers["location"] == "/login"
        assert (await client.get("/")).status_code == 303


@pytest.mark.parametrize(
    "way",
    [
        "https://evil.example/",
        "//evil.example/",
        "//[",
        "/\\evil.example/",
        "javascript:alert(1)",
        "evil",
        "",
        "/\r\nset-cookie: a=b",
    ],
)
async def test_nobody_is_sent_to_another_site(guarded: World, way: str) -> None:
    async with guarded.client() as client:
        answer = await sign_in(client, way=way)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        form = await client.get("/login", params={"next": way})
        assert 'name="next" value="/"' in form.text


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, False),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:7417"}, False),
        ({"sec-fetch-site": "same-origin", "origin": "http://behind.a.proxy"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:7417"}, True),
        ({}, True),
    ],
)
async def test_a_form_of_another_site_signs_nobody_in_or_out(
    guarded: World, said: dict[str, str], *, own: bool
) -> None:
    async with guarded.client(**said, authorization=f"Bearer {TOKEN}") as client:
        found = await sign_in(client)
        assert (found.status_code, "set-cookie" in found.headers) == ((303, True) if own else (403, False))
        left = await client.post("/logout")
        assert (left.status_code, "set-cookie" in left.headers) == ((303, True) if own else (403, False))
        assert own or "another site sent this form, so nothing was done" in left.text


async def test_health_is_told_without_a_token_and_nothing_else(guarded: World) -> None:
    guarded.story(1)
    async with guarded.client() as client:
        assert (await client.get("/healthz")).json() == {"ok": True}
        for path in (
            "/",
            "/leases",
            "/leases/gpu-00000001",
            "/leases/gpu-00000001/chart.svg",
            "/api",
            "/api/openapi.json",
        ):
            assert (await client.get(path)).status_code in (303, 401)
        assert (await client.get("/assets/page.css")).status_code == 200
        assert (await client.get("/assets/..%2fapp.py")).status_code == 404


async def test_where_no_token_is_set_none_is_right(world: World) -> None:
    async with world.client() as client:
        assert (await sign_in(client, "")).status_code == 403
