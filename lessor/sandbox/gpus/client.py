"""The GPUs' page from another process, for the demo and for tests."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from lessor.sandbox.pageclient import PageClient


class GpusClient(PageClient):
    """Speaks to `/_sim/` of a running simulation; raises `ValueError` with its reason when something is refused."""

    whose = "the simulated GPUs"

    def state(self) -> dict[str, Any]:
        """Machines with what they do, how the Prometheus answers, and the latest queries."""
        return dict(self._send("/_sim/state"))

    def change(self, machine_id: str, **changes: Any) -> dict[str, Any]:
        """Set what a machine does: fields of `Doing`, or `gap` in seconds, or `restart`; what it does now."""
        return dict(self._send(f"/_sim/machines/{quote(machine_id)}", changes))

    def change_all(self, **changes: Any) -> dict[str, Any]:
        """The same of every machine that runs."""
        return dict(self._send("/_sim/machines", changes))

    def switch(self, **switches: str) -> dict[str, Any]:
        """Set `answers` or `newcomers`."""
        return dict(self._send("/_sim/switches", switches))
