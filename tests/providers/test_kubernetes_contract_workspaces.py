"""The provider contract, for workspaces on a real API server, with the shipped rights and nothing more."""

from __future__ import annotations

import pytest

from lessor.domain.request import LeaseKind
from tests.kube.ground import HERE, RealGround
from tests.providers.contract import ProviderContract, Subject
from tests.providers.kube_world import KubeWorld, subject_of


@pytest.mark.kube
@pytest.mark.timeout(600)
class TestRealWorkspaces(ProviderContract):
    @pytest.fixture
    def subject(self, busy_ground: RealGround) -> Subject:
        world = KubeWorld(busy_ground, LeaseKind.WORKSPACE, HERE)
        return subject_of(world, at_once=20, **busy_ground.new_leases())
