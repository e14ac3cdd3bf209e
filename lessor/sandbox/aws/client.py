"""The switches from another process, for the demo and for browser tests."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class SimulatorClient:
    """Speaks to `/_sim/` of a running simulated AWS; raises `ValueError` with its reason when a switch is refused."""

    def __init__(self, base_url: str, timeout: float = 10.0) -> None:
        self._base, self._timeout = base_url.rstrip("/"), timeout

    def switch(self, name: str, **arguments: Any) -> Any:
        """Call a switch of `Controls` by name and return what it returns."""
        return self._send("POST", f"/_sim/switches/{quote(name)}", arguments)["result"]

    def state(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._send("GET", "/_sim/state")
        return answer

    def leftovers(self, lease: str | None = None) -> list[dict[str, Any]]:
        query = f"?lease={quote(lease)}" if lease else ""
        answer: list[dict[str, Any]] = self._send("GET", f"/_sim/leftovers{query}")
        return answer

    def reset(self) -> None:
        self._send("POST", "/_sim/reset", {})

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"content-type": "application/json"}, method=method)  # noqa: S310
        try:
            with urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                return json.load(response)
        except HTTPError as error:
            reason = json.loads(error.read() or b"{}").get("error", error.reason)
            raise ValueError(f"the simulated AWS refused: {reason}") from error
