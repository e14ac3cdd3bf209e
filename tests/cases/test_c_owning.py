"""Cases C11 to C21: limits of the account and of tags, and what is ours to stop and to delete."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.domain.errors import Invalid
from lessor.domain.request import Market, Need, validate
from lessor.domain.resource import Condition, Kind
from lessor.ports import PermanentError
from lessor.providers.aws import Ec2Provider, tags
from tests.builders import LEASE_ID, a_request, some_limits
from tests.providers.attempts import silent
from tests.providers.aws_world import World, instances, launch_first, place

G5 = Need("A10G", 1)
P5 = Need(instance_type="p5.48xlarge")


def test_C11_tag_limits(world: World, provider: Ec2Provider) -> None:
    purpose = "fine-tune, evaluate;\n" + "🚀 <b>ranking</b> & more, " * 15
    assert len(purpose) > 380
    user_tags = {f"key {n}": "v" * 256 for n in range(40)}
    order = world.order(provider, G5, purpose=purpose, tags={**user_tags, "größe": "a\tb\nc<d>"})
    world.lease(provider, order)
    marked = world.controls.instances(LEASE_ID)[0]["tags"]
    assert len(marked) == 49
    assert len(marked["lessor:purpose"]) <= 256
    assert marked["lessor:purpose"].startswith("fine-tune evaluate b ranking /b more b ranking /b more")
    assert marked["größe"] == "a b c d"
    assert order.request.purpose == purpose
    with pytest.raises(Invalid, match="reserved"):
        validate(replace(a_request(), tags={"AwS:owner": "me"}), some_limits(), world.now())
    assert "Aws:x" not in tags.for_order(replace(order, request=replace(order.request, tags={"Aws:x": "1"})))


def test_C12_account_vcpu_quota_exceeded(world: World, provider: Ec2Provider) -> None:
    world.controls.set_quota("L-417A185B", 96)
    order = world.order(provider, P5)
    assert order.quote.vcpu_quota == 96
    assert "needs 192 vCPUs, the account's quota is 96" in order.quote.note
    with pytest.raises(PermanentError) as caught:
        launch_first(provider, order)
    assert caught.value.code == "VcpuLimitExceeded"
    for said in ("us-east-1", "needs 192 vCPUs", "quota is 96 vCPUs", "Nothing was created"):
        assert said in str(caught.value)
    assert world.controls.calls("RunInstances") == 1


def test_C12_account_spot_quota_exceeded(world: World, provider: Ec2Provider) -> None:
    world.controls.limit_spot_instances(0)
    order = world.order(provider, P5, Market.SPOT)
    with pytest.raises(PermanentError) as caught:
        launch_first(provider, order)
    assert caught.value.code == "MaxSpotInstanceCountExceeded"
    assert "needs 192 vCPUs, the quota is 1152 vCPUs" in str(caught.value)
    assert world.controls.calls("RunInstances") == 1


def test_C12_unknown_quota_is_unknown(world: World, provider: Ec2Provider) -> None:
    world.controls.deny("servicequotas:GetServiceQuota")
    assert world.order(provider, P5).quote.vcpu_quota is None


def test_C17_spot_interruption(world: World, provider: Ec2Provider) -> None:
    machine = instances(world.lease(provider, world.order(provider, G5, Market.SPOT)).resources)[0]
    world.controls.interrupt_spot(machine)
    seen = {r.id: r for r in provider.conditions(place())}[machine]
    assert seen.condition is Condition.GONE
    assert "Server.SpotInstanceTermination" in seen.reason


def test_C18_local_disks_lost_by_a_stop(world: World, provider: Ec2Provider) -> None:
    """From EC2's own answer: the catalogue is not asked."""
    offers = {o.instance_type: o for o in provider.offers(Need(memory_gib=16), place(), Market.ON_DEMAND)}
    assert (offers["g5.xlarge"].local_disk, offers["p3.2xlarge"].local_disk) == (True, False)


def test_C19_volumes_left_after_termination(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    machine = instances(leased.resources)[0]
    root = next(r.id for r in leased.resources if r.kind is Kind.VOLUME)
    mapping = [{"DeviceName": "/dev/sda1", "Ebs": {"DeleteOnTermination": False}}]
    world.administrator.modify_instance_attribute(InstanceId=machine, BlockDeviceMappings=mapping)
    own = world.controls.attach_volume(machine, 100)
    provider.attribute(place(), silent)
    with pytest.raises(PermanentError, match=rf"{own} \(100 GiB\)"):
        provider.delete(LEASE_ID, place(), leased.resources, silent)
    left = provider.look(LEASE_ID, place()).left
    assert [(r.id, r.type) for r in left] == [(own, "100 GiB gp3")]
    assert root not in {r.id for r in world.controls.leftovers()}


def test_C19_a_volume_attached_again_is_not_deleted(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    other = instances(world.lease(provider, world.order(provider, G5, lease_id="gpu-00000002")).resources)[0]
    marks = world.controls.instances(LEASE_ID)[0]["tags"]
    volume = world.controls.attach_volume(other, 50, marks)
    known = (*leased.resources, replace(leased.resources[0], kind=Kind.VOLUME, id=volume))
    with pytest.raises(PermanentError, match=f"{volume} is in use by {other}"):
        provider.delete(LEASE_ID, place(), known, silent)
    assert [r.id for r in world.controls.leftovers(LEASE_ID)] == [volume]


def test_C20_addresses_and_interfaces_left(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    machine = instances(leased.resources)[0]
    marks = world.controls.instances(LEASE_ID)[0]["tags"]
    ours = {world.controls.associate_address(machine, marks), world.controls.attach_interface(machine, marks)}
    foreign = world.controls.attach_interface(machine)
    recorded = provider.look(LEASE_ID, place()).resources
    assert ours <= {r.id for r in recorded}
    provider.delete(LEASE_ID, place(), recorded, silent)
    assert [r.id for r in world.controls.leftovers()] == [foreign]
    assert provider.look(LEASE_ID, place()).clean


def test_C20_addresses_without_our_mark_are_never_released(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    address = world.controls.associate_address(instances(leased.resources)[0])
    provider.attribute(place(), silent)
    with pytest.raises(PermanentError, match=address):
        provider.delete(LEASE_ID, place(), leased.resources, silent)
    assert [r.id for r in world.controls.leftovers()] == [address]
    assert [r.id for r in provider.look(LEASE_ID, place()).left] == [address]


def test_C21_machine_belongs_to_an_auto_scaling_group(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    world.controls.join_auto_scaling_group(instances(leased.resources)[0], "trainers")
    with pytest.raises(PermanentError, match="auto scaling group trainers"):
        provider.stop(LEASE_ID, place(), silent)
    with pytest.raises(PermanentError, match="auto scaling group trainers"):
        provider.delete(LEASE_ID, place(), leased.resources, silent)
    world.controls.advance(600)
    assert [i["state"] for i in world.controls.instances()] == ["running"]
    assert world.controls.calls("StopInstances") == world.controls.calls("TerminateInstances") == 0
