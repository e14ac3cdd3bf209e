"""What every page needs: the use cases, the wording, the clock, and who may come in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request

from lessor.charts import Figures
from lessor.domain.lease import Lease
from lessor.gateway import Gateway
from lessor.rendering import Renderer

Draw = Callable[[Figures, str], Awaitable[bytes]]
Named = tuple[tuple[str, str], ...]
"""Keys with the names that people know them by."""


@dataclass(frozen=True)
class Scene:
    """What pages say of the organisation: its name, the zone that times are in, its teams and places."""

    organisation: str
    zone: str = "UTC"
    teams: Named = ()
    places: Named = ()


@dataclass(frozen=True)
class Desk:
    """`scene` is the organisation as it is now; `draw` makes a chart; `temporal` is the address of a namespace in the
    Temporal UI, empty where none is known. Without `token` only this machine is let in.
    """

    gateway: Gateway
    wording: Renderer
    scene: Callable[[], Scene]
    clock: Callable[[], datetime]
    draw: Draw
    temporal: str = ""
    token: str = ""

    async def names(self, ids: Iterable[str]) -> dict[str, str]:
        """What people are called, by id; whoever is not known is called by the id."""
        found = {}
        for one in dict.fromkeys(ids):
            person = await self.gateway.person(one) if one else None
            found[one] = (person.name or one) if person else one
        return found

    def workflow(self, lease: Lease) -> str:
        """Where the Temporal UI shows the lease; empty where nobody knows."""
        return f"{self.temporal}/workflows/{lease.id}" if self.temporal else ""


def desk_of(request: Request) -> Desk:
    """The desk of the application that a request came to."""
    desk: Desk = request.app.state.desk
    return desk
