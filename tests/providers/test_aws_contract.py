"""The provider contract, for EC2."""

from __future__ import annotations

import pytest

from lessor.domain.request import Need
from lessor.providers.aws.tags import pairs
from tests.providers.aws_world import World, place
from tests.providers.contract import ProviderContract, Subject
from tests.providers.dated_contract import DatedContract


class InEc2:
    """An account with a provider in it."""

    @pytest.fixture
    def subject(self, world: World) -> Subject:
        provider, controls = world.provider(), world.controls
        orders = world.provider()

        def copy_tags(lease: str) -> str:
            tags = pairs(controls.instances(lease)[0]["tags"])
            specification = [{"ResourceType": "volume", "Tags": tags}]
            made = world.administrator.create_volume(
                AvailabilityZone="us-east-1a", Size=10, TagSpecifications=specification
            )
            return str(made["VolumeId"])

        return Subject(
            provider=provider,
            watch=provider,
            place=place(),
            need=Need("A10G", 1),
            order=lambda lease: world.order(orders, lease_id=lease),
            restart=world.provider,
            existing=lambda lease: [r.id for r in controls.leftovers(lease) if r.kind != "snapshot"],
            copy_tags=copy_tags,
            break_reads=lambda: controls.fail("DescribeVolumes", "InternalError", status=500, times=None),
            mend=controls.clear_faults,
            throttle=lambda times: controls.throttle("*", times),
            lose_answer=lambda: controls.lose_answers("RunInstances"),
            refuse_all=controls.refuse_capacity,
            now=lambda: world.now().replace(microsecond=0),
        )


class TestEc2(InEc2, ProviderContract):
    """The contract of all providers."""


class TestEc2Dated(InEc2, DatedContract):
    """What EC2 shows the guard."""
