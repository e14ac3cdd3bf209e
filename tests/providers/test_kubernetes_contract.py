"""The provider contract, for Kubernetes, on the simulated cluster with the shipped rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lessor.domain.request import LeaseKind
from tests.providers.contract import ProviderContract, Subject
from tests.providers.kube_world import KubeWorld, SimulatedGround, simulated_ground, subject_of

KINDS = [LeaseKind.NAMESPACE, LeaseKind.WORKSPACE]


class TestSimulated(ProviderContract):
    @pytest.fixture
    def ground(self, tmp_path: Path) -> Iterator[SimulatedGround]:
        with simulated_ground(tmp_path) as ground:
            yield ground

    @pytest.fixture(params=KINDS, ids=[kind.value for kind in KINDS])
    def subject(self, ground: SimulatedGround, request: pytest.FixtureRequest) -> Subject:
        return subject_of(KubeWorld(ground, request.param))
