"""The sandbox's pool: the shipped configuration, its folders and the executables in it, as the worker uses them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.catalog import load_catalogue
from lessor.domain.provisioning import Order
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Condition
from lessor.ledger import SqlLedger
from lessor.pooling import grace_of, machines_provider
from lessor.ports import RetryableError
from lessor.providers.machines import MachinesProvider
from lessor.reload import LiveConfig
from lessor.sandbox import machines
from lessor.sandbox.gpus.pool import in_pool
from lessor.sandbox.machines import lay_machines
from lessor.wiring import utc_now
from tests.builders import a_request
from tests.providers.attempts import silent

SHIPPED = Path(machines.__file__).with_name("lessor.yaml")
PLACE = Place("machines", "pool")
LEASE = "gpu-00000001"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shutil.copyfile(SHIPPED, tmp_path / "lessor.yaml")
    lay_machines(tmp_path)
    return tmp_path


def opened(data: Path, ledger: SqlLedger) -> MachinesProvider:
    found = machines_provider(LiveConfig.read(data / "lessor.yaml"), data, ledger, load_catalogue())
    assert found is not None
    return found


def leased(provider: MachinesProvider, need: Need, owner: str = "U0REQUESTER") -> str:
    quote = provider.quote(need, PLACE, Market.ON_DEMAND, utc_now())
    order = Order(LEASE, a_request(need=need, place=PLACE), quote, owner, "research", "4711", None)
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    return provider.await_usable(order, launched, silent).access


def test_people_get_into_the_sandboxs_machines_and_out_again(data: Path, sqlite_ledger: SqlLedger) -> None:
    provider = opened(data, sqlite_ledger)
    assert leased(provider, Need("A100-80GB", 8)) == "ssh dgx-1.example.com"
    keys = data / "machines" / "dgx-1" / "authorized_keys"
    assert keys.read_text().endswith(f" lessor:{LEASE}:requester@example.com\n")
    provider.set_owner(LEASE, PLACE, "U0ADMIN", "platform", "0815")
    assert keys.read_text().endswith(f" lessor:{LEASE}:admin@example.com\n")
    provider.delete(LEASE, PLACE, (), silent)
    assert (keys.read_text(), provider.look(LEASE, PLACE).clean) == ("", True)


def test_a_pool_that_works_says_nothing_and_one_that_does_not_says_what(data: Path, sqlite_ledger: SqlLedger) -> None:
    assert opened(data, sqlite_ledger).checkup(PLACE).fine
    (data / "machines" / "health").unlink()
    (data / "machines" / "lab-1").rmdir()
    assert opened(data, sqlite_ledger).checkup(PLACE).problem == (
        "the hook health cannot be started: machines/health is no executable; who gets into lab-1 could not be seen"
    )
    (data / "machines" / "lessor-authorized-keys").chmod(0o644)
    problem = opened(data, sqlite_ledger).checkup(PLACE).problem
    assert "the hook verify cannot be started: machines/lessor-authorized-keys is no executable" in problem
    assert "could not be seen: machines/lessor-authorized-keys cannot be started: Permission denied" in problem


def test_a_file_makes_a_machine_unfit(data: Path, sqlite_ledger: SqlLedger) -> None:
    (data / "machines" / "dgx-1" / "unfit").write_text("a fan stands still")
    (seen,) = opened(data, sqlite_ledger).conditions(PLACE)
    assert (seen.id, seen.condition, seen.fault) == (
        "dgx-1",
        Condition.STOPPED,
        "a fan stands still",
    )
    assert leased(opened(data, sqlite_ledger), Need("A100-80GB", 8)) == "ssh dgx-2.example.com"


def test_exporters_speak_of_machines_that_somebody_gets_into(data: Path, sqlite_ledger: SqlLedger) -> None:
    assert in_pool(data / "lessor.yaml", load_catalogue()) == []
    provider = opened(data, sqlite_ledger)
    leased(provider, Need("A100-80GB", 8))
    (seen,) = in_pool(data / "lessor.yaml", load_catalogue())
    assert (seen.id, seen.model, seen.gpus, seen.lease, seen.found_as) == (
        "dgx-1",
        "A100-80GB",
        8,
        LEASE,
        {"instance_id": "dgx-1"},
    )
    provider.stop(LEASE, PLACE, silent)
    assert in_pool(data / "lessor.yaml", load_catalogue()) == []
    (data / "lessor.yaml").write_text("places: [")
    with pytest.raises(ValueError, match=r"lessor.yaml:1"):
        in_pool(data / "lessor.yaml", load_catalogue())


def test_what_people_changed_is_kept(data: Path) -> None:
    (data / "machines" / "health").write_text("#!/bin/sh\n")
    lay_machines(data)
    assert (data / "machines" / "health").read_text() == "#!/bin/sh\n"


def test_the_pool_keeps_what_has_ended_for_a_time_of_its_own(data: Path) -> None:
    live = LiveConfig.read(data / "lessor.yaml")
    assert grace_of(live, PLACE) == timedelta(minutes=15)
    assert grace_of(live, replace(PLACE, name="aws-us")) is None


def test_an_inventory_is_read_anew_when_it_changes_and_a_spoilt_one_is_unknown(
    data: Path, sqlite_ledger: SqlLedger
) -> None:
    text = (data / "lessor.yaml").read_text()
    begin, end = text.index("      machines:\n        - {name: dgx-1"), text.index("      hooks:\n")
    (data / "lessor.yaml").write_text(f"{text[:begin]}      inventory: machines.csv\n{text[end:]}")
    with pytest.raises(RetryableError, match=r"machines.csv: cannot be read: No such file"):
        opened(data, sqlite_ledger).offers(Need("L4", 1), PLACE, Market.ON_DEMAND)
    file = data / "machines.csv"
    file.write_text("name,model,gpus\nlab-1,L4,4\n")
    provider = opened(data, sqlite_ledger)
    assert [one.gpu_count for one in provider.offers(Need("L4", 1), PLACE, Market.ON_DEMAND)] == [4]
    file.write_text("name,model,gpus\nlab-1,L4,4\nlab-2,L4,16\n")
    assert [one.gpu_count for one in provider.offers(Need("L4", 1), PLACE, Market.ON_DEMAND)] == [4, 16]
    file.write_text("name,model,gpus\nlab-1,L4,many\n")
    with pytest.raises(RetryableError, match=r"machines.csv:2: machines\[0\].gpus"):
        provider.offers(Need("L4", 1), PLACE, Market.ON_DEMAND)
    assert "machines.csv:2" in provider.census(PLACE).problem
