"""Fixtures that cases need: the simulated AWS and a provider in it, a lease in the simulated cluster,
and a world of leases on a Temporal server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cases.cluster_lab import lab
from tests.providers.aws_fixtures import provider, world
from tests.temporal import time_skipping
from tests.world import World, busy_world

__all__ = ["lab", "provider", "world"]


@pytest.fixture
async def leases() -> AsyncIterator[World]:
    """Leases with workers, on a server whose clock can be moved."""
    async with time_skipping() as env, busy_world(env) as made:
        yield made
