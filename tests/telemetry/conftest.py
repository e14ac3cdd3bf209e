"""The fixtures of tests that ask a real Prometheus."""

from __future__ import annotations

from tests.telemetry.fixtures import installed, prometheus_server, store

__all__ = ["installed", "prometheus_server", "store"]
