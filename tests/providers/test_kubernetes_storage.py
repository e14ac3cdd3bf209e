"""Storage that people make in their namespace: the volumes behind their claims, with size, price and since when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lessor.domain import disks
from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Market, Need
from lessor.domain.resource import Disk, Kind, Resource
from lessor.providers.kubernetes import inventory, offers
from lessor.providers.kubernetes.api import CLAIM, NAMESPACE, VOLUME, Obj
from lessor.providers.kubernetes.place import KubernetesPlace
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased
from tests.providers.kube_storage import charged_while_it_is_there
from tests.providers.kube_world import KubeWorld, simulated_ground

HOUR = timedelta(hours=1)
PRICE = Money(Decimal("0.10"))


@pytest.fixture
def there() -> Leased:
    return Leased()


def bound(there: Leased, name: str, capacity: str = "100Gi", labels: dict[str, str] | None = None) -> Obj:
    """A claim, labelled as the sweep does, and the volume that the cluster's provisioner made for it."""
    there.claim(name, labels=labels)
    there.api.list(VOLUME)
    claim = there.obj(CLAIM, name)
    claim["metadata"]["labels"] = {"lessor.dev/lease": LEASE, **(claim["metadata"].get("labels") or {})}
    volume = there.obj(VOLUME, claim["spec"]["volumeName"])
    volume["spec"]["capacity"] = {"storage": capacity}
    return volume


def charged(found: Sequence[Resource]) -> dict[str, Disk]:
    return {one.disk.name.removeprefix(f"{LEASE}/"): one.disk for one in found if one.disk}


def looked(there: Leased) -> dict[str, Disk]:
    """What a look at the lease charges, by the name of the claim."""
    found = inventory.look(there.site, LEASE, [there.record])
    assert found.complete
    return charged(found.resources)


def swept(there: Leased) -> dict[str, Disk]:
    """What a reading of the whole cluster charges."""
    return charged(inventory.conditions(there.site))


def test_F30_a_volume_behind_a_claim_of_peoples_is_the_leases_since_both_were_there(there: Leased) -> None:
    there.now = BEGIN + 2 * HOUR
    volume = bound(there, "data", "120Gi")
    there.now = BEGIN + 5 * HOUR
    assert looked(there) == {"data": Disk(BEGIN + 2 * HOUR, 120, PRICE, f"{LEASE}/data")}
    assert swept(there) == looked(there)
    volume["metadata"]["creationTimestamp"] = "2026-11-28T13:00:00Z"
    assert looked(there)["data"].since == BEGIN + 4 * HOUR


