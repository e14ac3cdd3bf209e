"""Dates and times of day as people write them; a date without a time lasts until the following midnight (F25)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from lessor.when.clock import Clock, zone_name, zone_of
from lessor.when.days import take_day
from lessor.when.end import Doubt

TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d{1,6})?(?!\d)\s?(am|pm|a\.m\.?|p\.m\.?)?(?![a-y])")
TWELVE = re.compile(r"(\d{1,2})\s?(am|pm|a\.m\.?|p\.m\.?)(?![a-z])")
OFFSET = re.compile(r"(?:utc|gmt)?([+\-−])(\d{1,2}):?(\d{2})?$")
AREA = re.compile(r"[a-z_]+(?:/[a-z0-9_+\-]+)+$")
GLUED = re.compile(r"(?<=\d)(?:z|[+\-−]\d{2}:?\d{2})$")
LETTERS = frozenset(
    re.findall(
        r"\w+",
        "acdt acst adt aedt aest akdt akst art ast awst brt bst cat cdt cest cet cst eat edt eest eet est gst hkt hst "
        "ist jst kst mdt msk mst ndt nst nzdt nzst pdt pkt pst pht sast sgt wat west wet wib",
    )
)
"""Abbreviations that people write after a time; those of the person's own zone are added."""


@dataclass(frozen=True)
class Moment:
    """A wall time on a clock.

    `spoken_zone` is an abbreviation such as `cet` that the time has to have there; `said_zone` is the zone as it was
    written, for proposals.
    """

    clock: Clock
    wall: datetime
    whole_day: bool = False
    spoken_zone: str = ""
    said_zone: str = ""


def parse_moment(text: str, clock: Clock) -> Moment | None:
    """The moment that `text` (lower case, single spaces) says; `None` if it is none. Raises `Doubt`."""
    body, zone, spoken = _zone(text, _own_letters(clock))
    said = text[len(body) :]
    try:
        return _moment(body, clock.moved(zone) if zone else clock, spoken, said)
    except Doubt as doubt:
        raise Doubt(str(doubt), *(f"{one}{said}" for one in doubt.proposals), code=doubt.code) from None


def _moment(body: str, clock: Clock, spoken: str, said: str) -> Moment | None:
    day, rest = take_day(body, clock)
    rest = re.sub(r"^(?:at\s|,\s?|t(?=\d))", "", rest.strip()).strip()
    clock_time, rest = _time(rest, day or clock.today)
    if day is None and clock_time is not None:
        day, rest = take_day(re.sub(r"^on\s", "", rest.strip()), clock)
    if rest.strip() or (day is None and clock_time is None):
        return None
    if clock_time is None:
        if spoken:
            return None
        return Moment(clock, _midnight_after(day or clock.today), whole_day=True, said_zone=said)
    extra, at = clock_time
    date_of = (day or clock.today) + timedelta(days=extra)
    return Moment(clock, datetime.combine(date_of, at), spoken_zone=spoken, said_zone=said)


def _midnight_after(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time())


def _zone(text: str, own: frozenset[str]) -> tuple[str, tzinfo | None, str]:
    """`text` without a zone at its end, the zone, and an abbreviation that only the date can tell."""
    glued = GLUED.search(text)
    if glued and ":" in text[: glued.start()]:
        head, last = text[: glued.start()], glued.group()
    else:
        head, _, last = text.rpartition(" ")
    if not head:
        return text, None, ""
    if last in ("utc", "gmt", "z"):
        return head, UTC, ""
    offset = OFFSET.match(last)
    named = _fixed(offset) if offset else zone_of(last) if AREA.match(last) else None
    if named:
        return head, named, ""
    if TIME.search(head) and last in LETTERS | own:
        return head, None, last
    return text, None, ""


def _own_letters(clock: Clock) -> frozenset[str]:
    """The abbreviations that the clock's zone has within a year."""
    months = (clock.now + timedelta(days=30 * month) for month in range(13))
    return frozenset(zone_name(at.astimezone(clock.zone)).casefold() for at in months)


def _fixed(offset: re.Match[str]) -> tzinfo:
    hours, minutes = int(offset[2]), int(offset[3] or 0)
    if hours > 14 or minutes > 59:
        raise Doubt("has an offset that no zone has")
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(away if offset[1] == "+" else -away)


def _time(text: str, day: date) -> tuple[tuple[int, time] | None, str]:
    """The time of day at the beginning of `text`, with the days it adds (24:00), and what follows it."""
    noon = re.match(r"(?:noon|midday)\b", text)
    if noon:
        return (0, time(12)), text[noon.end() :]
    if re.match(r"midnight\b", text):
        following = day + timedelta(days=1)
        raise Doubt("may mean two midnights", f"{day} 00:00", f"{following} 00:00")
    match = TIME.match(text)
    if match:
        at = _time_of_day(int(match[1]), int(match[2]), int(match[3] or 0), match[4])
        return at, text[match.end() :]
    match = TWELVE.match(text)
    if match:
        return _time_of_day(int(match[1]), 0, 0, match[2]), text[match.end() :]
    bare = re.fullmatch(r"(\d{1,2})(?:[h.](\d{2})?)?", text)
    if bare and int(bare[1]) < 24:
        minutes = bare[2] or "00"
        raise Doubt("has a number that is no clear time of day", *_clock_proposals(day, int(bare[1]), minutes))
    return None, text


def _clock_proposals(day: date, hour: int, minutes: str) -> list[str]:
    hours = [hour, hour + 12] if 0 < hour < 12 and minutes == "00" else [hour]
    return [f"{day} {one:02}:{minutes}" for one in hours]


def _time_of_day(hour: int, minute: int, second: int, half: str | None) -> tuple[int, time]:
    if half:
        if not 1 <= hour <= 12:
            raise Doubt(f"has {hour} with am or pm, which goes from 1 to 12")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    if (hour, minute, second) == (24, 0, 0):
        return 1, time()
    if hour > 23 or minute > 59 or second > 59:
        raise Doubt(f"has the time {hour}:{minute:02}, which is on no clock")
    return 0, time(hour, minute, second)
