"""What only EC2 shows the guard: regions, spot machines, copied tags, and GPU machines that nobody asked for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lessor.domain.guarding import Dated
from lessor.domain.money import Money
from lessor.domain.request import Market, Need
from lessor.providers.aws import Ec2Place, Ec2Provider
from lessor.providers.aws.ends import GPU_FAMILY
from lessor.providers.aws.tags import pairs
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import CATALOGUE, World, administrator, place, shared_session

ANYWHERE = place(region="")
GUARD_POLICY = Path(__file__).parents[2] / "deploy" / "aws" / "guard-policy.json"


@pytest.fixture
def wide(world: World) -> World:
    """The same account with a place of two regions."""
    world.places["research"] = Ec2Place("research", ("eu-central-1", "us-east-1"))
    return world


def started(world: World, kind: str, region: str = "us-east-1", **changes: Any) -> str:
    """A machine that somebody else launches."""
    client = administrator(region)
    image = client.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    settings: dict[str, Any] = {"ImageId": image, "InstanceType": kind, "MinCount": 1, "MaxCount": 1}
    return str(client.run_instances(**(settings | changes))["Instances"][0]["InstanceId"])


def tagged(tags: dict[str, str]) -> list[dict[str, Any]]:
    return [{"ResourceType": "instance", "Tags": pairs(tags)}]


def shown(world: World) -> list[Dated]:
    return list(world.provider().dated(ANYWHERE).dated)


def test_an_end_that_somebody_spoilt_is_unknown(world: World, provider: Ec2Provider) -> None:
    made = world.lease(provider, world.order(provider, Need("A10G", 1)))
    machine = next(one.id for one in made.resources if one.kind == "instance")
    for spoilt in ("soon", "2026-11-28", "2026-11-28T12:00:00", " "):
        world.administrator.create_tags(Resources=[machine], Tags=[{"Key": "lessor:ends", "Value": spoilt}])
        (one,) = shown(world)
        assert (one.ends, one.written) == (None, spoilt)
    world.administrator.delete_tags(Resources=[machine], Tags=[{"Key": "lessor:ends"}])
    (one,) = shown(world)
    assert (one.ends, one.written, one.what) == (None, "", "g5.xlarge in us-east-1")


def test_of_several_machines_the_latest_end_counts_and_an_unread_one_makes_it_unknown(
    world: World, provider: Ec2Provider
) -> None:
    world.lease(provider, world.order(provider, Need("A10G", 2, instance_type="g5.xlarge")))
    first, second = (one["id"] for one in world.controls.instances(LEASE_ID))
    later = (world.now() + timedelta(days=3)).replace(microsecond=0)
    world.administrator.create_tags(Resources=[first], Tags=[{"Key": "lessor:ends", "Value": later.isoformat()}])
    (one,) = shown(world)
    assert (one.ends, one.what, len(one.refs)) == (later, "2 x g5.xlarge in us-east-1", 2)
    world.administrator.delete_tags(Resources=[second], Tags=[{"Key": "lessor:ends"}])
    assert [one.ends for one in shown(world)] == [None]


def test_a_spot_machine_says_that_it_cannot_be_stopped(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, Need("A10G", 1), market=Market.SPOT))
    (one,) = shown(world)
    assert one.awake
    assert one.fixed == f"{one.refs[0]} is a spot machine, which cannot be stopped, only ended"


def test_a_machine_with_copied_tags_is_not_ours_to_stop(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, Need("A10G", 1)))
    tags = world.controls.instances(LEASE_ID)[0]["tags"] | {"lessor:lease": "gpu-00000009"}
    theirs = started(world, "g5.xlarge", TagSpecifications=tagged(tags))
    found = {one.lease: one.fixed for one in shown(world)}
    assert found == {
        LEASE_ID: "",
        "gpu-00000009": f"{theirs} carries the tag of gpu-00000009, but nothing shows that lessor launched it",
    }


def test_a_machine_that_somebody_launched_like_a_leases_holds_up_no_stop_of_it(
    world: World, provider: Ec2Provider
) -> None:
    """The console's "launch more like this" copies every tag."""
    world.lease(provider, world.order(provider, Need("A10G", 1)))
    mine = world.controls.instances(LEASE_ID)[0]
    copied = mine["tags"] | {"lessor:ends": "2026-13-01"}
    theirs = started(world, "g5.xlarge", TagSpecifications=tagged(copied))
    (one,) = shown(world)
    assert (one.fixed, one.written) == ("", mine["tags"]["lessor:ends"])
    assert theirs not in one.refs
    assert [stray.ref for stray in world.provider().unleased(ANYWHERE).found] == [theirs]


def test_a_region_that_cannot_be_read_hides_no_other(wide: World, provider: Ec2Provider) -> None:
    wide.lease(provider, wide.order(provider, Need("A10G", 1)))
    wide.controls.fail("DescribeInstances", "InternalError", status=500, times=1)
    roll = wide.provider().dated(ANYWHERE)
    assert len(roll.problems) == 1
    assert "eu-central-1" in roll.problems[0]
    assert [(one.lease, one.place.region) for one in roll.dated] == [(LEASE_ID, "us-east-1")]


