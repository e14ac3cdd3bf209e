"""What waits for one person: requests and later ends to decide on, and leases that are offered to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessor.domain import approval
from lessor.domain.errors import Refused
from lessor.domain.extension import not_deciding
from lessor.domain.lease import IN_USE, Lease, State
from lessor.domain.ownership import MOVABLE
from lessor.domain.people import Person
from lessor.ports import LeaseQuery

if TYPE_CHECKING:
    from lessor.gateway import Gateway

READ_MOST = 1_000
"""How many leases are looked at for one person; more wait in the channel."""

_PAGE = 200


@dataclass(frozen=True)
class Waiting:
    """`last` is the id of the last request, from which the next page goes on if there is `more`."""

    requests: tuple[Lease, ...] = ()
    wishes: tuple[Lease, ...] = ()
    offers: tuple[Lease, ...] = ()
    last: str = ""
    more: bool = False


class Pending:
    """Looks through the open leases."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def of(self, person: Person, after: str, limit: int) -> Waiting:
        """At most `limit` requests after the one of that id, and everything else."""
        requests = await self._requests(person, after, limit + 1)
        wishes, offers = [], []
        async for lease in self._all(MOVABLE, ""):
            if lease.wish is not None and lease.state in IN_USE and decides_wish(lease, person):
                wishes.append(lease)
            if lease.transfer is not None and not person.refs.isdisjoint(lease.transfer.to):
                offers.append(lease)
        shown = tuple(requests[:limit])
        last = shown[-1].id if shown else ""
        return Waiting(shown, tuple(wishes), tuple(offers), last, len(requests) > limit)

    async def _requests(self, person: Person, after: str, most: int) -> list[Lease]:
        found: list[Lease] = []
        async for lease in self._all((State.AWAITING_APPROVAL,), after):
            people = await self._gateway.eligible(lease)
            if any(person.is_same(one.all_ids) for one in people):
                found.append(lease)
            if len(found) == most:
                break
        return found

    async def _all(self, states: tuple[State, ...], after: str) -> AsyncIterator[Lease]:
        names = tuple(state.value for state in states)
        for _ in range(READ_MOST // _PAGE):
            page = await self._gateway.leases(LeaseQuery(states=names, after=after, limit=_PAGE))
            for lease in page:
                yield lease
            if len(page) < _PAGE:
                return
            after = page[-1].id


def decides_wish(lease: Lease, person: Person) -> bool:
    """Whether the person can decide now on the later end that is wished for."""
    if lease.wish is None:
        return False
    try:
        approval.check(lease.wish.steps, person, not_deciding(lease))
    except Refused:
        return False
    return True
