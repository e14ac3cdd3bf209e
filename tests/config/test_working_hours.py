"""When people work, from the file to the hours that approvals count: per person, per zone, with holidays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from pydantic import ValidationError

from lessor.config import ConfigError, loads
from lessor.config.hours import HoursConfig, days_of, minutes_of
from lessor.directory import ConfigDirectory
from lessor.domain.people import Person
from lessor.domain.worktime import add_working
from lessor.when.hours import Week
from lessor.working import HoursAware
from tests.builders import OFFICE
from tests.config.sample import VALID, changed

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", (0, 1, 2, 3, 4)),
        ("Mon, wed fri-sun", (0, 2, 4, 5, 6)),
        ("sun-thu", (0, 1, 2, 3, 6)),
        ("sat", (5,)),
    ],
)
def test_days(text: str, days: tuple[int, ...]) -> None:
    assert days_of(text) == days


@pytest.mark.parametrize(("text", "minutes"), [("09:00", 540), ("9:05", 545), ("00:00", 0), ("24:00", 1_440)])
def test_times_of_day(text: str, minutes: int) -> None:
    assert minutes_of(text) == minutes


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"days": "monday"}, "allowed: days and ranges of mon tue wed thu fri sat sun"),
        ({"days": ""}, "allowed: days and ranges"),
        ({"from": "9"}, "allowed: a time from 00:00 to 24:00"),
        ({"to": "24:30"}, "allowed: a time from 00:00 to 24:00"),
        ({"from": "22:00", "to": "06:00"}, "end at 06:00, not after 22:00 when they begin"),
    ],
)
def test_hours_that_are_none_say_what_is_allowed(value: dict[str, str], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        HoursConfig.model_validate(value)


def test_times_that_another_program_took_for_numbers_are_what_was_written() -> None:
    assert HoursConfig.model_validate({"from": 480, "to": 1_080}).week() == Week(OFFICE.days, 480, 1_080)
    with pytest.raises(ValidationError, match="valid string"):
        HoursConfig.model_validate({"to": 1_441})


def test_everybody_works_office_hours_unless_the_file_says_otherwise() -> None:
    assert loads(VALID).week("U0MANAGER") == OFFICE
    always = changed("  name: Example\n", "  name: Example\n  working_hours: always\n")
    assert loads(always).week("U0MANAGER") is None


def test_a_person_has_their_own_hours_and_holidays() -> None:
    own = "working_hours: {days: mon-thu, from: 07:00, to: 15:30}, country: DE-BY"
    text = changed("{id: U0FINANCE", f"{{id: U0FINANCE, {own}").replace(
        "  name: Example\n", "  name: Example\n  country: US\n"
    )
    config = loads(text)
    assert config.week("U0FINANCE") == Week((0, 1, 2, 3), 420, 930, "DE-BY")
    assert config.week("U0MANAGER") == Week(OFFICE.days, OFFICE.opens, OFFICE.closes, "US")
    night_owl = loads(changed("{id: U0FINANCE", "{id: U0FINANCE, working_hours: always"))
    assert night_owl.week("U0FINANCE") == Week()


def test_an_unknown_country_is_an_error_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"yaml:2: organisation.country: the public holidays of 'XX' are not known"):
        loads(changed("  name: Example\n", "  country: XX\n  name: Example\n"))


async def test_the_directory_writes_the_hours_out_in_the_zone_of_the_person() -> None:
    config = loads(changed("{id: U0FINANCE", "{id: U0FINANCE, tz: Asia/Tokyo"))
    people = HoursAware(ConfigDirectory(config), config.week, lambda: NOW)
    finance, (manager,) = await people.person("U0FINANCE"), await people.members("lead:research")
    assert finance is not None
    hour = timedelta(hours=1)
    assert add_working(finance.hours, NOW, hour) == datetime(2026, 3, 23, 1, tzinfo=UTC)
    assert add_working(manager.hours, NOW, hour) == NOW + hour
    assert await people.person("U0NOBODY") is None


async def test_holidays_reach_the_hours() -> None:
    config = loads(changed("  name: Example\n", "  name: Example\n  country: DE\n"))
    manager = await HoursAware(ConfigDirectory(config), config.week, lambda: NOW).person("U0MANAGER")
    assert manager is not None
    assert manager.hours is not None
    assert manager.hours.holidays[:2] == (date(2026, 4, 3), date(2026, 4, 6))


async def test_a_zone_that_nobody_knows_means_any_time() -> None:
    config = loads(VALID)

    class Elsewhere(ConfigDirectory):
        async def person(self, any_id: str) -> Person | None:
            found = await super().person(any_id)
            return replace(found, tz="Mars/Olympus") if found else None

    manager = await HoursAware(Elsewhere(config), config.week, lambda: NOW).person("U0MANAGER")
    assert manager is not None
    assert manager.hours is None


def test_terms_take_the_times_of_approvals() -> None:
    text = changed("  grace: 7d\n", "  grace: 7d\n  remind_after: 30min\n  escalate_after: 2h\n  escalations: 1\n")
    terms = loads(text).terms()
    assert (terms.remind_after, terms.escalate_after, terms.escalations) == (
        timedelta(minutes=30),
        timedelta(hours=2),
        1,
    )
    assert loads(VALID).terms().step_up is None
