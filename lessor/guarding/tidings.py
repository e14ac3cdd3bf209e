"""What the guard has to say: one tiding for each occasion, whichever channels it goes through."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What is told. Values are the words in event types, and in the templates."""

    LATE = "late"
    STOPPED = "stopped"
    STOP_FAILED = "stop-failed"
    DISPUTED = "disputed"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    BRAKE = "brake"
    UNLEASED = "unleased"
    UNREAD = "unread"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class Tiding:
    """`subject` is a lease or a place, `occasion` the business key by which it is told once.

    `owner` and `team` are as they stand on the machines; empty where it concerns administrators only. `lines` are one
    for each of several things of the same kind.
    """

    kind: Kind
    subject: str
    occasion: str
    at: datetime
    place: str = ""
    owner: str = ""
    team: str = ""
    what: str = ""
    why: str = ""
    ends: datetime | None = None
    stops_at: datetime | None = None
    lines: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """By which every channel knows it."""
        return f"{self.subject}/guard-{self.occasion}"


def as_facts(tiding: Tiding) -> dict[str, Any]:
    """As plain data: instants in ISO 8601, empty where there is none."""
    return {name: _plain(value) for name, value in asdict(tiding).items()}


def of_facts(facts: dict[str, Any]) -> Tiding:
    """What `as_facts` made. Raises ValueError, KeyError or TypeError for anything else."""
    instants = {name: datetime.fromisoformat(facts[name]) for name in ("at", "ends", "stops_at") if facts[name]}
    rest = {name: str(facts[name]) for name in ("subject", "occasion", "place", "owner", "team", "what", "why")}
    return Tiding(
        kind=Kind(facts["kind"]),
        at=instants["at"],
        ends=instants.get("ends"),
        stops_at=instants.get("stops_at"),
        lines=tuple(map(str, facts["lines"])),
        **rest,
    )


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    return value
