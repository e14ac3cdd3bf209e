"""Who is away: what people announce, what their status says, and whom somebody means by a name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.absence import LONGEST, Absence, announced, is_away, out_of_office, stands_in
from lessor.domain.errors import Refused
from lessor.domain.naming import meant
from lessor.domain.people import Person, StandIn
from tests.builders import MANAGER, REQUESTER, a_person

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)
FRIDAY = datetime(2026, 6, 5, 18, 0, tzinfo=UTC)
DEPUTY = a_person("U0DEPUTY")


def test_an_absence_begins_now_and_names_who_stands_in() -> None:
    assert announced(MANAGER, FRIDAY, DEPUTY, NOW) == Absence("U0MANAGER", NOW, FRIDAY, "U0DEPUTY", "lessor")
    assert announced(MANAGER, FRIDAY, None, NOW).delegate == ""
    early = a_person("U0EARLY", away_until=FRIDAY - timedelta(hours=1))
    assert announced(MANAGER, FRIDAY, early, NOW).delegate == "U0EARLY"


@pytest.mark.parametrize(
    ("person", "until", "delegate", "code"),
    [
        (MANAGER, NOW, None, "end-passed"),
        (MANAGER, NOW - timedelta(days=1), None, "end-passed"),
        (MANAGER, NOW + LONGEST + timedelta(days=1), None, "too-long"),
        (MANAGER, FRIDAY.replace(tzinfo=None), None, "naive-time"),
        (a_person("U0LEFT", active=False), FRIDAY, None, "inactive"),
        (REQUESTER, FRIDAY, REQUESTER, "own-delegate"),
        (REQUESTER, FRIDAY, a_person("W0REQUESTER"), "own-delegate"),
        (MANAGER, FRIDAY, a_person("U0LEFT", active=False), "inactive-delegate"),
        (MANAGER, FRIDAY, a_person("U0AWAY", away_until=FRIDAY), "delegate-away"),
    ],
)
def test_what_cannot_be_announced(person: Person, until: datetime, delegate: Person | None, code: str) -> None:
    with pytest.raises(Refused) as refused:
        announced(person, until, delegate, NOW)
    assert refused.value.code == code


def test_away_ends_at_its_instant() -> None:
    person = a_person(away_until=FRIDAY)
    assert [is_away(person, at) for at in (NOW, FRIDAY)] == [True, False]
    assert not is_away(a_person(), NOW)


def test_what_is_lent_are_the_rights_of_whoever_is_away_and_not_those_lent_to_them() -> None:
    away = a_person("U0MANAGER", ids=("U0MANAGER", "W0MANAGER"), leads=("ml",), groups=("leads",))
    away = a_person(**{**away.__dict__, "stands_in": (StandIn("U0ADMIN", refs=("admins",)),)})
    assert stands_in(away) == StandIn(
        "U0MANAGER",
        ("U0MANAGER", "W0MANAGER"),
        ("group:leads", "lead:ml", "person:U0MANAGER", "person:W0MANAGER", "team:ml"),
    )
    assert stands_in(away, frozenset({"lead:ml"})).refs == ("lead:ml",)


@pytest.mark.parametrize(
    ("text", "emoji", "away"),
    [
        ("Vacationing", ":palm_tree:", True),
        ("", ":palm_tree:", True),
        ("", "palm_tree", True),
        ("Out of office until Monday", "", True),
        ("out of the office", ":calendar:", True),
        ("OOO - ask the team", "", True),
        ("On PTO", "", True),
        ("im Urlaub bis 3.8.", "", True),
        ("krank", "", True),
        ("Out sick", ":face_with_thermometer:", True),
        ("parental leave", "", True),
        ("En vacances", "", True),
        ("no meetings, on vacation", "", True),
        ("", "", False),
        ("In a meeting", ":spiral_calendar_pad:", False),
        ("Working remotely", ":house_with_garden:", False),
        ("Commuting", ":bus:", False),
        ("back from vacation", "", False),
        ("back from vacation", ":palm_tree:", False),
        ("not out of office", "", False),
        ("planning vacation cover", "", False),
        ("zoo project", "", False),
        ("looool", "", False),
    ],
)
def test_what_a_status_says(text: str, emoji: str, away: bool) -> None:
    assert out_of_office(text, emoji) is away


DIAZ = a_person("U0AAA1111", ids=("U0AAA1111", "ana.diaz@x.test"), name="Requester One", email="ana.diaz@x.test")
OTHER = a_person("U0BBB2222", ids=("W0BBB2222",), name="Requester Two", email="b@x.test")
TWIN = a_person("U0CCC3333", name="", email="ana.diaz@y.test")


@pytest.mark.parametrize(
    "text",
    [
        "Ana.Diaz@X.test",
        "ana.diaz@x.test",
        "U0AAA1111",
        "u0aaa1111",
        "ana.diaz",
        "@ana.diaz",
        " ANA.DIAZ ",
        "<@U0AAA1111>",
        "<@U0AAA1111|ana>",
        "requester one",
    ],
)
def test_f36_one_person_under_every_form_of_their_name(text: str) -> None:
    assert meant(text, (DIAZ, OTHER)) == (DIAZ,)


def test_f36_who_may_be_two_people_is_nobody_until_it_is_said_exactly() -> None:
    assert meant("ana.diaz", (DIAZ, OTHER, TWIN)) == (DIAZ, TWIN)
    assert meant("ana.diaz@y.test", (DIAZ, OTHER, TWIN)) == (TWIN,)
    for text in ("", "@", "ana", "diaz", "x.test", "U0NOBODY", "<@U0NOBODY>"):
        assert meant(text, (DIAZ, OTHER, TWIN)) == ()
