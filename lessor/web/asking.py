"""What a list is narrowed down by: the parameters of an address, read into a query, and back into addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.gateway import Gateway
from lessor.listing import states
from lessor.ports import LeaseQuery

Team = Annotated[list[str] | None, Query(max_length=40, description="Only of these teams, by key.")]
State = Annotated[list[str] | None, Query(max_length=20, description="Only in these states; open ones if left out.")]
Place = Annotated[list[str] | None, Query(max_length=40, description="Only in these places, by name.")]
Owner = Annotated[str, Query(max_length=200, description="Only of this person: an id, an e-mail address or a name.")]
Closed = Annotated[bool, Query(description="Ended ones as well.")]
Limit = Annotated[int, Query(ge=1, le=500, description="At most so many.")]
After = Annotated[str, Query(max_length=40, description="Go on after this lease, as `next` says.")]

_ID = re.compile(r"[UW][A-Z0-9]{2,20}")


@dataclass(frozen=True)
class Wanted:
    """What to list; empty fields do not filter."""

    teams: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    owner: str = ""
    closed: bool = False
    limit: int = 100
    after: str = ""

    @property
    def narrowed(self) -> bool:
        return bool(self.teams or self.states or self.places or self.owner or self.closed)

    def address(self, after: str) -> str:
        """The address of the page after this lease, with the same filters."""
        pairs = [
            *(("team", one) for one in self.teams),
            *(("state", one) for one in self.states),
            *(("place", one) for one in self.places),
            *((("owner", self.owner),) if self.owner else ()),
            *((("closed", "true"),) if self.closed else ()),
            ("after", after),
        ]
        return f"/leases?{urlencode(pairs)}"


def wanted(
    team: Team = None,
    state: State = None,
    place: Place = None,
    owner: Owner = "",
    closed: Closed = False,
    limit: Limit = 100,
    after: After = "",
) -> Wanted:
    """The parameters of a list; those that a form left empty do not count."""
    teams, among, places = (tuple(one for one in given or () if one) for given in (team, state, place))
    return Wanted(teams, among, places, owner.strip(), closed, limit, after)


async def query_of(gateway: Gateway, asked: Wanted) -> LeaseQuery:
    """Raises `Refused` ("no-state", "no-lease-id", "unresolved")."""
    query = LeaseQuery(
        teams=asked.teams,
        states=states(asked.states, closed=asked.closed),
        places=asked.places,
        after=lease_id(asked.after) if asked.after else "",
        limit=asked.limit,
    )
    return replace(query, owner_ids=await _ids(gateway, asked.owner)) if asked.owner else query


def lease_id(text: str) -> str:
    """The id that an address has. Raises `Refused` ("not-found")."""
    found = parse_lease_id(text)
    if found is None:
        raise Refused("not-found", f"'{text[:40]}' is no lease id; it looks like gpu-7k3qxa2m, see /leases")
    return found


async def _ids(gateway: Gateway, owner: str) -> tuple[str, ...]:
    """All ids of one person. Somebody who has left is looked for by the id as it stands."""
    if _ID.fullmatch(owner) and await gateway.person(owner) is None:
        return (owner,)
    return tuple(sorted((await gateway.named(owner)).all_ids))
