"""The GPUs' page from another process, for the demo and for tests."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class GpusClient:
    """Speaks to `/_sim/` of a running simulation; raises `ValueError` with its reason when something is refused."""

    def __init__(self, base_url: str, timeout: float = 10.0) -> None:
        self._base, self._timeout = base_url.rstrip("/"), timeout

    def state(self) -> dict[str, Any]:
        """Machines with what they do, how the Prometheus answers, and the latest queries."""
        return self._send("/_sim/state")

    def change(self, machine_id: str, **changes: Any) -> dict[str, Any]:
        """Set what a machine does: fields of `Doing`, or `gap` in seconds, or `restart`; what it does now."""
        return self._send(f"/_sim/machines/{quote(machine_id)}", changes)

    def change_all(self, **changes: Any) -> dict[str, Any]:
        """The same of every machine that runs."""
        return self._send("/_sim/machines", changes)

    def switch(self, **switches: str) -> dict[str, Any]:
        """Set `answers` or `newcomers`."""
        return self._send("/_sim/switches", switches)

    def _send(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"content-type": "application/json"})  # noqa: S310
        try:
            with urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                answer: dict[str, Any] = json.load(response)
        except HTTPError as error:
            with error:
                reason = json.loads(error.read() or b"{}").get("error", error.reason)
            raise ValueError(f"the simulated GPUs refused: {reason}") from error
        return answer
