"""Away or not, and who stands in for whom: announced, configured, by team; never passed on, never somebody away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.absences import AbsenceAware
from lessor.attendance import Attendance
from lessor.domain.absence import Absence
from lessor.domain.errors import Refused
from lessor.domain.people import Person, StandIn
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import LedgerUnavailableError, Team
from tests.builders import a_person
from tests.fakes import FakeDirectory

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)
WEEK = NOW + timedelta(days=7)
LEAD = a_person("U0LEAD", ids=("U0LEAD", "W0LEAD"), leads=("ml",), groups=("heads",))
DEPUTY = a_person("U0DEPUTY")
THIRD = a_person("U0THIRD")
PEOPLE = (LEAD, DEPUTY, THIRD)
LENT = StandIn("U0LEAD", ("U0LEAD", "W0LEAD"), tuple(sorted(LEAD.refs)))


class World:
    """A directory over people in memory and a real ledger."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.ledger, self.now = ledger, NOW
        self.inner = FakeDirectory(PEOPLE, (Team("ml", lead="U0LEAD"),))
        self.directory = AbsenceAware(self.inner, ledger, lambda: self.now)
        self.attendance = Attendance(self.directory, ledger, lambda: self.now)

    def change(self, id: str, **changes: object) -> None:
        self.inner.people = [
            replace(p, **changes) if p.id == id else p  # type: ignore[arg-type]
            for p in self.inner.people
        ]

    async def person(self, any_id: str) -> Person:
        found = await self.directory.person(any_id)
        assert found is not None
        return found

    async def lent(self, id: str) -> tuple[StandIn, ...]:
        return (await self.person(id)).stands_in


@pytest.fixture
def world() -> Iterator[World]:
    ledger = open_ledger("sqlite://")
    yield World(ledger)
    ledger.close()


async def test_who_is_named_stands_in_from_then_until_the_end(world: World) -> None:
    absence = await world.attendance.away("W0LEAD", WEEK, "U0DEPUTY")
    assert absence == Absence("U0LEAD", NOW, WEEK, "U0DEPUTY")
    lead = await world.person("U0LEAD")
    assert (lead.away_until, lead.delegate) == (WEEK, "U0DEPUTY")
    assert [p.away_until for p in await world.directory.members("lead:ml")] == [WEEK]
    assert await world.lent("U0DEPUTY") == (LENT,)
    assert await world.lent("U0THIRD") == ()
    world.now = WEEK
    assert (await world.person("U0LEAD")).away_until is None
    assert await world.lent("U0DEPUTY") == ()


async def test_coming_back_ends_it_at_once(world: World) -> None:
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    back = await world.attendance.back("W0LEAD")
    assert (back.id, back.away_until) == ("U0LEAD", None)
    assert await world.lent("U0DEPUTY") == ()


async def test_who_comes_back_is_still_away_where_the_status_says_so(world: World) -> None:
    world.change("U0LEAD", away_until=WEEK)
    assert (await world.attendance.back("U0LEAD")).away_until == WEEK


async def test_whom_the_configuration_names_stands_in_when_nobody_else_is_named(world: World) -> None:
    world.change("U0LEAD", delegate="U0THIRD")
    assert await world.lent("U0THIRD") == ()
    absence = await world.attendance.away("U0LEAD", WEEK)
    assert absence.delegate == "U0THIRD"
    assert await world.lent("U0THIRD") == (LENT,)
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    assert (await world.lent("U0DEPUTY"), await world.lent("U0THIRD")) == ((LENT,), ())


async def test_a_status_in_slack_lends_what_the_configuration_says(world: World) -> None:
    world.change("U0LEAD", delegate="U0DEPUTY", away_until=WEEK)
    assert await world.lent("U0DEPUTY") == (LENT,)


@pytest.mark.parametrize("changes", [{"active": False}, {"away_until": WEEK}])
async def test_a_stand_in_who_is_away_or_deactivated_is_passed_over(world: World, changes: dict[str, object]) -> None:
    world.change("U0LEAD", delegate="U0THIRD")
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    world.change("U0DEPUTY", **changes)
    assert (await world.person("U0LEAD")).delegate == "U0THIRD"
    assert (await world.lent("U0DEPUTY"), await world.lent("U0THIRD")) == ((), (LENT,))
    world.change("U0THIRD", **changes)
    assert (await world.person("U0LEAD")).delegate == ""


