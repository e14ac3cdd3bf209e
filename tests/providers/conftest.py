from __future__ import annotations

from tests.kube.fixtures import busy_ground, kube_holder, pytest_runtest_teardown, real_ground, running_kube
from tests.providers.aws_fixtures import provider, world
from tests.providers.kube_ends import leased
from tests.providers.pool_fixtures import pool

__all__ = [
    "busy_ground",
    "kube_holder",
    "leased",
    "pool",
    "provider",
    "pytest_runtest_teardown",
    "real_ground",
    "running_kube",
    "world",
]
