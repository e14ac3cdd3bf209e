"""What providers can do besides leasing, each a Protocol of its own, as not every place can do it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from lessor.domain.guarding import Roll, Strays
from lessor.domain.pools import Census
from lessor.domain.provisioning import Credentials
from lessor.domain.request import Place
from lessor.domain.resource import Resource, Tagged

Heartbeat = Callable[[str], None]
"""Called before each external write and while waiting; raises when the attempt is no longer current (case B13)."""


class Watch(Protocol):
    """Reads many leases' resources at once, for the sweep over a place."""

    def conditions(self, place: Place) -> tuple[Tagged, ...]:
        """Every resource of ours in the place, all pages. Raises `ProviderError` when any page is missing."""
        ...

    def attribute(self, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Mark what somebody attached to our resources later as the lease's; returns what was marked (case C10)."""
        ...


@runtime_checkable
class Capacity(Protocol):
    """Counts the GPUs of a place, for forms and the view over the fleet."""

    def census(self, place: Place) -> Census:
        """What the place has and who holds it. What cannot be read is unknown and said, never raised as empty."""
        ...


@runtime_checkable
class Keys(Protocol):
    """Hands out access that runs out by itself and is stored nowhere."""

    def credentials(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> Credentials:
        """A new access to the lease's resources. Raises `PermanentError` when there is nothing to get into."""
        ...


@runtime_checkable
class Dated(Protocol):
    """Reads from the resources themselves what the guard needs (law 10): nothing else has to work for it."""

    def dated(self, place: Place) -> Roll:
        """Every lease that shows in the place, region by region, with the end that stands on its machines.

        What cannot be read is a problem of its own and hides nothing else (law 11). Raises `PermanentError` for
        unknown places only.
        """
        ...

    def unleased(self, place: Place) -> Strays:
        """What holds GPUs in the place and carries no lease's tag, as `dated` does."""
        ...
