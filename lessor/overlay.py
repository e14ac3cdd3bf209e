"""A directory laid over another one, which knows something more of people; everything else comes from below."""

from __future__ import annotations

from collections.abc import Collection

from lessor.domain.people import Person, Presence
from lessor.ports import Directory, Team


class Overlay:
    """What of `ports.Directory` a layer passes on unless it says otherwise; `person` and `members` are its own."""

    def __init__(self, inner: Directory) -> None:
        self._inner = inner

    async def everybody(self) -> tuple[Person, ...]:
        return await self._inner.everybody()

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        return await self._inner.presences(ids)

    def team(self, key: str) -> Team | None:
        return self._inner.team(key)
