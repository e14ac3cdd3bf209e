"""What the sandbox can be told to get wrong, while it runs.

Faults on calls (the app calls Slack), matched by method name or `*`; `down` also by `upload`, where files are sent:
  rate_limit     answer 429 with `retry_after` seconds
  error          answer `{"ok": false, "error": error}`
  slow           answer after `seconds`
  lose_answer    do it, then break the connection before the answer
  lose_request   break the connection and do nothing
  down           answer HTTP 503
  expire_trigger refuse the trigger id although it is fresh (`shape`: code | arguments)
Faults on deliveries (Slack calls the app), matched by kind (slash_commands, interactive, events_api) or `*`:
  ignore_ack     act as if the acknowledgement never came
  lose_delivery  do not send this attempt at all (the app then only ever sees a retry)
  duplicate      send `copies` more; `ids` same (same envelope) or new (new envelope and event ids, same
                 content); `seconds` later
Each holds for `times` uses (None: until removed).
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any, Final

from lessor.sandbox.faultplan import FaultPlan

CALL_FAULTS: Final = frozenset({"rate_limit", "error", "slow", "lose_answer", "lose_request", "down", "expire_trigger"})
DELIVERY_FAULTS: Final = frozenset({"ignore_ack", "lose_delivery", "duplicate"})


@dataclass
class Fault:
    """One thing to get wrong; see the module for the kinds and the fields each reads."""

    kind: str
    on: str = "*"
    times: int | None = 1
    retry_after: int = 1
    error: str = "internal_error"
    seconds: float = 0.0
    shape: str = "code"
    copies: int = 1
    ids: str = "same"
    id: int = 0

    def __post_init__(self) -> None:
        if self.kind not in CALL_FAULTS | DELIVERY_FAULTS:
            raise ValueError(f"unknown fault `{self.kind}`; known: {', '.join(sorted(CALL_FAULTS | DELIVERY_FAULTS))}")
        if self.shape not in ("code", "arguments") or self.ids not in ("same", "new"):
            raise ValueError("`shape` is code or arguments, `ids` is same or new")
        if self.times is not None and self.times < 1:
            raise ValueError("`times` is at least 1, or null for as long as the fault is set")

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


class Faults:
    """The faults that are set, in the order in which they were set."""

    def __init__(self) -> None:
        self._plan: FaultPlan[Fault] = FaultPlan()
        self._ids = itertools.count(1)

    def add(self, kind: str, on: str = "*", **fields: Any) -> Fault:
        """Set a fault; raises ValueError for an unknown kind or field."""
        try:
            fault = Fault(kind, on, **fields)
        except TypeError as wrong:
            raise ValueError(f"fault `{kind}`: {wrong}") from wrong
        fault.id = next(self._ids)
        return self._plan.add(fault)

    def remove(self, fault_id: int) -> None:
        self._plan.clear(lambda fault: fault.id == fault_id)

    def clear(self) -> None:
        self._plan.clear()

    def current(self) -> list[Fault]:
        return list(self._plan)

    def use(self, kind: str, on: str) -> Fault | None:
        """The first fault of this kind that applies, counted as used once; None when there is none."""
        return self._plan.take(lambda fault: fault.kind == kind and fault.on in ("*", on))
