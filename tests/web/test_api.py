"""Programs get over HTTP what the command line prints as JSON, and errors that say what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.asjson import event_facts, lease_facts
from lessor.domain.billing import Storage
from lessor.domain.lease import Event, State
from lessor.ports import LedgerUnavailableError
from tests.builders import ACCESS, READY, a_place, usd
from tests.metering import MINUTE, running, silent
from tests.web.world import World


async def get(world: World, path: str, status: int = 200) -> Any:
    async with world.client() as client:
        answer = await client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


async def test_leases_come_page_by_page_as_the_command_line_prints_them(world: World) -> None:
    world.now = READY + timedelta(hours=1)
    leases = [world.story(number, place=a_place(name="lab" if number == 3 else "research")) for number in range(1, 6)]
    first = await get(world, "/api/leases?limit=2")
    assert first == {"leases": [lease_facts(one, world.now) for one in leases[:2]], "next": leases[1].id}
    last = await get(world, f"/api/leases?limit=3&after={leases[1].id}")
    assert [one["id"] for one in last["leases"]] == [one.id for one in leases[2:]]
    assert (await get(world, f"/api/leases?limit=10&after={leases[1].id}"))["next"] is None
    assert [one["id"] for one in (await get(world, "/api/leases?place=lab"))["leases"]] == [leases[2].id]
    assert (await get(world, "/api/leases?state=closed"))["leases"] == []


async def test_one_lease_and_its_history(world: World) -> None:
    lease = world.story(1)
    told = await get(world, f"/api/leases/{lease.id}")
    assert told == lease_facts(lease, world.now)
    assert (told["state"], told["cost"], told["purpose"]) == ("active", "78.66", "train the ranking model")
    assert told["storage_gib_months"] == "0.000"
    kept = replace(lease, storage=(Storage(READY, None, 300, usd("0.08")),), revision=lease.revision + 1)
    world.record(kept, Event("note", READY, "lessor", {}))
    world.now = READY + timedelta(days=3)
    told = await get(world, f"/api/leases/{lease.id}")
    assert (told["storage_gib_months"], told["storage_cost"]) == ("30.000", "2.40")
    events = (await get(world, f"/api/leases/{lease.id}/events"))["events"]
    assert events == [event_facts(one) for one in world.ledger.events(lease.id)]
    assert [one["type"] for one in events][:2] == ["requested", "assessed"]


async def test_how_to_get_in_is_told_to_nobody(world: World) -> None:
    lease = world.story(1)
    assert lease.access == ACCESS
    for path in (f"/api/leases/{lease.id}", "/api/leases", f"/leases/{lease.id}", "/leases", "/"):
        async with world.client() as client:
            assert ACCESS not in (await client.get(path)).text
    assert (await get(world, f"/api/leases/{lease.id}"))["access"] is None


async def test_what_a_lease_did(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 75)
    world.ledger.roll_up(world.now)
    used = await get(world, f"/api/leases/{lease.id}/usage?hours=3")
    assert (used["now"]["verdict"], used["now"]["idle_gpus"]) == ("idle", 1)
    assert [(one["hour"], one["ticks"], one["busy"]) for one in used["hours"]] == [
        ("2026-11-27T09:00:00+00:00", 1, 1),
        ("2026-11-27T10:00:00+00:00", 60, 60),
    ]


async def test_the_meter_says_when_each_source_answered_last(world: World) -> None:
    lease = running(1)
    world.meter.record(lease)
    await world.idle_fleet([lease], 2)
    good = world.meter.now
    world.meter.source.fail = silent()
    await world.meter.ticks(2)
    world.now = world.meter.now
    told = await get(world, "/api/meter")
    (source,) = told["latest"]["sources"]
    assert (source["ok"], source["silent_ticks"], source["last_good"]) == (False, 2, good.isoformat())
    assert (told["every_seconds"], told["brake"]["on"]) == (MINUTE.total_seconds(), False)


async def test_all_open_leases_together(world: World) -> None:
    world.now = READY
    asked = world.story(1, State.AWAITING_APPROVAL)
    world.story(2)
    assert await get(world, "/api/overview") == {
        "at": READY.isoformat(),
        "leases": 2,
        "states": {"awaiting-approval": 1, "active": 1},
        "gpus": 8,
        "hourly": {"amounts": {"USD": "98.32"}, "unknown": 0},
        "cost": {"amounts": {"USD": "4.92"}, "unknown": 0},
        "waiting": [
            {
                "lease": asked.id,
                "waits_for": "approval: manager",
                "since": asked.requested_at.isoformat(),
                "people": ["U0MANAGER"],
                "unresolved": [],
            }
        ],
    }


@pytest.mark.parametrize(
    ("path", "status", "code", "words"),
    [
        ("/api/leases/gpu-00000099", 404, "not-found", "there is no lease gpu-00000099"),
        ("/api/leases/xyz/events", 404, "not-found", "'xyz' is no lease id"),
        ("/api/leases?state=lost", 400, "no-state", "'lost' is no state; there are: requested"),
        ("/api/leases?owner=grace%20hopper", 400, "unresolved", "nobody is 'grace hopper'"),
        ("/api/leases?limit=0", 422, "invalid", "limit should be greater than or equal to 1"),
        ("/api/leases?limit=many", 422, "invalid", "limit should be a valid integer"),
        ("/api/leases/gpu-00000001/usage?hours=-1", 422, "invalid", "hours should be greater than or equal to 1"),
        ("/api/nothing", 404, "not-found", "there is nothing at /api/nothing"),
    ],
)
async def test_errors_say_what_happened_and_what_is_allowed(
    world: World, path: str, status: int, code: str, words: str
) -> None:
    told = await get(world, path, status)
    assert told["code"] == code
    assert words in told["message"]


async def test_nothing_can_be_changed(world: World) -> None:
    lease = world.story(1)
    async with world.client() as client:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            answer = await client.request(method, f"/api/leases/{lease.id}")
            assert (answer.status_code, answer.json()["code"]) == (405, "no-method")
    assert world.ledger.lease(lease.id) == lease


async def test_health_fails_while_the_ledger_is_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await get(world, "/healthz") == {"ok": True}

    def down() -> None:
        raise LedgerUnavailableError("no such host: db")

    monkeypatch.setattr(world.ledger, "brake", down)
    told = await get(world, "/healthz", 503)
    assert told["code"] == "ledger-unreachable"


async def test_the_description_names_every_way_and_what_goes_wrong(world: World) -> None:
    described = await get(world, "/api/openapi.json")
    assert set(described["paths"]) == {
        "/healthz",
        "/api/overview",
        "/api/fleet",
        "/api/meter",
        "/api/leases",
        "/api/leases/{id}",
        "/api/leases/{id}/events",
        "/api/leases/{id}/usage",
    }
    for path, way in described["paths"].items():
        assert list(way) == ["get"]
        assert {"200", "401", "503"} <= set(way["get"]["responses"]), path
        assert way["get"]["description"]
        assert all(one["description"] for one in way["get"].get("parameters", ()))
