from __future__ import annotations

from tests.kube.fixtures import busy_ground, real_ground, running_kube
from tests.providers.aws_fixtures import provider, world
from tests.providers.kube_ends import leased
from tests.providers.pool_fixtures import pool

__all__ = ["busy_ground", "leased", "pool", "provider", "real_ground", "running_kube", "world"]
