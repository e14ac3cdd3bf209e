"""Pages say what the record says: who watches, what is open, what waits, one lease with its money and its history."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser

import pytest

from lessor.domain.billing import Storage
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, State
from lessor.domain.pending import CoOwner
from lessor.domain.usage import Held
from lessor.drawing import DrawingError
from lessor.ports import LedgerUnavailableError
from tests.builders import APPROVED, READY, a_place, a_quote, a_step, a_story, usd
from tests.metering import START, promised, running, silent
from tests.unit.test_holdings import FakeOccupancy
from tests.web.world import World

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)> \" ' {{ 7*7 }} \u202e <!channel>"


async def read(world: World, path: str, status: int = 200) -> str:
    async with world.client() as client:
        answer = await client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def words(page: str) -> str:
    """What people read, without markup."""
    body = page.split("<main", 1)[1].split("</main>", maxsplit=1)[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """Every element with its attributes, as a browser reads them."""
    found: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Reader().feed(page)
    return found


async def test_an_empty_organisation_is_told_how_to_begin(world: World) -> None:
    page = words(await read(world, "/"))
    assert "No lease is open. Ask for one in Slack: /gpu request" in page
    assert "Nothing waits for anybody." in page
    assert "The meter has not ticked yet." in page
    assert "none is open" in words(await read(world, "/leases"))
    world.every = None
    assert "Nothing is metered: name a source under telemetry in lessor.yaml." in words(await read(world, "/"))


async def test_the_overview_counts_what_is_open_and_says_what_waits_for_whom(world: World) -> None:
    world.now = READY + timedelta(hours=1)
    asked, runs = world.story(1, State.AWAITING_APPROVAL), world.story(2)
    world.story(3, State.CLOSED)
    page = await read(world, "/")
    said = words(page)
    assert "open leases 2 GPUs that run 8 an hour 98.32 USD" in said
    # 1:03 hours since the launch.
    assert "cost so far of what is open 103.24 USD" in said
    assert f"{asked.id} Requester, ml approval: manager 1 h 15 min ago Manager" in said
    assert "awaiting approval 1" in said
    assert "active 1" in said
    assert f'href="/leases/{asked.id}"' in page
    assert runs.id not in page


async def test_the_overview_names_groups_whose_members_it_does_not_know_beside_those_it_knows(world: World) -> None:
    steps = (a_step("approvers", "slack-group:gpu-approvers"), a_step("either", "lead:ml", "slack-group:ops"))
    asked, told = a_story(State.AWAITING_APPROVAL, steps=steps)
    world.record(asked, *told)
    said = words(await read(world, "/"))
    assert "cannot be looked up now: slack-group:gpu-approvers" in said
    assert "Manager, cannot be looked up now: slack-group:ops" in said
    assert "nobody" not in said


async def test_every_source_shows_its_last_good_tick_and_how_long_ago_that_is(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 5)
    good = world.meter.now
    page = words(await read(world, "/"))
    assert "prometheus answers Friday 27 November 2026 11:14 CET 20 s ago 2" in page
    world.meter.source.fail = silent()
    await world.meter.ticks(4)
    world.now = world.meter.now
    assert good == START + timedelta(minutes=14)
    page = words(await read(world, "/"))
    assert "prometheus is silent. Its last answer was 4 min ago" in page
    assert "prometheus silent Friday 27 November 2026 11:14 CET 4 min ago unknown" in page


async def test_a_meter_that_stands_still_is_an_alarm_and_its_sources_are_not_good(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 1)
    world.now += timedelta(hours=2)
    page = words(await read(world, "/"))
    assert "the latest tick of the meter was at" in page
    assert "prometheus silent" in page


async def test_the_brake_is_the_first_thing_on_the_page_with_who_and_why(world: World) -> None:
    world.ledger.set_brake(Brake(True, "U0ADMIN", START, "we move the <racks>"))
    page = words(await read(world, "/"))
    assert "The brake is on since Friday 27 November 2026 11:00 CET , by Admin: we move the <racks>." in page


async def test_leases_are_found_by_team_state_owner_and_place_page_by_page(world: World) -> None:
    for number in range(1, 54):
        world.story(number, place=a_place(name="lab" if number == 7 else "research"))
    world.story(60, State.CLOSED)
    world.story(61, team="vision", requester="U0STRANGER")

    async def listed(query: str) -> list[str]:
        return re.findall(r'href="/leases/gpu-0*(\d+)"', await read(world, f"/leases{query}"))

    first = await read(world, "/leases")
    assert len(re.findall(r'href="/leases/gpu-', first)) == 50
    further = unescape(re.search(r'rel="next" href="([^"]*)"', first)[1])  # type: ignore[index]
    assert further == "/leases?after=gpu-00000050"
    assert await listed(further.removeprefix("/leases")) == ["51", "52", "53", "61"]
    assert await listed("?team=vision") == ["61"]
    assert await listed("?place=lab") == ["7"]
    assert await listed("?state=closed") == ["60"]
    assert await listed("?owner=U0STRANGER") == ["61"]
    assert await listed("?owner=W0REQUESTER&place=lab&team=&state=") == ["7"]
    assert await listed("?closed=true&after=gpu-00000053") == ["60", "61"]
    assert await listed("?owner=U0LEFTLONGAGO") == []


async def test_what_a_filter_cannot_mean_is_told_with_what_it_can(world: World) -> None:
    assert "'lost' is no state; there are: requested," in words(await read(world, "/leases?state=lost", 400))
    assert "nobody is 'grace hopper'" in words(await read(world, "/leases?owner=grace+hopper", 400))
    assert "limit should be less than or equal to 500" in words(await read(world, "/leases?limit=900", 422))


async def test_a_lease_shows_its_money_with_gib_months_beside_the_cost_of_disks(world: World) -> None:
    made = world.story(1)
    lease = replace(made, storage=(Storage(READY, None, 300, usd("0.08")),), revision=made.revision + 1)
    world.record(lease, Event("note", READY, "lessor", {}))
    world.now = READY + timedelta(hours=72)
    page = words(await read(world, f"/leases/{lease.id}"))
    # 300 GiB for three of November's thirty days; machines also for the three minutes from launch to ready.
    assert "machines 72.050 h 7,083.96 USD disks 30.000 GiB-months 2.40 USD together 7,086.36 USD" in page


async def test_unknown_money_is_unknown_and_never_nothing(world: World) -> None:
    lease, events = a_story(quote=a_quote(None))
    world.record(lease, *events)
    page = words(await read(world, f"/leases/{lease.id}"))
    assert "The price is unknown ." in page
    assert "together unknown" in page
    assert "1 of unknown price" in words(await read(world, "/"))


async def test_a_lease_shows_what_it_does_with_the_evidence_and_its_chart(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 75)
    page = await read(world, f"/leases/{lease.id}")
    said = words(page)
    assert "idle since Friday 27 November 2026 11:10 CET ; 1 of 1 GPUs idle" in said
    assert "100% of the window was measured" in said
    assert "Processor 1 % 20 %" in said
    assert f'src="/leases/{lease.id}/chart.svg?at=' in page
    assert f'href="http://127.0.0.1:8080/namespaces/x/workflows/{lease.id}"' in page


async def test_promised_gpus_that_no_pod_holds_are_told_with_since_when(world: World) -> None:
    lease = promised(1, 4)
    world.meter.record(lease)
    world.meter.places = {"kubernetes": FakeOccupancy({"lab": {lease.id: Held(0)}})}
    world.meter.restart()
    await world.meter.ticks(61)
    said = words(await read(world, f"/leases/{lease.id}"))
    assert "0 of 4 promised GPUs held by any pod since Friday 27 November 2026 11:00 CET." in said


async def test_a_lease_that_was_never_metered_shows_no_chart(world: World) -> None:
    lease = world.story(1)
    page = await read(world, f"/leases/{lease.id}")
    assert "It was never metered." in page
    assert "chart.svg" not in page


async def test_the_history_is_whole_the_latest_first_with_names(world: World) -> None:
    lease = world.story(1, State.CLOSED)
    page = words(await read(world, f"/leases/{lease.id}"))
    timeline = page[page.index("What happened") :]
    assert timeline.index("closed by lessor") < timeline.index("approved by Manager")
    assert timeline.index("approved by Manager") < timeline.index("requested by Requester")


async def test_hostile_words_stay_words(world: World) -> None:
    made = world.story(1, purpose=HOSTILE)
    lease = replace(
        made, problem=HOSTILE, co_owners=(CoOwner("U0HOSTILE"),), decided_by="U0HOSTILE", revision=made.revision + 1
    )
    world.record(lease, Event("note", APPROVED, "U0HOSTILE", {"why": HOSTILE, HOSTILE: "x"}))
    for path in ("/", "/leases", f"/leases/{lease.id}", "/leases?owner=%3Cscript%3E", "/%3Cscript%3E"):
        async with world.client() as client:
            page = (await client.get(path)).text
        tags = elements(page)
        assert [attributes for tag, attributes in tags if tag == "script"] == [
            {"type": "module", "src": "/assets/fresh.js"}
        ]
        assert [tag for tag, _ in tags if tag in ("img", "iframe", "object", "embed")] == []
        assert [name for _, attributes in tags for name in attributes if name.startswith(("on", "style"))] == []
    shown = unescape(await read(world, f"/leases/{lease.id}"))
    assert HOSTILE in shown


async def test_pages_run_nothing_that_is_not_a_file_of_ours(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 1)
    async with world.client() as client:
        for path in ("/", "/leases", f"/leases/{lease.id}", "/api", "/nothing", "/api/leases", "/assets/fresh.js"):
            answer = await client.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'; script-src 'self'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert " style=" not in answer.text
            assert "https://" not in answer.text
        chart = await client.get(f"/leases/{lease.id}/chart.svg")
        assert "script" not in chart.headers["content-security-policy"]
        assert "sandbox" in chart.headers["content-security-policy"]


async def test_a_chart_is_drawn_from_the_one_definition_and_told_when_it_cannot_be(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 3)
    async with world.client() as client:
        answer = await client.get(f"/leases/{lease.id}/chart.svg")
        assert (answer.status_code, answer.content) == (200, b"<svg/>")
        assert answer.headers["content-type"] == "image/svg+xml"
        ((figures, kind),) = world.drawn
        assert (kind, figures["axis"], len(figures["points"]) > 10) == ("svg", "time in Europe/Berlin", True)
        world.picture = DrawingError("no chart within 20 s")
        answer = await client.get(f"/leases/{lease.id}/chart.svg")
        assert answer.status_code == 503
        assert "the chart could not be drawn (no chart within 20 s); load the page again" in answer.text
        other = world.story(2)
        assert (await client.get(f"/leases/{other.id}/chart.svg")).status_code == 404


async def test_a_lease_that_is_not_there_is_told_with_where_to_look(world: World) -> None:
    assert "there is no lease gpu-00000099" in words(await read(world, "/leases/gpu-00000099", 404))
    assert "'xyz' is no lease id; it looks like gpu-7k3qxa2m" in words(await read(world, "/leases/xyz", 404))


async def test_a_ledger_that_is_down_and_what_nobody_foresaw_are_told_in_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise LedgerUnavailableError("postgresql://lessor:secret@db/lessor refuses")

    monkeypatch.setattr(world.ledger, "revisions", down)
    page = await read(world, "/", 503)
    assert "the ledger cannot be read now; nothing is lost." in words(page)
    assert "secret" not in page
    monkeypatch.setattr(world.ledger, "leases", lambda query: 1 / 0)
    page = await read(world, "/leases", 500)
    assert "this could not be shown; the dashboard's log says why" in words(page)
    assert "ZeroDivision" not in page


async def test_the_page_for_programmers_lists_every_way_with_its_parameters(world: World) -> None:
    page = words(await read(world, "/api"))
    assert "GET /api/leases/{id}/usage" in page
    assert "limit At most so many. 1 to 500, 100 if left out." in page
