"""The cluster's page from another process, for the simulated GPUs, the demo and tests."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from lessor.sandbox.pageclient import PageClient


class ClusterClient(PageClient):
    """Speaks to `/_sim/` of a running cluster's page; raises `ValueError` with its reason when something is refused."""

    whose = "the simulated cluster"

    def state(self) -> dict[str, Any]:
        """Nodes, namespaces, pods, disks, troubles and the latest requests."""
        return dict(self._send("/_sim/state"))

    def trouble(self, name: str, *, on: bool = True) -> dict[str, Any]:
        """Switch a trouble on or off."""
        return dict(self._send(f"/_sim/troubles/{quote(name)}", {"on": on}))

    def namespace(self, name: str, **changes: Any) -> dict[str, Any]:
        """`hold` keeps it from going; `run` makes a workload with so many GPUs in it."""
        return dict(self._send(f"/_sim/namespaces/{quote(name)}", changes))

    def set(self, **settings: Any) -> dict[str, Any]:
        """Change `Settings`, such as `start_seconds`."""
        return dict(self._send("/_sim/settings", settings))
