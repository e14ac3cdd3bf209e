"""The end that somebody asked for, and the refusal of one that cannot be understood for certain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lessor.domain.errors import Refused
from lessor.when.clock import MONTHS, WEEKDAYS, clock_time, local, zone_of


@dataclass(frozen=True)
class End:
    """Either `duration` (elapsed time, its clock starts when the resource is usable) or `until` (an instant, in UTC).

    A length of days or months has an `until`, where the calendar leads from now, and a `length`, the elapsed time until
    then, which a request takes from when the resource is usable (F17, F24).

    `zone` is where it was said. `whole_day`: a date without a time, which lasts until the following midnight.
    `second`: the other instant that a doubled wall time could mean. `skipped`: the wall time never shows on clocks.
    """

    duration: timedelta | None = None
    until: datetime | None = None
    zone: str = "UTC"
    whole_day: bool = False
    second: datetime | None = None
    skipped: bool = False
    length: timedelta | None = None

    @property
    def lasts(self) -> timedelta | None:
        """The elapsed time of a request that asks for a length; `None` where a point in time was said."""
        return self.duration or self.length

    @property
    def fixed(self) -> datetime | None:
        """The instant at which a request ends whenever it becomes usable; `None` where a length was said."""
        return None if self.lasts else self.until

    def instant(self, start: datetime) -> datetime:
        """When it ends if the clock of a duration starts at `start`; in UTC, so that a length is elapsed time (F24)."""
        return self.until or start.astimezone(UTC) + (self.duration or timedelta())

    @property
    def text(self) -> str:
        """A form that `parse_end` reads back as the same end, whatever the zone of the reader."""
        if self.until is None:
            return exact(self.duration or timedelta())
        return written(self.until, self.zone)

    def confirmation(self, now: datetime) -> str:
        """What was understood: weekday, date, time and zone, and what to write if something else was meant."""
        ends = local(self.instant(now), self.zone)
        if self.until is None or self.length is not None:
            return f"{exact(self.lasts or timedelta())} from when it is usable; if that were now, until {ends}"
        if self.whole_day:
            last = (self.until - timedelta(microseconds=1)).astimezone(zone_of(self.zone) or UTC)
            day = f"{WEEKDAYS[last.weekday()].title()} {last.day} {MONTHS[last.month - 1].title()} {last.year}"
            return f"through {day}, that is until {ends}"
        if self.second:
            return f"until {ends}, the first of two that night; for the second write {written(self.second, self.zone)}"
        if self.skipped:
            return f"until {ends}; the clocks skip the time that was written"
        return f"until {ends}"


class UnclearEndError(Refused):
    """An end that is refused; each of `proposals` is a text that would be accepted in its place."""

    def __init__(self, code: str, message: str, proposals: tuple[str, ...]) -> None:
        super().__init__(code, message)
        self.proposals = proposals


class Doubt(Exception):
    """Why a text is not taken as it stands, with texts that may have been meant."""

    def __init__(self, why: str, *proposals: str, code: str = "end-unclear") -> None:
        super().__init__(why)
        self.proposals = proposals
        self.code = code


def exact(length: timedelta) -> str:
    """Elapsed time in hours and less, since a day on the clock may have 23 or 25 hours: `24 h`, `1 h 30 min`."""
    seconds = max(int(length.total_seconds()), 0)
    amounts = ((seconds // 3_600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{amount} {unit}" for amount, unit in amounts if amount) or "0 s"


def written(at: datetime, zone: str) -> str:
    """`2026-12-24T18:00+01:00`: an instant on the clock of `zone` with its offset, so that it cannot be misread."""
    there = at.astimezone(zone_of(zone) or UTC)
    return f"{there:%Y-%m-%d}T{clock_time(there)}{there.isoformat()[19:].lstrip('.0123456789')}"
