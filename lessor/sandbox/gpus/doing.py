"""What a machine does, what is measured of it, and how the Prometheus answers: all that the page and tests can set."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any


class Use(StrEnum):
    """What happens on a machine, as its GPUs, its processor and its people show it."""

    BUSY = "busy"
    IDLE = "idle"
    HELD = "held"
    STUCK = "stuck"
    PREPARING = "preparing"
    TYPING = "typing"


class Exporter(StrEnum):
    """Whether what measures the GPUs runs."""

    UP = "up"
    GONE = "gone"


class Answers(StrEnum):
    """How the Prometheus answers: as it should, not at all, too late, or as one that has lost everything."""

    WELL = "well"
    DOWN = "down"
    SLOW = "slow"
    EMPTY = "empty"


@dataclass(frozen=True)
class Doing:
    """`working` is how many GPUs take part, all if None; the others are idle. With `mig` each is cut into slices.

    Until `silent_until` (seconds since the epoch) nothing of the machine is measured. `restarted` is when its exporter
    began anew. Its clock goes `ahead` by so many seconds; without `labelled` no series says whose it is.
    """

    use: Use = Use.BUSY
    working: int | None = None
    mig: bool = False
    exporter: Exporter = Exporter.UP
    silent_until: float = 0.0
    restarted: float = 0.0
    ahead: float = 0.0
    labelled: bool = True

    @classmethod
    def from_json(cls, stored: Any) -> Doing:
        """Raises ValueError for what is none."""
        return cls().changed(stored if isinstance(stored, dict) else {"?": stored})

    def changed(self, changes: dict[str, Any]) -> Doing:
        """With these fields set. Raises ValueError that says what is wrong and what there is."""
        known = {one.name for one in fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"there is no {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        return replace(self, **{name: _checked(name, value) for name, value in changes.items()})


def _checked(name: str, value: Any) -> Any:
    """The value as the field has it."""
    if name in ("use", "exporter"):
        kind = Use if name == "use" else Exporter
        if value not in list(kind):
            raise ValueError(f"{name} is one of: {', '.join(kind)}")
        return kind(value)
    if name in ("mig", "labelled"):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is true or false")
        return value
    if name == "working" and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"{name} is a number, and not negative")
    return int(value) if name == "working" else float(value)
