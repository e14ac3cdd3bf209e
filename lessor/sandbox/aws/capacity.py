"""Where AWS has machines left: capacity that runs out by type, zone and market, and types a zone does not have."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass
class CapacityLimit:
    """At most `free` more machines for what the shell patterns match; 0 refuses them all.

    `name` says who set it: limits of different names on the same machines stand side by side.
    """

    instance_type: str
    zone: str
    market: str
    free: int
    name: str = ""

    def matches(self, instance_type: str, zone: str, market: str) -> bool:
        return (
            fnmatchcase(instance_type, self.instance_type)
            and fnmatchcase(zone, self.zone)
            and fnmatchcase(market, self.market)
        )


class CapacityBoard:
    """Unlimited where nothing was said."""

    def __init__(self) -> None:
        self._limits: dict[tuple[str, str, str, str], CapacityLimit] = {}
        self._unsupported: set[tuple[str, str]] = set()

    def limit(self, free: int, *, instance_type: str, zone: str, market: str, name: str = "") -> None:
        self._limits[(instance_type, zone, market, name)] = CapacityLimit(instance_type, zone, market, free, name)

    def unlimit(self, *, instance_type: str, zone: str, market: str, name: str | None = None) -> None:
        """Forget the limit of that name with exactly these patterns.

        Without a name: every limit with these patterns, and `*` everywhere forgets all limits.
        """
        patterns = (instance_type, zone, market)
        everything = name is None and patterns == ("*", "*", "*")

        def meant(limit: CapacityLimit) -> bool:
            same = (limit.instance_type, limit.zone, limit.market) == patterns
            return everything or (same and name in (None, limit.name))

        self._limits = {key: limit for key, limit in self._limits.items() if not meant(limit)}

    def refuse_type(self, instance_type: str, zone: str) -> None:
        self._unsupported.add((instance_type, zone))

    def allow_type(self, instance_type: str, zone: str) -> None:
        self._unsupported.discard((instance_type, zone))

    def free(self, instance_type: str, zone: str, market: str) -> int | None:
        """Machines still to be had, None when unlimited."""
        limits = [limit.free for limit in self._limits.values() if limit.matches(instance_type, zone, market)]
        return min(limits) if limits else None

    def take(self, number: int, instance_type: str, zone: str, market: str) -> None:
        for limit in self._limits.values():
            if limit.matches(instance_type, zone, market):
                limit.free = max(0, limit.free - number)

    def is_offered(self, instance_type: str, zone: str) -> bool:
        return not any(fnmatchcase(instance_type, t) and fnmatchcase(zone, z) for t, z in self._unsupported)

    def to_json(self) -> dict[str, Any]:
        return {
            "limits": [asdict(limit) for limit in self._limits.values()],
            "unsupported": [{"instance_type": t, "zone": z} for t, z in sorted(self._unsupported)],
        }
