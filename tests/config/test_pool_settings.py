"""Every setting of a pool does what its description says, from the text of `lessor.yaml` to what people notice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lessor.catalog import load_catalogue
from lessor.config.pools import HooksConfig, MachineConfig, MachinesConfig
from lessor.domain.errors import Refused
from lessor.domain.machines import Fitness, Health
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import Market, Need, Place
from lessor.ledger import SqlLedger
from lessor.pooling import grace_of, machines_provider
from lessor.ports import PermanentError, RetryableError
from lessor.providers.machines import MachinesProvider
from lessor.reload import LiveConfig
from lessor.wiring import utc_now
from tests.builders import a_lease, a_request
from tests.config.sample import VALID
from tests.providers.attempts import silent

PLACE = Place("machines", "pool")
OWNER = "U0REQUESTER"
LEASE = "gpu-00000001"
HOOK = """#!/usr/bin/env python3
import json, sys, pathlib
said = json.load(sys.stdin)
with open("calls", "a") as calls:
    calls.write(json.dumps([sys.argv[1:], said]) + "\\n")
inside = pathlib.Path("inside")
if said["action"] in ("grant", "revoke"):
    inside.write_text(json.dumps([one["name"] for one in said.get("people", ())]))
if said["action"] == "verify":
    people = json.loads(inside.read_text()) if inside.exists() else []
    print(json.dumps({"machines": {m["name"]: {one: people for one in m["leases"]} for m in said["machines"]}}))
"""
ALL = """
grant: [./hook, --let-in]
revoke: [./hook, --lock-out]
verify: [./hook, --who]
health: [./hook, --fit]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hook").write_text(HOOK)
    (tmp_path / "hook").chmod(0o755)
    return tmp_path


def configured(folder: Path, ledger: SqlLedger, machine: str, *settings: str, hooks: str = "") -> MachinesProvider:
    """A provider of one pool with one machine, as a program opens it."""
    return opened(written(folder, machine, *settings, hooks=hooks), folder, ledger)


def written(folder: Path, machine: str, *settings: str, hooks: str = "") -> LiveConfig:
    lines = [f"machines: [{{name: lab-1, model: L4, gpus: 4, {machine}}}]", *settings]
    lines += ["hooks:", *(f"  {line}" for line in hooks.strip().splitlines())] if hooks else []
    pool = "".join(f"      {line}\n" for line in lines)
    text = VALID.replace("\nplaces:\n", f"\nplaces:\n  - name: pool\n    provider: machines\n    machines:\n{pool}", 1)
    (folder / "lessor.yaml").write_text(text)
    return LiveConfig.read(folder / "lessor.yaml")


def opened(live: LiveConfig, folder: Path, ledger: SqlLedger) -> MachinesProvider:
    found = machines_provider(live, folder, ledger, load_catalogue())
    assert found is not None
    return found


def leased(provider: MachinesProvider, need: Need) -> Provisioned:
    quote = provider.quote(need, PLACE, Market.ON_DEMAND, utc_now())
    order = Order(LEASE, a_request(need=need, place=PLACE), quote, OWNER, "ml", "4711", None)
    return provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)


def calls(folder: Path) -> list[tuple[list[str], dict[str, Any]]]:
    lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return [(argv, said) for argv, said in map(json.loads, lines)]


def test_the_settings_that_are_shown_here_are_all_there_are() -> None:
    """A new one needs a test beside these."""
    machine = {
        "name",
        "model",
        "gpus",
        "memory_gib",
        "address",
        "room",
        "owner",
        "hourly",
        "since",
        "lease",
        "withdrawn",
    }
    assert set(MachineConfig.model_fields) == machine
    assert set(HooksConfig.model_fields) == {"grant", "revoke", "verify", "health", "timeout"}
    pool = {"inventory", "machines", "hooks", "health_every", "clean_up", "grace"}
    assert set(MachinesConfig.model_fields) == pool


def test_a_machine_is_offered_by_what_it_is_said_to_have(folder: Path, sqlite_ledger: SqlLedger) -> None:
    whole = configured(folder, sqlite_ledger, "memory_gib: 48, hourly: 0.40")
    (offer,) = whole.offers(Need("L4", 1), PLACE, Market.ON_DEMAND)
    assert (offer.instance_type, offer.gpu_model, offer.gpu_count, offer.gpu_memory_gib) == ("4xL4", "L4", 4, 48)
    assert str(offer.hourly) == "1.60 USD"
    (named,) = whole.offers(Need("lab-1", 4), PLACE, Market.ON_DEMAND)
    assert named.instance_type == "lab-1"
    shared = configured(folder, sqlite_ledger, "lease: gpu")
    (offer,) = shared.offers(Need("L4", 1), PLACE, Market.ON_DEMAND)
    assert (offer.instance_type, offer.gpu_count, offer.gpu_memory_gib, offer.hourly) == ("gpu/L4", 1, 24, None)
    out = configured(folder, sqlite_ledger, "withdrawn: waits for a fan")
    assert out.offers(Need("L4", 1), PLACE, Market.ON_DEMAND) == ()
    assert out.census(PLACE).notes == ("lab-1 may not be leased: waits for a fan",)


