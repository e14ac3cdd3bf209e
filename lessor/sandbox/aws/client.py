"""The switches from another process, for the demo and for browser tests."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from lessor.sandbox.pageclient import PageClient


class SimulatorClient(PageClient):
    """Speaks to `/_sim/` of a running simulated AWS; raises `ValueError` with its reason when a switch is refused."""

    whose = "the simulated AWS"

    def switch(self, name: str, /, **arguments: Any) -> Any:
        """Call a switch of `Controls` by name and return what it returns."""
        return self._send(f"/_sim/switches/{quote(name)}", arguments)["result"]

    def state(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._send("/_sim/state")
        return answer

    def leftovers(self, lease: str | None = None) -> list[dict[str, Any]]:
        query = f"?lease={quote(lease)}" if lease else ""
        answer: list[dict[str, Any]] = self._send(f"/_sim/leftovers{query}")
        return answer

    def reset(self) -> None:
        self._send("/_sim/reset", {})