def test_a_lease_is_stopped_in_its_region_while_another_cannot_be_read(wide: World, provider: Ec2Provider) -> None:
    wide.lease(provider, wide.order(provider, Need("A10G", 1)))
    (one,) = shown(wide)
    before = len(wide.controls.journal())
    wide.provider().stop(LEASE_ID, one.place, silent)
    assert {call.region for call in wide.controls.journal()[before:]} == {"us-east-1"}
    assert [machine["state"] for machine in wide.controls.instances(LEASE_ID)] == ["stopped"]


# -- what nobody asked for --------------------------------------------------------------------------------------------


def test_gpu_machines_without_a_lease_are_told_with_whose_they_are_and_what_they_cost(
    wide: World, provider: Ec2Provider
) -> None:
    world = wide
    world.lease(provider, world.order(provider, Need("A10G", 1)))
    started(world, "t3.large")
    theirs = started(world, "g5.12xlarge", TagSpecifications=tagged({"Owner": "alex@example.test", "Name": "tuning"}))
    named = started(world, "g4dn.xlarge", TagSpecifications=tagged({"Name": "render"}))
    bare = started(world, "g5.xlarge", region="eu-central-1")
    begun = world.now()
    found = {one.ref: one for one in world.provider().unleased(ANYWHERE).found}
    assert set(found) == {theirs, named, bare}
    first = found[theirs]
    assert first.what.startswith("g5.12xlarge (4 x A10G) in us-east-1")
    assert first.who == "alex@example.test"
    price = world.provider().quote(Need(instance_type="g5.12xlarge"), place(), Market.ON_DEMAND, world.now())
    assert first.hourly == price.offer.hourly
    assert isinstance(first.hourly, Money)
    assert first.since is not None
    assert abs(first.since - begun) < timedelta(minutes=2)
    assert found[named].who == "named render"
    assert (found[bare].who, found[bare].place.region) == ("", "eu-central-1")


@pytest.mark.parametrize(
    ("kind", "gpu"),
    [
        *((kind, True) for kind in ("g4ad.xlarge", "p5.48xlarge", "g6e.2xlarge", "gr6.4xlarge", "p6-b200.48xlarge")),
        *((kind, False) for kind in ("c7g.large", "m5.large", "r6g.large")),
    ],
)
def test_types_with_gpus_are_known_by_their_family_also_those_that_lessor_leases_none_of(kind: str, gpu: bool) -> None:
    assert bool(GPU_FAMILY.match(kind)) is gpu


def test_what_does_not_run_costs_no_gpu(world: World) -> None:
    theirs = started(world, "g5.xlarge")
    world.controls.advance(120)
    world.administrator.stop_instances(InstanceIds=[theirs])
    world.controls.advance(300)
    assert world.provider().unleased(ANYWHERE).found == ()


def test_a_machine_is_told_of_where_its_price_and_its_gpus_are_not_known(world: World) -> None:
    theirs = started(world, "g5.xlarge")
    world.controls.make_pricing_unreachable()
    world.controls.deny("ec2:DescribeInstanceTypes")
    provider = Ec2Provider(world.places, CATALOGUE, clock=world.now, sleep=world.sleep)
    (one,) = provider.unleased(place()).found
    assert one.ref == theirs
    assert one.what.startswith("g5.xlarge in us-east-1")


def test_an_account_that_does_not_answer_is_not_one_without_strays(world: World) -> None:
    started(world, "g5.xlarge")
    world.controls.throttle("DescribeInstances", 20)
    found = world.provider().unleased(place())
    assert found.found == ()
    assert len(found.problems) == 1


@pytest.mark.parametrize("action", ["ec2:StopInstances", "ec2:TerminateInstances"])
def test_reading_needs_no_right_to_touch_anything(world: World, provider: Ec2Provider, action: str) -> None:
    world.lease(provider, world.order(provider, Need("A10G", 1)))
    world.controls.deny(action)
    assert world.provider().dated(ANYWHERE).problems == ()
    assert world.provider().unleased(ANYWHERE).problems == ()


def test_the_guards_own_policy_is_all_that_it_needs(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, Need("A10G", 1)))
    started(world, "g5.xlarge")
    world.controls.enforce_iam(policies=[str(GUARD_POLICY)])
    guards = Ec2Provider(world.places, CATALOGUE, clock=world.now, sleep=world.sleep)
    assert guards.dated(place()).problems == ()
    found = guards.unleased(place())
    assert (found.problems, len(found.found)) == ((), 1)
    assert found.found[0].hourly is not None
    assert found.found[0].what.startswith("g5.xlarge (1 x A10G)")
    guards.stop(LEASE_ID, place(), silent)
    assert [one.awake for one in guards.dated(place()).dated] == [False]
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        shared_session().client("ec2", "us-east-1").terminate_instances(InstanceIds=[found.found[0].ref])
