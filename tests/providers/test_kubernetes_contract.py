"""The provider contract, for Kubernetes: on the simulated cluster and on a real API server, with the shipped rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lessor.domain.request import LeaseKind, Need
from tests.providers.contract import ProviderContract, Subject
from tests.providers.kube_world import PLACE, KubeWorld, RealGround, SimulatedGround, simulated_ground

KINDS = [LeaseKind.NAMESPACE, LeaseKind.WORKSPACE]


def subject_of(world: KubeWorld) -> Subject:
    provider, ground = world.provider(), world.ground
    return Subject(
        provider=provider,
        watch=provider,
        place=PLACE,
        need=Need("A100-80GB", 1),
        order=world.order,
        restart=world.provider,
        existing=world.existing,
        copy_tags=world.copy_labels,
        break_reads=ground.break_reads,
        mend=ground.mend,
        throttle=ground.throttle,
        lose_answer=ground.lose_answer,
        refuse_all=ground.refuse_all,
        now=lambda: ground.now().replace(microsecond=0),
    )


class TestSimulated(ProviderContract):
    @pytest.fixture
    def ground(self, tmp_path: Path) -> Iterator[SimulatedGround]:
        with simulated_ground(tmp_path) as ground:
            yield ground

    @pytest.fixture(params=KINDS, ids=[kind.value for kind in KINDS])
    def subject(self, ground: SimulatedGround, request: pytest.FixtureRequest) -> Subject:
        return subject_of(KubeWorld(ground, request.param))


@pytest.mark.kube
@pytest.mark.timeout(600)
class TestReal(ProviderContract):
    @pytest.fixture(params=KINDS, ids=[kind.value for kind in KINDS])
    def subject(self, real_ground: RealGround, request: pytest.FixtureRequest) -> Subject:
        return subject_of(KubeWorld(real_ground, request.param))
