"""Fixtures around the simulated AWS, for every directory that tests the EC2 provider."""

from __future__ import annotations

import pytest

from lessor.providers.aws import Ec2Place, Ec2Provider
from lessor.sandbox.aws.identity import LESSOR_ACCESS_KEY
from lessor.sandbox.aws.server import RunningSimulator
from tests.providers.aws_world import World


@pytest.fixture
def world(running_aws: RunningSimulator, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty AWS whose IAM policy is enforced; time passes only where the provider waits."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", running_aws.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", LESSOR_ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    running_aws.reset()
    running_aws.controls.freeze_clock()
    places = {"research": Ec2Place("research", ("us-east-1",))}
    return World(running_aws, places)


@pytest.fixture
def provider(world: World) -> Ec2Provider:
    return world.provider()
