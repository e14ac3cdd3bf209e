"""Use cases about people over a real ledger: away and back, who may start a look, groups that nobody could read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import PeopleReport, SweepOutcome
from lessor.domain.absence import Absence
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.people import Person
from lessor.engine import UnreachableError
from lessor.gateway import Gateway
from lessor.ledger import open_ledger
from lessor.offering import Offering
from lessor.ports import DirectoryUnavailableError
from tests.builders import ADMIN, ASKED, FINANCE, MANAGER, PEOPLE, REQUESTER, a_lease, some_limits
from tests.fakes import FakeDirectory


class Looks:
    """An engine that only looks; `away` says that Temporal cannot be reached."""

    def __init__(self) -> None:
        self.away = False
        self.asked: list[str] = []

    async def look(self, schedule: str, report: type[PeopleReport] | type[SweepOutcome]) -> object:
        if self.away:
            raise UnreachableError("Temporal cannot be reached now (unavailable)")
        self.asked.append(schedule)
        return report()


class Dumb(FakeDirectory):
    """Nobody knows who belongs to any group."""

    async def members(self, ref: str) -> tuple[Person, ...]:
        raise DirectoryUnavailableError(f"who is in {ref} could not be read; it is tried again")


def a_gateway(directory: FakeDirectory, looks: Looks) -> Gateway:
    offering = Offering((), tuple, lambda person: some_limits())
    return Gateway(looks, open_ledger("sqlite://"), directory, {}, offering, lambda: ASKED)  # type: ignore[arg-type]


async def test_away_and_back_are_on_record_at_once() -> None:
    gateway = a_gateway(FakeDirectory(PEOPLE), Looks())
    until = ASKED + timedelta(days=2)
    assert await gateway.away(MANAGER.id, until, FINANCE.id) == Absence(MANAGER.id, ASKED, until, FINANCE.id)
    assert (await gateway.back(MANAGER.id)).id == MANAGER.id
    with pytest.raises(Refused, match="cannot stand in for yourself"):
        await gateway.away(REQUESTER.id, until, "W0REQUESTER")


async def test_only_administrators_start_a_look_and_hear_why_it_could_not_be() -> None:
    looks = Looks()
    gateway = a_gateway(FakeDirectory(PEOPLE), looks)
    assert isinstance(await gateway.look(ADMIN.id), SweepOutcome)
    assert isinstance(await gateway.look(ADMIN.id, people=True), PeopleReport)
    assert looks.asked == ["lessor-sweep", "lessor-people"]
    with pytest.raises(Refused) as refused:
        await gateway.look(MANAGER.id)
    looks.away = True
    with pytest.raises(Refused) as away:
        await gateway.look(ADMIN.id)
    assert (refused.value.code, away.value.code) == ("not-admin", "unreachable")


async def test_who_can_decide_is_unknown_and_not_nobody_while_a_group_was_never_read() -> None:
    gateway = a_gateway(Dumb(PEOPLE), Looks())
    with pytest.raises(Refused, match="could not be read; it is tried again") as refused:
        await gateway.eligible(a_lease(State.AWAITING_APPROVAL))
    assert refused.value.code == "unreachable"