@pytest.mark.parametrize(("since", "known"), [("2020-01-01", True), ("2999-01-01", False)])
def test_a_price_holds_from_its_day_on(folder: Path, sqlite_ledger: SqlLedger, since: str, *, known: bool) -> None:
    (offer,) = configured(folder, sqlite_ledger, f"hourly: 0.40, since: {since}").offers(
        Need("L4", 4), PLACE, Market.ON_DEMAND
    )
    assert (offer.hourly is not None) is known


def test_without_hooks_people_are_sent_to_whose_machine_it_is(folder: Path, sqlite_ledger: SqlLedger) -> None:
    made = leased(configured(folder, sqlite_ledger, "owner: vision, address: 10.0.0.7"), Need("L4", 4))
    assert made.access == "10.0.0.7 (ask vision to let you in)"


def test_each_hook_is_called_with_its_arguments_and_told_where_the_machine_is(
    folder: Path, sqlite_ledger: SqlLedger
) -> None:
    provider = configured(folder, sqlite_ledger, "address: 10.0.0.7, room: cellar", hooks=ALL)
    assert leased(provider, Need("L4", 4)).access == "ssh 10.0.0.7"
    provider.delete(LEASE, PLACE, (), silent)
    where = {"name": "lab-1", "address": "10.0.0.7", "room": "cellar", "model": "L4", "gpus": 4}
    seen = [(argv, said["action"], said.get("machine") or said["machines"][0]) for argv, said in calls(folder)]
    assert [(argv, action) for argv, action, _ in seen] == [
        (["--fit"], "health"),
        (["--let-in"], "grant"),
        (["--who"], "verify"),
        (["--who"], "verify"),
        (["--lock-out"], "revoke"),
        (["--who"], "verify"),
    ]
    assert all(machine.items() >= where.items() for _, _, machine in seen)


def test_a_hook_has_its_time(folder: Path, sqlite_ledger: SqlLedger) -> None:
    slow = "grant: [sleep, '60']\nrevoke: ['true']\nverify: ['true']\ntimeout: 0.1s"
    with pytest.raises(RetryableError, match=r"grant on lab-1 did not succeed: it did not end within 0\.1 s"):
        leased(configured(folder, sqlite_ledger, "room: cellar", hooks=slow), Need("L4", 4))


@pytest.mark.parametrize(("every", "asked"), [("health_every: 1min", 1), ("health_every: 1h", 0)])
def test_health_is_looked_at_as_often_as_is_said(
    folder: Path, sqlite_ledger: SqlLedger, every: str, asked: int
) -> None:
    provider = configured(folder, sqlite_ledger, "room: cellar", every, hooks=ALL)
    before = utc_now() - timedelta(minutes=2)
    sqlite_ledger.checked(PLACE.name, [Health("lab-1", Fitness.FIT, before, before)])
    provider.conditions(PLACE)
    assert [said["action"] for _, said in calls(folder)].count("health") == asked


@pytest.mark.parametrize(("setting", "free"), [("clean_up: 1h", False), ("clean_up: 5min", True)])
def test_the_time_for_cleaning_up_lies_between_two_leases(
    folder: Path, sqlite_ledger: SqlLedger, setting: str, *, free: bool
) -> None:
    provider = configured(folder, sqlite_ledger, "room: cellar", setting)
    now = utc_now()
    start = now + timedelta(days=1)
    first, second = (
        replace(
            a_lease(),
            id=id,
            quote=None,
            request=a_request(
                need=Need("L4", 4), place=PLACE, start=begin, duration=None, until=begin + timedelta(hours=1)
            ),
            terms=replace(a_lease().terms, grace=timedelta()),
        )
        for id, begin in ((LEASE, start), ("gpu-00000002", start + timedelta(hours=1, minutes=30)))
    )
    assert provider.book(first, now)
    if free:
        assert provider.book(second, now)
    else:
        with pytest.raises(Refused, match="lab-1 by gpu-00000001"):
            provider.book(second, now)


def test_the_grace_is_that_of_the_pool(folder: Path) -> None:
    assert grace_of(written(folder, "room: cellar", "grace: 7min"), PLACE) == timedelta(minutes=7)


def test_an_inventory_beside_it_counts_too(folder: Path, sqlite_ledger: SqlLedger) -> None:
    (folder / "more.csv").write_text("name,model,gpus,lease\nlab-2,H100,8,gpu\n")
    provider = configured(folder, sqlite_ledger, "lease: gpu", "inventory: more.csv")
    assert [(one.model, one.total) for one in provider.census(PLACE).pools] == [("H100", 8), ("L4", 4)]
    with pytest.raises(PermanentError, match="nothing in pool fits"):
        provider.quote(Need("A100-80GB", 1), PLACE, Market.ON_DEMAND, utc_now())
