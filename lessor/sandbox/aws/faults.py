"""Failures between the caller and AWS: lost requests, lost answers, slow answers, errors in a row."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

FaultKind = Literal["error", "lose-request", "lose-answer", "error-after-effect", "slow"]


@dataclass
class Fault:
    """A planned failure for calls whose action matches `action` (shell pattern over `RunInstances`, `Describe*`).

    `times` is how many more calls it hits, None means until it is cleared. `seconds` delays the answer (`slow`).
    """

    kind: FaultKind
    action: str = "*"
    times: int | None = 1
    code: str = "InternalError"
    message: str = "An internal error has occurred"
    status: int = 500
    seconds: float = 0.0
    region: str = "*"

    def matches(self, action: str, region: str) -> bool:
        return fnmatchcase(action, self.action) and fnmatchcase(region, self.region)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
