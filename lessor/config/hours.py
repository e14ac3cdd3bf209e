"""Hours of a week as an organisation writes them: `{days: mon-fri, from: "09:00", to: "18:00"}`, or `always`."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from lessor.config.section import Section
from lessor.domain.worktime import MINUTES
from lessor.when.hours import Week

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
DAYS_ALLOWED = "allowed: days and ranges of mon tue wed thu fri sat sun, such as mon-fri or mon,wed,fri"


def days_of(text: str) -> tuple[int, ...]:
    """0 for Monday to 6 for Sunday. Raises ValueError with what is allowed."""
    found: set[int] = set()
    for part in re.split(r"[\s,]+", text.strip().lower()):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise ValueError(f"is '{text[:40]}'; {DAYS_ALLOWED}")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found |= {day % 7 for day in range(begin, (end if end >= begin else end + 7) + 1)}
    return tuple(sorted(found))


def minutes_of(text: str) -> int:
    """Minutes after midnight of `09:00`; `24:00` is the end of the day. Raises ValueError with what is allowed."""
    found = CLOCK.fullmatch(text.strip())
    minutes = int(found[1]) * 60 + int(found[2]) if found else MINUTES + 1
    if minutes > MINUTES:
        raise ValueError(f"is '{text[:40]}'; allowed: a time from 00:00 to 24:00, such as 09:00")
    return minutes


def _days(text: str) -> str:
    days_of(text)
    return text


def _clock(text: str) -> str:
    minutes_of(text)
    return text


def _unread(value: object) -> object:
    """Other programs that write this file read 18:00 as a number of base 60, as YAML 1.1 has it."""
    return f"{value // 60:02}:{value % 60:02}" if type(value) is int and 0 <= value <= MINUTES else value


ClockText = Annotated[
    str,
    BeforeValidator(_unread),
    AfterValidator(_clock),
    WithJsonSchema({"type": "string", "pattern": r"^\d{1,2}:\d{2}$"}),
]
DaysText = Annotated[str, Field(max_length=60), AfterValidator(_days)]


class HoursConfig(Section):
    """Hours of some days of the week, in the zone of whoever they are for."""

    days: DaysText = "mon-fri"
    """Days and ranges of them, such as mon-fri or mon,wed,fri."""
    opens: ClockText = Field("09:00", alias="from")
    """When the day begins, such as 09:00."""
    closes: ClockText = Field("18:00", alias="to")
    """When the day ends, such as 18:00; 24:00 for midnight."""

    @model_validator(mode="after")
    def _opens_before_it_closes(self) -> "HoursConfig":
        if minutes_of(self.opens) >= minutes_of(self.closes):
            raise ValueError(f"end at {self.closes}, not after {self.opens} when they begin; use two days for a night")
        return self

    def week(self, country: str = "", holidays: Iterable[date] = ()) -> Week:
        """As it is written out for a zone; the public holidays of `country` and the given ones are free."""
        free = tuple(sorted(holidays))
        return Week(days_of(self.days), minutes_of(self.opens), minutes_of(self.closes), country, free)


WorkingHours = HoursConfig | Literal["always"]
Country = Annotated[str, Field(pattern=r"^([A-Z]{2}(-[A-Z0-9]{1,6})?)?$")]
"""A country whose public holidays are free, as ISO 3166 has it: DE, or DE-BY with a part of it."""
