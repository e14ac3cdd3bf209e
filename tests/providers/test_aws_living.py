"""A machine's life after the launch: stop, start, end date, snapshots, and what keeps it from being deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.money import Money
from lessor.domain.request import Market, Need
from lessor.domain.resource import Condition, Kind
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.aws import Ec2Provider
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import World, instances, place

G5 = Need("A10G", 1)
OTHER_ACCOUNT = "210987654321"


def test_spot_machines(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5, Market.SPOT)
    candidates = [c for c in provider.candidates(order) if c.instance_type == "g5.xlarge"]
    prices = [c.hourly for c in candidates]
    assert prices == sorted(p for p in prices if p is not None)
    assert prices[0] == order.quote.offer.hourly
    leased = world.lease(provider, order)
    assert not leased.stoppable
    assert leased.hourly == candidates[0].hourly
    assert [r.kind for r in leased.resources if r.kind is Kind.SPOT_REQUEST] == [Kind.SPOT_REQUEST]
    with pytest.raises(PermanentError, match="one-time"):
        provider.stop(LEASE_ID, place(), silent)
    provider.delete(LEASE_ID, place(), leased.resources, silent)
    assert world.controls.leftovers() == []


def test_the_end_is_written_on_everything(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    provider.set_end(LEASE_ID, place(), datetime(2027, 1, 2, 3, 4, 5, 678, tzinfo=UTC) + timedelta(hours=1))
    marks = {r.kind: r.tags["lessor:ends"] for r in world.controls.leftovers()}
    assert marks == dict.fromkeys(["instance", "volume", "network-interface"], "2027-01-02T04:04:05+00:00")


def test_a_new_owner_is_written_on_everything_and_on_nothing_of_others(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    other = world.order(provider, G5, lease_id="gpu-00000002")
    world.lease(provider, other)
    for cost_center in ("4711 / A&B", "4711 / A&B"):
        provider.set_owner(LEASE_ID, place(), "U0SECOND", "vision", cost_center)
    keys = ("lessor:owner", "lessor:team", "lessor:cost-center")
    marks = {(r.tags["lessor:lease"], r.kind): tuple(r.tags[key] for key in keys) for r in world.controls.leftovers()}
    kinds = ("instance", "volume", "network-interface")
    mine = {(LEASE_ID, kind): ("U0SECOND", "vision", "4711 / A B") for kind in kinds}
    theirs = {("gpu-00000002", kind): (other.owner, other.team, other.cost_center) for kind in kinds}
    assert marks == mine | theirs


def test_snapshots_are_taken_once_and_kept(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    world.controls.lose_answers("CreateSnapshot")
    with pytest.raises(RetryableError):
        provider.snapshot(LEASE_ID, place(), silent)
    kept = world.provider().snapshot(LEASE_ID, place(), silent)
    assert [r.id for r in provider.snapshot(LEASE_ID, place(), silent)] == [r.id for r in kept]
    provider.delete(LEASE_ID, place(), leased.resources, silent)
    left = world.controls.leftovers()
    assert [(r.kind, r.id) for r in left] == [("snapshot", kept[0].id)]
    assert left[0].tags["lessor:lease"] == LEASE_ID
    assert provider.look(LEASE_ID, place()).clean


def test_termination_protection_is_reported_and_not_forced(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    machine = instances(leased.resources)[0]
    world.controls.protect(machine)
    with pytest.raises(PermanentError, match="termination protection is on") as caught:
        provider.delete(LEASE_ID, place(), leased.resources, silent)
    assert caught.value.code == "OperationNotPermitted"
    assert world.alive() == [machine]
    assert world.controls.calls("ModifyInstanceAttribute") == 0
    world.controls.protect(machine, False)
    provider.delete(LEASE_ID, place(), leased.resources, silent)
    assert world.controls.leftovers() == []


def test_start_without_capacity_can_be_tried_again(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    provider.stop(LEASE_ID, place(), silent)
    world.controls.refuse_capacity()
    with pytest.raises(NoCapacityError) as caught:
        provider.start(LEASE_ID, place(), silent)
    assert caught.value.tried == ("g5.xlarge in us-east-1a",)
    world.controls.restore_capacity()
    world.controls.advance(60)
    assert provider.start(LEASE_ID, place(), silent) == world.now().replace(microsecond=0)


def test_stop_and_start_take_their_time(world: World, provider: Ec2Provider) -> None:
    world.controls.set_delays(stopping=45, pending=35)
    world.lease(provider, world.order(provider, G5))
    asked = world.now().replace(microsecond=0)
    assert provider.stop(LEASE_ID, place(), silent) == asked
    assert [r.condition for r in provider.look(LEASE_ID, place()).left if r.kind is Kind.INSTANCE] == [
        Condition.STOPPED
    ]
    asked = world.now().replace(microsecond=0)
    assert provider.start(LEASE_ID, place(), silent) == asked
    assert world.now() > asked


def test_stopping_what_somebody_terminated_tells_when(world: World, provider: Ec2Provider) -> None:
    machine = instances(world.lease(provider, world.order(provider, G5)).resources)[0]
    world.controls.terminate(machine)
    ended = world.now().replace(microsecond=0)
    world.controls.advance(300)
    assert provider.stop(LEASE_ID, place(), silent) == ended
    with pytest.raises(PermanentError, match="terminated"):
        provider.start(LEASE_ID, place(), silent)


def test_stop_spares_machines_that_only_carry_the_tag(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    foreign = instances(world.lease(provider, world.order(provider, G5, lease_id="gpu-00000002")).resources)[0]
    world.administrator.create_tags(Resources=[foreign], Tags=[{"Key": "lessor:lease", "Value": LEASE_ID}])
    provider.stop(LEASE_ID, place(), silent)
    assert {i["id"]: i["state"] for i in world.controls.instances()}[foreign] == "running"


def test_delete_spares_machines_that_only_carry_the_tag(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    foreign = instances(world.lease(provider, world.order(provider, G5, lease_id="gpu-00000002")).resources)[0]
    world.administrator.create_tags(Resources=[foreign], Tags=[{"Key": "lessor:lease", "Value": LEASE_ID}])
    with pytest.raises(PermanentError, match=f"{foreign} carries the tag of {LEASE_ID}"):
        provider.delete(LEASE_ID, place(), leased.resources, silent)
    assert world.alive() == [foreign]


def test_hourly_is_that_of_the_machine_that_was_launched(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.refuse_capacity("g5.xlarge")
    leased = world.lease(provider, order)
    assert leased.resources[0].type == "g5.2xlarge"
    assert leased.hourly == Money(order.quote.alternatives[0].hourly.amount)  # type: ignore[union-attr]