async def test_standing_in_is_never_passed_on(world: World) -> None:
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    await world.attendance.away("U0DEPUTY", WEEK, "U0THIRD")
    [lent] = await world.lent("U0THIRD")
    assert (lent.id, "lead:ml" in lent.refs, "person:U0LEAD" in lent.refs) == ("U0DEPUTY", False, False)


async def test_two_people_cannot_stand_in_for_each_other_while_both_are_away(world: World) -> None:
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    await world.attendance.away("U0DEPUTY", WEEK - timedelta(days=1))
    assert (await world.lent("U0DEPUTY"), await world.lent("U0LEAD")) == ((), ())


async def test_the_delegate_of_a_team_decides_as_its_lead_and_nothing_else(world: World) -> None:
    world.inner.teams["ml"] = Team("ml", lead="U0LEAD", delegate="U0THIRD")
    assert await world.lent("U0THIRD") == ()
    await world.attendance.away("U0LEAD", WEEK)
    assert await world.lent("U0THIRD") == (StandIn("U0LEAD", ("U0LEAD", "W0LEAD"), ("lead:ml",)),)
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    assert await world.lent("U0THIRD") == ()


@pytest.mark.parametrize("changes", [{"active": False}, {"away_until": WEEK}])
async def test_the_delegate_of_a_team_is_lent_nothing_while_away_or_deactivated(
    world: World, changes: dict[str, object]
) -> None:
    world.inner.teams["ml"] = Team("ml", lead="U0LEAD", delegate="U0THIRD")
    await world.attendance.away("U0LEAD", WEEK)
    world.change("U0THIRD", **changes)
    assert await world.lent("U0THIRD") == ()


async def test_nobody_lends_rights_after_their_account_was_closed(world: World) -> None:
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    world.change("U0LEAD", active=False)
    assert await world.lent("U0DEPUTY") == ()


@pytest.mark.parametrize(
    ("person", "delegate", "code"),
    [
        ("U0NOBODY", "", "unknown-person"),
        ("U0LEAD", "U0NOBODY", "unknown-person"),
        ("U0LEAD", "W0LEAD", "own-delegate"),
        ("U0LEAD", "U0CLOSED", "inactive-delegate"),
    ],
)
async def test_a_refused_absence_leaves_nothing_behind(world: World, person: str, delegate: str, code: str) -> None:
    world.inner.people.append(a_person("U0CLOSED", active=False))
    with pytest.raises(Refused) as refused:
        await world.attendance.away(person, WEEK, delegate)
    assert refused.value.code == code
    assert world.ledger.absences(NOW) == ()


async def test_a_record_that_cannot_be_read_leaves_absences_as_they_were(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.attendance.away("U0LEAD", WEEK, "U0DEPUTY")
    assert await world.lent("U0DEPUTY") == (LENT,)

    def down(at: datetime) -> tuple[Absence, ...]:
        raise LedgerUnavailableError("the ledger cannot be used")

    monkeypatch.setattr(world.ledger, "absences", down)
    assert await world.lent("U0DEPUTY") == (LENT,)


async def test_f36_a_name_is_one_person_or_a_question(world: World) -> None:
    world.change("U0LEAD", email="ana.diaz@x.test")
    world.change("U0DEPUTY", email="ana.diaz@y.test", name="the deputy")
    assert (await world.attendance.named("Ana.Diaz@X.test")).id == "U0LEAD"
    assert (await world.attendance.named("the deputy")).id == "U0DEPUTY"
    with pytest.raises(Refused, match=r"'ana\.diaz' may be .*ana\.diaz@x\.test.*ana\.diaz@y\.test") as several:
        await world.attendance.named("ana.diaz")
    with pytest.raises(Refused, match="nobody is 'nobody'") as nobody:
        await world.attendance.named("nobody")
    assert (several.value.code, nobody.value.code) == ("unresolved", "unresolved")
