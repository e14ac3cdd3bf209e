"""Working hours of machines and quiet hours of people, as an organisation writes them."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema, model_validator

from lessor.config.hours import ClockText, Country, HoursConfig, minutes_of
from lessor.config.section import Section
from lessor.domain.worktime import MINUTES, WEEK
from lessor.when.calendar import Schedule
from lessor.when.hours import Week

Day = Annotated[date, WithJsonSchema({"type": "string", "format": "date"})]


class ScheduleConfig(HoursConfig):
    """The hours in which machines run; outside of them they are stopped, with everything on their disks kept."""

    tz: Annotated[str, Field(max_length=60)] = ""
    """The time zone of these hours, such as Europe/Berlin; that of the lease's owner if empty."""
    country: Country = ""
    """The country on whose public holidays machines rest, such as DE or DE-BY; none if empty."""
    holidays: Annotated[tuple[Day, ...], Field(max_length=400)] = ()
    """More days on which machines rest, such as 2026-12-24."""

    def schedule(self) -> Schedule:
        """As the calendar writes it out."""
        return Schedule(self.week(self.country, self.holidays), self.tz)


class QuietHoursConfig(Section):
    """The night: warnings that are not urgent come before it."""

    begins: ClockText = Field("22:00", alias="from")
    """When the night begins, such as 22:00."""
    ends: ClockText = Field("07:00", alias="to")
    """When it ends, such as 07:00."""

    @model_validator(mode="after")
    def _over_midnight(self) -> "QuietHoursConfig":
        begins, ends = minutes_of(self.begins), minutes_of(self.ends) % MINUTES
        if not (begins in (0, MINUTES) and ends) and begins <= ends:
            raise ValueError(f"go from {self.begins} to {self.ends}; a night begins in the evening, or at 00:00")
        return self

    def waking(self) -> Week:
        """The hours of every day that are not the night."""
        return Week(WEEK, minutes_of(self.ends) % MINUTES, minutes_of(self.begins) or MINUTES)


QuietHours = QuietHoursConfig | Literal["never"]
