"""The cluster's page from another process, for the simulated GPUs, the demo and tests."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class ClusterClient:
    """Speaks to `/_sim/` of a running cluster's page; raises `ValueError` with its reason when something is refused."""

    def __init__(self, base_url: str, timeout: float = 10.0) -> None:
        self._base, self._timeout = base_url.rstrip("/"), timeout

    def state(self) -> dict[str, Any]:
        """Nodes, namespaces, pods, disks, troubles and the latest requests."""
        return self._send("/_sim/state")

    def trouble(self, name: str, *, on: bool = True) -> dict[str, Any]:
        """Switch a trouble on or off."""
        return self._send(f"/_sim/troubles/{quote(name)}", {"on": on})

    def namespace(self, name: str, **changes: Any) -> dict[str, Any]:
        """`hold` keeps it from going; `run` makes a workload with so many GPUs in it."""
        return self._send(f"/_sim/namespaces/{quote(name)}", changes)

    def set(self, **settings: Any) -> dict[str, Any]:
        """Change `Settings`, such as `start_seconds`."""
        return self._send("/_sim/settings", settings)

    def _send(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"content-type": "application/json"})  # noqa: S310
        try:
            with urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                answer: dict[str, Any] = json.load(response)
        except HTTPError as error:
            with error:
                reason = json.loads(error.read() or b"{}").get("error", error.reason)
            raise ValueError(f"the simulated cluster refused: {reason}") from error
        return answer
