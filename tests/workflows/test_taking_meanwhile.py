"""A lease that moves on while somebody takes it over: the quota stays with whoever has it then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.contracts import Act, Verb
from lessor.domain import life, ownership
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, State
from lessor.domain.pending import Payer
from lessor.domain.people import Person
from tests.builders import READY as NOW
from tests.builders import a_lease
from workflows import calls, owning, people_calls

TAKER = Person("U0TAKER", teams=("ml",))


class Books:
    """Who holds quota, and the lease, which `meanwhile` becomes when the taker's is reserved."""

    def __init__(self, lease: Lease, meanwhile: Lease) -> None:
        self.lease = lease
        self.meanwhile = meanwhile
        self.holders = [lease.owner]
        self.now = NOW

    async def reserve(self, lease: Lease) -> None:
        self.holders = [lease.owner]
        self.lease = self.meanwhile

    async def give_back(self, lease: Lease) -> None:
        self.holders = []

    async def payer(self, lease: Lease, team: str, owner: Person) -> Payer:
        return Payer(team)


def offered(lease: Lease) -> Lease:
    return ownership.offer(lease, TAKER, "", lease.owner, NOW).lease


async def taken(books: Books, monkeypatch: pytest.MonkeyPatch) -> str:
    """The code of the refusal, since the lease is not one that can be taken any more."""
    monkeypatch.setattr(calls, "reserve", books.reserve)
    monkeypatch.setattr(calls, "give_back", books.give_back)
    monkeypatch.setattr(people_calls, "payer", books.payer)
    with pytest.raises(Refused) as refused:
        await owning.change(books, Act("take-1", Verb.TAKE, TAKER.id), TAKER)  # type: ignore[arg-type]
    return refused.value.code


async def test_a_lease_that_begins_meanwhile_keeps_its_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = offered(a_lease(State.APPROVED))
    books = Books(lease, life.start_provisioning(lease, NOW).lease)
    assert await taken(books, monkeypatch) == "wrong-state"
    assert books.holders == [lease.owner]


async def test_a_lease_that_is_over_meanwhile_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = offered(a_lease(State.APPROVED))
    books = Books(lease, replace(lease, state=State.WITHDRAWN))
    assert await taken(books, monkeypatch) == "wrong-state"
    assert books.holders == []
