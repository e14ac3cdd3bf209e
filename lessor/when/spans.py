"""Lengths of time: hours and less are elapsed time, days and more are dates on the calendar (F24, F25)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from lessor.when.clock import Clock, Reading, add_months
from lessor.when.end import Doubt

ELAPSED = {"s": 1, "min": 60, "h": 3_600}
UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "w": ("w", "wk", "wks", "week", "weeks"),
    "mo": ("mo", "mon", "month", "months"),
    "y": ("y", "yr", "yrs", "year", "years"),
}
UNIT = {word: unit for unit, all_words in UNITS.items() for word in all_words}
ORDER = tuple(UNITS)
NUMBERS = dict(
    zip(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        range(1, 13),
        strict=True,
    )
) | {"a": 1, "an": 1}
_WORDS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_UNITS = "|".join(sorted(UNIT, key=len, reverse=True))
PART = re.compile(rf"(?:(\d{{1,9}}(?:\.\d{{1,4}})?)\s?|({_WORDS})\s)({_UNITS})(?![a-z])")
JOINT = re.compile(r"\s?(?:,\s?|\band\s)?")
HALF_HOUR = re.compile(r"^half\s(?:an\s)?hour$")
SIGNED = re.compile(r"(?:-|−|–|minus\s)\s?(?=\d)")


@dataclass(frozen=True)
class Span:
    """An amount of calendar time and an amount of elapsed time."""

    months: int = 0
    days: int = 0
    elapsed: timedelta = timedelta()

    @property
    def calendar(self) -> bool:
        return bool(self.months or self.days)

    def after(self, clock: Clock) -> Reading:
        """The same wall time so many days later, then the elapsed part. OverflowError, ValueError: too far away."""
        wall = clock.wall
        day = add_months(wall.date(), self.months) + timedelta(days=self.days)
        reading = clock.read(datetime.combine(day, wall.time()))
        if not self.elapsed:
            return reading
        return Reading(reading.at + self.elapsed)


def parse_span(text: str) -> Span | None:
    """The length that `text` (lower case, single spaces) says; `None` if it is none. Raises `Doubt`."""
    text = HALF_HOUR.sub("30 min", text)
    signed = SIGNED.match(text)
    span = _sum(text[signed.end() :] if signed else text)
    if span is None:
        _doubt_near(text)
        return None
    if signed:
        raise Doubt("is negative", text[signed.end() :], code="end-past")
    if span == Span():
        raise Doubt("is no time at all", code="end-past")
    return span


def _sum(text: str) -> Span | None:
    """Units come once each, the large ones first: `8h 3d` is two lengths and not their sum."""
    position, months, days, elapsed, smallest = 0, 0, 0, timedelta(), len(ORDER)
    while position < len(text) or not position:
        match = PART.match(text, position)
        if not match:
            return None
        number = Decimal(match[1]) if match[1] else Decimal(NUMBERS[match[2]])
        unit = UNIT[match[3]]
        if ORDER.index(unit) >= smallest:
            return None
        smallest = ORDER.index(unit)
        if unit in ELAPSED:
            elapsed += timedelta(seconds=float(number * ELAPSED[unit]))
        else:
            whole = _whole(number, unit, text)
            months += {"mo": whole, "y": 12 * whole}.get(unit, 0)
            days += {"d": whole, "w": 7 * whole}.get(unit, 0)
        position = match.end()
        if position < len(text):
            joint = JOINT.match(text, position)
            position = joint.end() if joint else position
    return Span(months, days, timedelta(seconds=round(elapsed.total_seconds())))


def _whole(number: Decimal, unit: str, text: str) -> int:
    if number == number.to_integral_value():
        return int(number)
    days = number * {"d": 1, "w": 7, "mo": 30, "y": 365}[unit]
    hours = (days * 24).to_integral_value()
    raise Doubt("has a part of a day, week, month or year", f"{hours} h", f"{int(days)} days" if days >= 2 else "1 day")


def _doubt_near(text: str) -> None:
    comma = re.fullmatch(rf"(\d{{1,6}}),(\d{{1,4}})\s?({_UNITS})", text)
    if comma:
        raise Doubt("has a decimal comma", f"{comma[1]}.{comma[2]} {comma[3]}", f"{comma[1]} {comma[3]}")
    bare = re.fullmatch(r"(\d{1,4})", text)
    if bare:
        raise Doubt("has no unit", f"{int(bare[1])} h", f"{int(bare[1])} days", f"{int(bare[1])}:00")
