"""What the disks of a launch hold and cost, and which of them a stop wipes (cases C18, F30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lessor.domain.money import Money
from lessor.domain.request import Market, Need
from lessor.domain.resource import Disk, Resource
from lessor.providers.aws import Ec2Provider, OwnDiskPrice, disks
from lessor.providers.aws.tokens import generations
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import World, instances, place

WITH_LOCAL_DISKS, WITHOUT = Need(instance_type="g5.xlarge"), Need(instance_type="p3.2xlarge")


def test_disks_are_as_large_as_they_were_ordered_at_the_dated_price_of_the_region(
    world: World, provider: Ec2Provider
) -> None:
    leased = world.lease(provider, world.order(provider, WITH_LOCAL_DISKS, disk_gib=300))
    assert (leased.disk_gib, leased.disk_monthly) == (300, Money(Decimal("0.08")))


def test_each_machine_of_a_lease_has_disks(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, Need("V100-16GB", 16), disk_gib=250))
    assert len(instances(leased.resources)) == 2
    assert leased.disk_gib == 500


@pytest.mark.parametrize(("need", "volatile"), [(WITH_LOCAL_DISKS, True), (WITHOUT, False)])
def test_C18_ec2_says_whether_a_stop_wipes_local_disks(
    world: World, provider: Ec2Provider, need: Need, volatile: bool
) -> None:
    order = world.order(provider, need)
    assert order.quote.offer.local_disk is volatile
    assert world.lease(provider, order).volatile is volatile


def test_an_agreed_price_of_disks_wins_from_its_day_on(world: World) -> None:
    agreed = OwnDiskPrice(Money(Decimal("0.07"), "EUR"), since=date(2020, 1, 1))
    world.places["research"] = replace(world.places["research"], disks=agreed)
    provider = world.provider()
    assert world.lease(provider, world.order(provider, WITHOUT)).disk_monthly == Money(Decimal("0.07"), "EUR")
    world.places["research"] = replace(world.places["research"], disks=replace(agreed, since=date(2999, 1, 1)))
    provider = world.provider()
    leased = world.lease(provider, world.order(provider, WITHOUT, lease_id="gpu-00000002"))
    assert leased.disk_monthly == Money(Decimal("0.08"))


def test_an_agreed_price_holds_from_the_start_of_its_day_in_utc() -> None:
    agreed = OwnDiskPrice(Money(Decimal("0.07")), since=date(2026, 11, 27))
    assert agreed.holds(datetime(2026, 11, 27, tzinfo=UTC))
    assert not agreed.holds(datetime(2026, 11, 26, 23, 59, 59, tzinfo=UTC))


def test_what_is_not_shown_yet_is_as_large_as_it_was_ordered_and_never_nothing() -> None:
    machines = [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]
    root = {"Size": 300, "VolumeType": "gp3", "Attachments": [{"InstanceId": "i-1"}]}
    more = {"Size": 50, "VolumeType": "gp3", "Attachments": [{"InstanceId": "i-1"}]}
    foreign = {"Size": 999, "VolumeType": "io2", "Attachments": [{"InstanceId": "i-9"}, {}]}
    assert disks.size_of(machines, [], 200) == 400
    assert disks.size_of(machines, [root, more, foreign], 200) == 550
    assert disks.priced([root, more])
    assert not disks.priced([root, foreign])


def attached(world: World, provider: Ec2Provider, **changes: Any) -> tuple[str, str]:
    """A leased machine and a volume of 500 GiB that somebody attached, marked as the lease's by the sweep."""
    machine = instances(world.lease(provider, world.order(provider, WITHOUT)).resources)[0]
    volume = world.controls.attach_volume(machine, **{"size_gib": 500} | changes)
    provider.attribute(place(), silent)
    return machine, volume


def charged(found: Sequence[Resource]) -> dict[str, Disk]:
    return {one.id: one.disk for one in found if one.disk}


def test_F30_what_is_attached_later_is_charged_since_then(world: World, provider: Ec2Provider) -> None:
    _, volume = attached(world, provider)
    looked = charged(provider.look(LEASE_ID, place()).resources)
    [disk] = looked.values()
    assert (disk.gib, disk.name, disk.monthly) == (500, volume, Money(Decimal("0.08")))
    assert disk.since.tzinfo is UTC
    assert charged(provider.conditions(place())) == looked == {volume: disk}


def test_C28_the_price_of_another_kind_of_volume_is_unknown(world: World, provider: Ec2Provider) -> None:
    _, volume = attached(world, provider, kind="st1")
    assert charged(provider.look(LEASE_ID, place()).resources)[volume].monthly is None


def test_what_was_launched_and_what_nobody_marked_is_not_charged_beside(world: World, provider: Ec2Provider) -> None:
    machine = instances(world.lease(provider, world.order(provider, WITHOUT)).resources)[0]
    world.controls.attach_volume(machine)
    assert charged(provider.look(LEASE_ID, place()).resources) == {}
    assert charged(provider.conditions(place())) == {}


def test_only_disks_on_machines_of_our_launch_are_charged_and_only_their_kind_is_priced() -> None:
    born, later = datetime(2026, 11, 27, tzinfo=UTC), datetime(2026, 11, 28, tzinfo=UTC)
    marked = [{"Key": "lessor:lease", "Value": LEASE_ID}]
    token = generations(LEASE_ID, "p3.2xlarge", "us-east-1a", Market.ON_DEMAND)[0]
    machine: dict[str, Any] = {"InstanceId": "i-1", "InstanceType": "p3.2xlarge", "Tags": marked, "ClientToken": token}
    machine |= {"Placement": {"AvailabilityZone": "us-east-1a"}}
    volume: dict[str, Any] = {"VolumeId": "vol-1", "Size": 50, "VolumeType": "gp3", "CreateTime": born, "Tags": marked}
    volume |= {"Attachments": [{"InstanceId": "i-1", "AttachTime": later}]}
    price = Money(Decimal("0.08"))
    assert disks.added(volume, [machine], price) == Disk(later, 50, price, "vol-1")
    assert disks.added({**volume, "VolumeType": "io2"}, [machine], price) == Disk(later, 50, None, "vol-1")
    assert disks.added(volume, [machine], None) == Disk(later, 50, None, "vol-1")
    assert disks.added(volume, [{**machine, "ClientToken": "copied"}], price) is None
    assert disks.added(volume, [{**machine, "Tags": []}], price) is None
    assert disks.added({**volume, "Tags": []}, [machine], price) is None
    assert disks.added({**volume, "Attachments": []}, [machine], price) is None
    ours = [*marked, {"Key": "lessor:managed-by", "Value": "lessor"}]
    assert disks.added({**volume, "Tags": ours}, [machine], price) is None
