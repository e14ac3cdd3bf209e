"""Cases C01 to C10: launches that are refused, forgotten, answered late or done twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.contracts import TAG_LEASE
from lessor.domain.request import Market, Need
from lessor.domain.resource import Condition
from lessor.ports import NoCapacityError, RetryableError
from lessor.providers.aws import Ec2Provider
from lessor.providers.aws.tokens import token
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import World, instances, launch_first, place

G5 = Need("A10G", 1)
P5 = Need(instance_type="p5.48xlarge")


def test_C01_no_capacity_in_the_named_zone(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5, place=place(zone="us-east-1a"))
    world.controls.refuse_capacity(zone="us-east-1a")
    leased = world.lease(provider, order)
    assert [i["zone"] for i in world.controls.instances(LEASE_ID)] == ["us-east-1b"]
    assert leased.resources[0].zone == "us-east-1b"

    world.controls.refuse_capacity()
    with pytest.raises(NoCapacityError) as caught:
        launch_first(provider, world.order(provider, G5, lease_id="gpu-00000002"))
    zones = ["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"]
    kinds = ["g5.xlarge", "g5.2xlarge"]
    assert caught.value.tried == tuple(f"{kind} in {zone} (on-demand)" for kind in kinds for zone in zones)


def test_C02_client_token_reused_with_another_instance_type(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, P5)
    other = world.order(provider, Need(instance_type="p4d.24xlarge")).quote.offer
    order = replace(order, quote=replace(order.quote, alternatives=(other,)))
    world.controls.refuse_capacity("p5.48xlarge")
    first = launch_first(provider, order)
    assert first[0].type == "p4d.24xlarge"
    candidate = next(c for c in provider.candidates(order) if str(c).startswith("p4d.24xlarge in us-east-1a"))
    assert instances(world.provider().launch(order, candidate, silent)) == instances(first)
    assert world.controls.calls("RunInstances", "IdempotentParameterMismatch") == 0
    assert world.alive() == instances(first)


def test_C03_same_token_in_another_zone_starts_a_second_machine(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    in_a, in_b = provider.candidates(order)[:2]
    world.controls.lose_answers("RunInstances")
    with pytest.raises(RetryableError):
        provider.launch(order, in_a, silent)
    made = world.provider().launch(order, in_b, silent)
    world.provider().await_usable(order, made, silent)
    world.controls.advance(600)
    assert world.alive() == instances(made)
    assert made[0].zone == "us-east-1a"


def test_C03_a_second_machine_that_was_hidden_is_ended(world: World, provider: Ec2Provider) -> None:
    """Neither tag nor token is shown at first, so b is launched as well: only one machine may stay."""
    order = world.order(provider, G5)
    in_a, in_b = provider.candidates(order)[:2]
    world.controls.hide_new_instances(seconds=15)
    world.controls.lose_answers("RunInstances")
    with pytest.raises(RetryableError):
        provider.launch(order, in_a, silent)
    made = provider.launch(order, in_b, silent)
    world.controls.advance(20)
    leased = world.provider().await_usable(order, made, silent)
    world.controls.advance(600)
    assert world.alive() == instances(leased.resources)
    assert len(world.alive()) == 1


def test_C04_mismatch_error_although_the_machine_runs(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    candidate = provider.candidates(order)[0]
    world.controls.hide_new_instances(seconds=30)
    first = provider.launch(order, candidate, silent)
    changed = replace(order, request=replace(order.request, disk_gib=300))
    again = world.provider().launch(changed, candidate, silent)
    assert instances(again) == instances(first)
    assert world.controls.calls("RunInstances", "IdempotentParameterMismatch") == 1
    assert world.alive() == instances(first)


def test_C04_launch_parameters_are_the_same_every_time(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    candidate = provider.candidates(order)[0]
    world.controls.hide_new_instances(seconds=3600)
    first = provider.launch(order, candidate, silent)
    world.controls.advance(1800)
    assert instances(world.provider().launch(order, candidate, silent)) == instances(first)
    assert world.controls.calls("RunInstances") == world.controls.calls("RunInstances", "") == 2


def test_C06_token_too_long() -> None:
    long = "gpü-" + "ä" * 196
    one, other = (token(f"{long[:64]}{end}", 0, "p5.48xlarge", "us-east-1a", Market.SPOT) for end in ("x" * 136, "y"))
    assert one.isascii()
    assert len(one) == len(other) == 64
    assert one != other
    parts = [("g5.xlarge", "us-east-1a", Market.SPOT), ("g5.xlarge", "us-east-1b", Market.SPOT)]
    parts += [("g5.2xlarge", "us-east-1a", Market.SPOT), ("g5.xlarge", "us-east-1a", Market.ON_DEMAND)]
    assert len({token(LEASE_ID, index, *part) for part in parts for index in range(2)}) == 8


def test_C07_does_not_exist_just_after_launch(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.hide_new_instances(seconds=290)
    made = launch_first(provider, order)
    assert world.controls.journal()[-1].action == "RunInstances"
    leased = provider.await_usable(order, made, silent)
    assert instances(leased.resources) == instances(made) == world.alive()
    assert world.controls.calls("RunInstances") == 1
    assert 280 <= sum(world.slept) <= 300


def test_C08_fresh_machine_taken_for_a_vanished_one(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.hide_new_instances(seconds=120)
    made = launch_first(provider, order)
    sighting = provider.look(LEASE_ID, place(), made)
    assert [(r.id, r.condition) for r in sighting.left] == [(made[0].id, Condition.UNKNOWN)]
    assert not sighting.clean
    with pytest.raises(RetryableError, match=made[0].id):
        provider.delete(LEASE_ID, place(), made, silent)
    world.controls.advance(121)
    provider.delete(LEASE_ID, place(), made, silent)
    assert provider.look(LEASE_ID, place(), made).clean
    assert world.alive() == []


def test_C08_missing_is_gone_after_ten_minutes_and_three_reads(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.hide_new_instances(seconds=100_000)
    made = launch_first(provider, order)
    with pytest.raises(NoCapacityError, match="no longer knows it"):
        provider.await_usable(order, made, silent)
    assert sum(world.slept) == 600


@pytest.mark.parametrize("market", [Market.ON_DEMAND, Market.SPOT])
def test_C10_only_the_instance_is_tagged(world: World, provider: Ec2Provider, market: Market) -> None:
    leased = world.lease(provider, world.order(provider, G5, market))
    everything = world.controls.leftovers()
    kinds = ["instance", "network-interface", "volume"] + (["spot-request"] if market is Market.SPOT else [])
    assert sorted(r.kind for r in everything) == sorted(kinds)
    assert {r.tags[TAG_LEASE] for r in everything} == {LEASE_ID}
    assert sorted(r.id for r in leased.resources) == sorted(r.id for r in everything)


def test_C10_what_is_attached_later_is_tagged(world: World, provider: Ec2Provider) -> None:
    machine = instances(world.lease(provider, world.order(provider, G5)).resources)[0]
    attached = {
        world.controls.attach_volume(machine),
        world.controls.attach_interface(machine),
        world.controls.associate_address(machine),
    }
    assert {r.id for r in provider.attribute(place(), silent)} == attached
    marked = {r.id: r.tags for r in world.controls.leftovers() if r.id in attached}
    assert {t[TAG_LEASE] for t in marked.values()} == {LEASE_ID}
    assert all("lessor:managed-by" not in t for t in marked.values())
    assert provider.attribute(place(), silent) == ()
