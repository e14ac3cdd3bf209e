from __future__ import annotations

from tests.kube.fixtures import real_ground, running_kube
from tests.providers.aws_fixtures import provider, world

__all__ = ["provider", "real_ground", "running_kube", "world"]