def test_a_volume_that_was_there_before_is_the_leases_since_it_was_claimed(there: Leased) -> None:
    volume = bound(there, "shared", "1Ti")
    volume["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    assert looked(there)["shared"] == Disk(BEGIN, 1024, PRICE, f"{LEASE}/shared")


@pytest.mark.parametrize(
    ("capacity", "gib"),
    [
        ("512Mi", Decimal("0.5")),
        ("10G", Decimal("9.31322574615478515625")),
        ("1.5Ti", 1536),
        ("107374182401", Decimal("100.000000000931322574615478515625")),
        ("much", None),
    ],
)
def test_sizes_are_exact_and_one_that_cannot_be_read_is_unknown(
    there: Leased, capacity: str, gib: int | Decimal | None
) -> None:
    bound(there, "data", capacity)
    disk = looked(there)["data"]
    assert disk.gib == gib
    assert type(disk.gib) is type(gib)


def test_C28_a_place_without_a_price_or_with_one_for_later_has_an_unknown_price(there: Leased) -> None:
    bound(there, "data")
    there.config = KubernetesPlace("lab")
    assert looked(there)["data"].monthly is None
    there.config = KubernetesPlace("lab", disk_monthly=PRICE, disk_since=date(2026, 11, 29))
    assert looked(there)["data"].monthly is None
    there.now = BEGIN + timedelta(days=1)
    assert looked(there)["data"].monthly == PRICE


def test_C28_a_quote_says_that_what_the_disk_of_a_workspace_costs_is_unknown(there: Leased) -> None:
    def note(**config: Any) -> str:
        there.config = KubernetesPlace("lab", **config)
        return offers.quote(there.site, Need("A100"), Market.ON_DEMAND, BEGIN).note

    unknown = "what disks cost here is unknown, so the cost of a workspace will be unknown"
    assert note() == unknown
    assert note(disk_monthly=PRICE, disk_since=date(2026, 11, 29)) == unknown
    assert note(disk_monthly=PRICE) == note(kinds=(LeaseKind.NAMESPACE,)) == ""


def test_a_claim_without_a_volume_costs_nothing_yet(there: Leased) -> None:
    volume = bound(there, "waiting")
    del there.api.objects[VOLUME, "", volume["metadata"]["name"]]
    assert looked(there) == swept(there) == {}


def test_the_disk_of_a_workspace_is_charged_with_its_launch_and_no_second_time(there: Leased) -> None:
    there.obj(NAMESPACE, LEASE)["metadata"]["annotations"]["lessor.dev/kind"] = "workspace"
    bound(there, "workspace", labels=LABELS)
    bound(there, "data")
    assert list(looked(there)) == list(swept(there)) == ["data"]


def test_in_a_namespace_lease_no_claim_passes_for_one_of_ours(there: Leased) -> None:
    bound(there, "data", labels=LABELS)
    assert list(looked(there)) == list(swept(there)) == ["data"]


def test_volumes_that_nobody_has_claimed_or_others_have_are_not_charged(there: Leased) -> None:
    there.add(VOLUME, "free", spec={"capacity": {"storage": "1Ti"}}, status={"phase": "Available"})
    reference = {"namespace": LEASE, "name": "old", "uid": "of-a-claim-that-is-gone"}
    spec = {"capacity": {"storage": "1Ti"}, "claimRef": reference, "persistentVolumeReclaimPolicy": "Retain"}
    there.add(VOLUME, "released", spec=spec, status={"phase": "Released"})
    assert looked(there) == swept(there) == {}


def test_a_released_volume_goes_on_being_charged_until_it_is_gone(there: Leased) -> None:
    there.api.nodes.reclaim = "Retain"
    volume = bound(there, "data")
    kept = disks.brought_up((), inventory.look(there.site, LEASE, [there.record]).resources, BEGIN)
    assert [(one.gib, one.monthly, one.name) for one in kept] == [(100, PRICE, f"{LEASE}/data")]
    del there.api.objects[CLAIM, LEASE, "data"]
    there.now = BEGIN + HOUR
    for seen in (inventory.look(there.site, LEASE, [there.record]).resources, inventory.conditions(there.site)):
        assert next(one.reason for one in seen if one.kind is Kind.VOLUME).startswith("10.00 USD a month, released")
        assert disks.brought_up(kept, seen, there.now) == kept
    del there.api.objects[VOLUME, "", volume["metadata"]["name"]]
    gone = inventory.look(there.site, LEASE, [there.record]).resources
    assert disks.brought_up(kept, gone, there.now) == (replace(kept[0], end=there.now),)


def test_every_claim_is_seen_however_many_there_are(there: Leased) -> None:
    for n in range(130):
        there.claim(f"data-{n:03}")
    found = inventory.look(there.site, LEASE, [there.record]).resources
    assert len([one for one in found if one.kind is Kind.CLAIM]) == 130


def test_F30_storage_that_people_make_is_charged_while_its_volume_is_there(tmp_path: Path) -> None:
    """As on a real server, see `test_kubernetes_real_ends`."""
    with simulated_ground(tmp_path) as ground:

        def until(holds: Callable[[], object]) -> None:
            for _ in range(60):
                if holds():
                    return
                ground.sleep(1)
            raise AssertionError("nothing came of a minute's waiting")

        ground.running.create("StorageClass", {"metadata": {"name": "at-once"}, "provisioner": "csi.example.test"})
        charged_while_it_is_there(KubeWorld(ground), "at-once", until)
