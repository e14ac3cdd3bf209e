"""Several accounts and regions, each with what is in it and nothing else."""

from __future__ import annotations

import boto3
import pytest

from lessor.domain.request import Market, Need
from lessor.ports import PermanentError
from lessor.providers.aws import Ec2Place
from lessor.sandbox.aws.faults import Fault
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import World, place

G5 = Need("A10G", 1)
OTHER_ACCOUNT = "210987654321"


def test_another_account_by_role_and_external_id(world: World) -> None:
    role = world.controls.add_account(OTHER_ACCOUNT, "shared-secret-7")
    world.places["partner"] = Ec2Place("partner", ("us-east-1",), OTHER_ACCOUNT, role, "shared-secret-7")
    provider, there = world.provider(session_factory=boto3.Session), place(name="partner")
    leased = world.lease(provider, world.order(provider, G5, place=there))
    assert [i["account"] for i in world.controls.instances()] == [OTHER_ACCOUNT]
    assert provider.look(LEASE_ID, place()).resources == ()
    provider.delete(LEASE_ID, there, leased.resources, silent)
    assert provider.look(LEASE_ID, there).clean


@pytest.mark.parametrize("external_id", ["", "wrong"])
def test_a_wrong_external_id_is_refused(world: World, external_id: str) -> None:
    role = world.controls.add_account(OTHER_ACCOUNT, "shared-secret-7")
    world.places["partner"] = Ec2Place("partner", ("us-east-1",), OTHER_ACCOUNT, role, external_id)
    provider = world.provider(session_factory=boto3.Session)
    with pytest.raises(PermanentError, match="not allowed") as caught:
        provider.quote(G5, place(name="partner"), Market.ON_DEMAND, world.now())
    assert caught.value.code == "AccessDenied"
    sighting = provider.look(LEASE_ID, place(name="partner"))
    assert (sighting.complete, sighting.clean) == (False, False)
    assert external_id not in str(sighting.problem) or not external_id
    assert "shared-secret-7" not in repr(world.places["partner"])


def test_an_external_id_that_this_process_was_not_told_is_asked_for_by_name(world: World) -> None:
    role = world.controls.add_account(OTHER_ACCOUNT, "shared-secret-7")
    world.places["partner"] = Ec2Place(
        "partner", ("us-east-1",), OTHER_ACCOUNT, role, external_id_env="PARTNER_EXTERNAL_ID"
    )
    provider = world.provider(session_factory=boto3.Session)
    with pytest.raises(PermanentError) as caught:
        provider.quote(G5, place(name="partner"), Market.ON_DEMAND, world.now())
    assert str(caught.value) == (
        "PARTNER_EXTERNAL_ID is not set, which holds the external id of partner; nothing was done, set it where this "
        "program runs"
    )
    assert provider.look(LEASE_ID, place(name="partner")).complete is False


def test_several_regions(world: World) -> None:
    world.places["research"] = Ec2Place("research", ("us-east-1", "us-west-2"))
    provider = world.provider()
    west = world.lease(provider, world.order(provider, G5, place=place(region="us-west-2")))
    assert [i["region"] for i in world.controls.instances()] == ["us-west-2"]
    assert west.access.endswith("--region us-west-2")
    anywhere = place(region="")
    assert sorted(r.id for r in provider.look(LEASE_ID, anywhere).left) == sorted(r.id for r in west.resources)
    assert provider.look(LEASE_ID, place()).resources == ()
    by_zone = world.order(provider, G5, place=place(region="", zone="us-west-2b"), lease_id="gpu-00000002")
    assert world.lease(provider, by_zone).resources[0].zone == "us-west-2b"
    provider.delete(LEASE_ID, anywhere, west.resources, silent)
    assert provider.look(LEASE_ID, anywhere).clean
    with pytest.raises(PermanentError, match="eu-west-1 is not a region of research"):
        provider.quote(G5, place(region="eu-west-1"), Market.ON_DEMAND, world.now())


def test_one_unreadable_region_makes_the_look_incomplete(world: World) -> None:
    world.places["research"] = Ec2Place("research", ("us-east-1", "us-west-2"))
    provider = world.provider()
    leased = world.lease(provider, world.order(provider, G5, place=place(region="us-west-2")))
    world.simulator.cloud.state.faults.add(Fault("error", "DescribeVolumes", None, "InternalError", region="us-east-1"))
    sighting = provider.look(LEASE_ID, place(region=""))
    assert not sighting.complete
    assert {r.id for r in sighting.left} == {r.id for r in leased.resources}
