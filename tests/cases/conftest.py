"""Fixtures that cases need: the simulated AWS and a provider in it."""

from __future__ import annotations

from tests.providers.aws_fixtures import provider, world

__all__ = ["provider", "world"]
