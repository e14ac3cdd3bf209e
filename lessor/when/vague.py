"""Words that mean a time to people but no instant: they are asked back with the times that may be meant."""

from __future__ import annotations

import re
from datetime import date, timedelta

from lessor.when.clock import Clock, add_months, last_of_month
from lessor.when.days import WEEKDAY
from lessor.when.end import Doubt

_DAYS = "|".join(sorted(WEEKDAY, key=len, reverse=True))
PART_OF_DAY = re.compile(rf"(?:(this|today|tomorrow|{_DAYS})\s)?(morning|afternoon|evening|night)|(tonight)")
HOURS = {"morning": ("9:00", "12:00"), "afternoon": ("15:00", "18:00"), "evening": ("18:00", "22:00")}
NIGHT = ("22:00", "24:00")
WEEK_OR_MONTH = re.compile(r"(?:(this|next|the)\s)?(week|weekend|month)")
HALF_DAY = re.compile(r"half\s(?:a\s)?day")


def ask_back(text: str, clock: Clock) -> None:
    """Raise `Doubt` with what `text` (lower case, single spaces) may mean; nothing if it is not vague but unknown."""
    part = PART_OF_DAY.fullmatch(text)
    if part:
        day = part[1] if part[1] and part[1] != "this" else "today"
        raise Doubt("is no time of day", *(f"{day} {at}" for at in HOURS.get(part[2], NIGHT)))
    span = WEEK_OR_MONTH.fullmatch(text)
    if span:
        raise Doubt("may mean several days", *(f"{day}" for day in _days(span, clock.today)))
    if HALF_DAY.fullmatch(text):
        raise Doubt("has a part of a day, week, month or year", "12 h")


def _days(span: re.Match[str], today: date) -> tuple[date, ...]:
    """The first and the last day that may be meant."""
    later = span[1] == "next"
    if span[2] == "month":
        month = add_months(today.replace(day=1), 1 if later else 0)
        return (month, last_of_month(month)) if later else (last_of_month(month),)
    monday = today - timedelta(days=today.weekday()) + timedelta(days=7 if later else 0)
    if span[2] == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6)
    return monday, monday + timedelta(days=4), monday + timedelta(days=6)
