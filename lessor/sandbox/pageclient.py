"""What the clients of the sandbox's pages share: one request, and a refusal with its reason."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class PageClient:
    """Speaks to `/_sim/` of a running page; raises `ValueError` with its reason when something is refused."""

    whose = "the page"

    def __init__(self, base_url: str, timeout: float = 10.0) -> None:
        self._base, self._timeout = base_url.rstrip("/"), timeout

    def _send(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """POST with a body, else GET; the answer's JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"content-type": "application/json"})  # noqa: S310
        try:
            with urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                return json.load(response)
        except HTTPError as error:
            with error:
                reason = json.loads(error.read() or b"{}").get("error", error.reason)
            raise ValueError(f"{self.whose} refused: {reason}") from error
