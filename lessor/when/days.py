"""Days as people name them. Where a name fits two days, both are proposed and none is taken."""

from __future__ import annotations

import re
from datetime import date, timedelta

from lessor.when.clock import MONTHS, WEEKDAYS, Clock, add_months, last_of_month
from lessor.when.end import Doubt

MONTH = {name: number for number, name in enumerate(MONTHS, start=1)}
MONTH |= {name[:3]: number for name, number in MONTH.items()} | {"sept": 9}
WEEKDAY = {name: number for number, name in enumerate(WEEKDAYS)}
WEEKDAY |= {name[:3]: number for name, number in WEEKDAY.items()} | {"tues": 1, "thur": 3, "thurs": 3}
_MONTHS = "|".join(sorted(MONTH, key=len, reverse=True))
_WEEKDAYS = "|".join(sorted(WEEKDAY, key=len, reverse=True))
TODAY = re.compile(r"(today|tomorrow|(?:the\s)?day after tomorrow)\b")
ISO = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?=t\d|\D|$)")
DAY_MONTH = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?({_MONTHS})\b\.?(?:,?\s(\d{{4}})\b(?!:))?")
MONTH_DAY = re.compile(rf"({_MONTHS})\b\.?\s(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s(\d{{4}})\b(?!:))?")
NAMED = re.compile(rf"(?:(this|next|coming)\s)?({_WEEKDAYS})\b\.?,?")
NUMERIC = re.compile(r"(\d{1,2})([/.\-])(\d{1,2})(?:\2(\d{4}|\d{2}))?\.?(?=\s|$)(.*)")
END_OF = re.compile(
    rf"(?:(?:the\s)?end\sof\s(?:the\s|this\s)?(next\s)?(day|today|tomorrow|week|weekend|month|quarter|year|{_MONTHS})"
    rf"\b(?:\s(\d{{4}})\b)?|(eod|eow|eom|eoy)\b)"
)
OF_DAY = re.compile(
    rf"(?:(?:eod|(?:the\s)?end\sof(?:\s(?:the\s)?day)?)\s(?:on\s)?(today|tomorrow|{_WEEKDAYS})|"
    rf"(today|tomorrow|{_WEEKDAYS})\s(?:eod|end\sof\s(?:the\s)?day))$"
)
"""The end of a day that is named, which is what the day alone means: `eod friday`, `end of friday`."""
SHORT = {"eod": "day", "eow": "week", "eom": "month", "eoy": "year"}


def take_day(text: str, clock: Clock) -> tuple[date | None, str]:
    """The day at the beginning of `text` and what follows it; `(None, text)` if there is none. Raises `Doubt`."""
    match = OF_DAY.match(text)
    text = (match[1] or match[2]) if match else text
    match = END_OF.match(text)
    if match:
        return _end_of(match, clock.today), text[match.end() :]
    match = TODAY.match(text)
    if match:
        ahead = {"today": 0, "tomorrow": 1}.get(match[1], 2)
        return clock.today + timedelta(days=ahead), text[match.end() :]
    match = NAMED.match(text)
    if match:
        return _named(match, text, clock)
    return _dated(text, clock.today)


def _dated(text: str, today: date) -> tuple[date | None, str]:
    match = ISO.match(text)
    if match:
        return _real(int(match[1]), int(match[2]), int(match[3])), text[match.end() :]
    match = DAY_MONTH.match(text)
    if match:
        return _of_year(match[3], MONTH[match[2]], int(match[1]), today), text[match.end() :]
    match = MONTH_DAY.match(text)
    if match:
        return _of_year(match[3], MONTH[match[1]], int(match[2]), today), text[match.end() :]
    match = NUMERIC.match(text)
    if match:
        raise Doubt("can be read in several ways", *_readings(match, today))
    return None, text


def _named(match: re.Match[str], text: str, clock: Clock) -> tuple[date, str]:
    """A weekday: the coming one. Today's own name, and `next`, may mean two days."""
    rest = text[match.end() :]
    weekday = WEEKDAY[match[2]]
    day, after = _dated(rest.strip(), clock.today)
    if day is not None:
        if day.weekday() != weekday:
            raise Doubt(
                f"names a {WEEKDAYS[weekday].title()}, but {day} is a {WEEKDAYS[day.weekday()].title()}", str(day)
            )
        return day, after
    ahead = (weekday - clock.today.weekday()) % 7
    coming = clock.today + timedelta(days=ahead)
    week_later = coming + timedelta(days=7)
    if match[1] == "next" or not ahead:
        raise Doubt("may mean two days", f"{coming}{rest}", f"{week_later}{rest}")
    return coming, rest


def _end_of(match: re.Match[str], today: date) -> date:
    next_one, what = bool(match[1]), SHORT.get(match[4] or "", match[2])
    if what in ("day", "today", "tomorrow"):
        return today + timedelta(days=1 if what == "tomorrow" or next_one else 0)
    if what in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 if next_one else 0)
        raise Doubt("may mean two days", f"{monday + timedelta(days=4)}", f"{monday + timedelta(days=6)}")
    if what == "month":
        return last_of_month(add_months(today, 1 if next_one else 0))
    if what == "quarter":
        month = (today.month - 1) // 3 * 3 + 3 + (3 if next_one else 0)
        return last_of_month(add_months(today.replace(month=1, day=1), month - 1))
    if what == "year":
        return date(today.year + (1 if next_one else 0), 12, 31)
    year = int(match[3]) if match[3] else today.year
    last = last_of_month(_real(year, MONTH[what], 1))
    if last < today and not match[3]:
        raise Doubt(f"is over for {today.year}", f"{last_of_month(date(year + 1, MONTH[what], 1))}", code="end-past")
    return last


def _of_year(year: str | None, month: int, day: int, today: date) -> date:
    if year:
        return _real(int(year), month, day)
    if (month, day) == (2, 29):
        raise Doubt("needs a year", *(f"{y}-02-29" for y in range(today.year, today.year + 9) if _leap(y)))
    found = _real(today.year, month, day)
    if found < today:
        raise Doubt(f"is over for {today.year}", f"{_real(today.year + 1, month, day)}", code="end-past")
    return found


def _real(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        proposals = []
        if 1 <= year <= 9998 and 1 <= month <= 12:
            proposals = [f"{last_of_month(date(year, month, 1))}"]
        raise Doubt("is on no calendar", *proposals) from None


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _readings(match: re.Match[str], today: date) -> list[str]:
    """The dates that `03/04/2026` may mean; with points only day before month is usual."""
    first, second, rest = int(match[1]), int(match[3]), match[5]
    year = int(match[4]) if match[4] else today.year
    year += 2000 if year < 100 else 0
    orders = [(second, first)] if match[2] == "." else [(second, first), (first, second)]
    found = []
    for month, day in orders:
        try:
            made = date(year, month, day)
            if not match[4] and made < today:
                made = date(year + 1, month, day)
        except ValueError:
            continue
        found.append(f"{made}{rest}")
    if match[2] == "." and not match[4] and first < 24 and len(match[3]) == 2:
        found.append(f"{first}:{match[3]}")
    return list(dict.fromkeys(found))
