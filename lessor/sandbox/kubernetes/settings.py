"""How the simulated cluster behaves, as its page and tests set it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class Settings:
    """Seconds are those of the cluster's clock.

    Without `scheduling` nothing finds a node. Volumes of claims that are gone stay while `disks_stuck`. Groups in
    `unavailable` are listed, and not served.
    """

    start_seconds: float = 0.1
    stop_seconds: float = 0.1
    scheduling: bool = True
    pulling: bool = True
    disks_stuck: bool = False
    unavailable: tuple[str, ...] = ()

    def change(self, **changes: Any) -> None:
        """Raises `ValueError` for what there is not, or of the wrong type."""
        known = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"there is no {name}; there are: {', '.join(known)}")
            setattr(self, name, _like(known[name], name, value))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _like(old: Any, name: str, value: Any) -> Any:
    if isinstance(old, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is true or false")
        return value
    if isinstance(old, tuple):
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise ValueError(f"{name} is a list of names")
        return tuple(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"{name} is a number of seconds, and not negative")
    return float(value)
