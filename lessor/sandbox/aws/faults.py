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


class FaultPlan:
    """The planned failures in the order in which they were asked for."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def clear(self, action: str | None = None) -> None:
        self._faults = [] if action is None else [fault for fault in self._faults if fault.action != action]

    def take(self, action: str, region: str, *, kinds: tuple[FaultKind, ...]) -> Fault | None:
        """The first matching fault of these kinds, used up by one."""
        for fault in self._faults:
            if fault.kind in kinds and fault.matches(action, region):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                return fault
        return None

    def to_json(self) -> list[dict[str, Any]]:
        return [fault.to_json() for fault in self._faults]
