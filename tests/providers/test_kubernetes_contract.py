"""The provider contract, for Kubernetes, on the simulated cluster with the shipped rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lessor.domain.request import LeaseKind
from tests.providers.contract import ProviderContract, Subject
from tests.providers.dated_contract import DatedContract
from tests.providers.kube_world import KubeWorld, SimulatedGround, simulated_ground, subject_of

KINDS = [LeaseKind.NAMESPACE, LeaseKind.WORKSPACE]


class OnTheSimulator:
    """A cluster of its own for each test, with leases of each kind."""

    @pytest.fixture
    def ground(self, tmp_path: Path) -> Iterator[SimulatedGround]:
        with simulated_ground(tmp_path) as ground:
            yield ground

    @pytest.fixture(params=KINDS, ids=[kind.value for kind in KINDS])
    def subject(self, ground: SimulatedGround, request: pytest.FixtureRequest) -> Subject:
        return subject_of(KubeWorld(ground, request.param))


class TestSimulated(OnTheSimulator, ProviderContract):
    """The contract of all providers."""


class TestSimulatedDated(OnTheSimulator, DatedContract):
    """What a cluster shows the guard."""
