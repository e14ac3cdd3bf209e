"""What only carries a lease's tag never gets on its record, where it would count as proof that it is ours (law 3)."""

from __future__ import annotations

from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import LeaseRef
from lessor.domain.lease import State
from lessor.domain.request import Need
from lessor.ledger import SqlLedger
from lessor.providers.aws import Ec2Provider
from lessor.providers.aws.tags import pairs
from tests.builders import LEASE_ID, a_story
from tests.providers.aws_world import World, place


def test_a_copied_tag_is_kept_however_often_the_lease_is_taken_down(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    order = world.order(provider, Need("A10G", 1))
    made = world.lease(provider, order)
    copied = {"ResourceType": "volume", "Tags": pairs(world.controls.instances(LEASE_ID)[0]["tags"])}
    volume = world.administrator.create_volume(AvailabilityZone="us-east-1a", Size=10, TagSpecifications=[copied])
    foreign = volume["VolumeId"]
    assert provider.look(LEASE_ID, place(), made.resources).foreign == (f"volume:{foreign}",)
    assert provider.look(LEASE_ID, place()).foreign == (f"volume:{foreign}",)
    lease, events = a_story(State.DELETING, request=order.request, quote=order.quote)
    sqlite_ledger.record(lease, events[-1:])
    sqlite_ledger.seen(lease.id, made.resources)
    work = ProvisioningActivities({"aws": provider}, sqlite_ledger, world.now).take_down
    for _ in range(3):
        sighting = ActivityEnvironment().run(work, LeaseRef(lease.id, lease.revision))
        assert ([one.id for one in sighting.left], sighting.foreign) == ([foreign], (f"volume:{foreign}",))
        assert f"{foreign} (10 GiB) carries the tag of {LEASE_ID}" in sighting.problem
    assert foreign not in {one.id for one in sqlite_ledger.resources(lease.id)}
