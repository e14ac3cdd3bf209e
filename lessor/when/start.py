"""Starts of reservations, and the ends that belong to them: `monday 9:00`, `in 2 days`, `2026-12-24`.

A day without a time begins with its midnight. Of an end that is said together with a start, weekdays and times of day
mean those after the start, while `today` and `tomorrow` mean what they always mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lessor.domain.errors import aware
from lessor.domain.request import Limits, spell
from lessor.typed import single_spaced
from lessor.when.clock import Clock, local, zone_of
from lessor.when.end import Doubt, End, UnclearEndError, written
from lessor.when.moments import parse_moment
from lessor.when.parsing import EXPLICIT, LONGEST_TEXT, MARKS, parse_end, refused, spoken_there, too_long
from lessor.when.spans import parse_span
from lessor.when.vague import ask_back

PREFIX = re.compile(r"(?:(?:from|start(?:s|ing)?|begin(?:s|ning)?)\b:?\s?)?(?:(in|on|at|from)\s)?")
RELATIVE = re.compile(r"\b(today|tomorrow)\b", re.IGNORECASE)
EXAMPLES = ("tomorrow 9:00", "in 2 days")
UNRANGED = ("start-unclear", "start-unknown")


@dataclass(frozen=True)
class Start:
    """When a reservation begins; `second` is the other instant that a doubled wall time could mean."""

    at: datetime
    zone: str = "UTC"
    second: datetime | None = None
    skipped: bool = False

    @property
    def text(self) -> str:
        """A form that `parse_start` reads back as the same instant, whatever the zone of the reader."""
        return written(self.at, self.zone)

    def confirmation(self) -> str:
        """What was understood: weekday, date, time and zone, and what to write if something else was meant."""
        begins = f"from {local(self.at, self.zone)}"
        if self.second:
            return f"{begins}, the first of two that night; for the second write {written(self.second, self.zone)}"
        return f"{begins}; the clocks skip the time that was written" if self.skipped else begins


def parse_start(text: str, now: datetime, zone: str = "UTC", *, limits: Limits | None = None) -> Start:
    """The start that `text` means to somebody in `zone` at `now`; with `limits` not farther away than they allow.

    Raises `UnclearEndError`: start-unknown (speaks of no time at all), start-unclear, start-past, start-too-far.
    """
    aware("now", now)
    try:
        return _parsed(text, now, zone, limits)
    except Doubt as doubt:
        offered = [one for one in (*doubt.proposals, *EXAMPLES) if _accepted(one, now, zone, limits)]
        meant = [one for one in offered if one in doubt.proposals]
        code = doubt.code.replace("end-", "start-")
        allowed = f"; up to {spell(limits.max_ahead)} from now are allowed" if limits and code not in UNRANGED else ""
        raise refused(code, text or "the start", f"{doubt}{allowed}", meant or offered, meant=bool(meant)) from None


def speaks_of_a_start(text: str, now: datetime, zone: str) -> bool:
    """Whether `text` is a start at all, allowed or not."""
    if too_long(text):
        return False
    try:
        _parsed(text, now, zone, None)
    except Doubt as doubt:
        if doubt.proposals and doubt.code == "end-unclear":
            return any(speaks_of_a_start(one, now, zone) for one in doubt.proposals)
        return doubt.code != "end-unknown"
    return True


def end_after(text: str, start: datetime, now: datetime, zone: str, limits: Limits | None = None) -> End:
    """The end that `text` means, said at `now` of something that begins at `start`. Raises `UnclearEndError`.

    With `limits` it has to last as long as they allow. Lengths count from the start.
    """
    early = False
    for since in (now,) if RELATIVE.search(text) else (now, start):
        try:
            end = parse_end(text, since, zone, base=start)
        except UnclearEndError as unclear:
            early = early or unclear.code == "end-past"
            continue
        if end.instant(start) > start:
            _require_length(text, end.instant(start) - start, limits)
            return end
        early = True
    if not early:
        return parse_end(text, start, zone, base=start)
    raise UnclearEndError(
        "end-past", f"'{single_spaced(text)[:60]}' comes before the start, {local(start, zone)}; give a later end", ()
    )


def _parsed(text: str, now: datetime, zone: str, limits: Limits | None) -> Start:
    plain = single_spaced(text).strip(MARKS)
    if not plain or len(plain) > LONGEST_TEXT:
        raise Doubt("is empty" if not plain else f"has {len(plain):,} characters, too many for a start")
    try:
        start = _understood(plain.casefold(), now, zone)
    except (OverflowError, ValueError):
        raise Doubt("is too far away", code="end-too-far") from None
    if start.at <= now:
        raise _past(start, now)
    if limits and start.at - now > limits.max_ahead:
        raise Doubt(f"is {spell(start.at - now)} away", code="end-too-far")
    return start


def _understood(text: str, now: datetime, zone: str) -> Start:
    prefix = PREFIX.match(text)
    body, word = (text[prefix.end() :].strip(), prefix[1]) if prefix else (text, None)
    known = zone_of(zone)
    clock = Clock(now, known or UTC)
    span = parse_span(body)
    if span:
        if word and word != "in":
            raise Doubt(f"has a length after '{word}'", f"in {body}")
        reading = span.after(clock)
        return Start(reading.at, zone if known else "UTC", reading.second, reading.skipped)
    moment = parse_moment(body, clock)
    if moment is None:
        ask_back(body, clock)
        raise Doubt("is not understood", code="end-unknown")
    if not known and not EXPLICIT.search(body):
        raise Doubt(f"needs a time zone, and '{zone[:40]}' is none", f"{body} utc")
    # A day without a time lasts until the following midnight as an end, and begins with the one before it as a start.
    reading = moment.clock.read(moment.wall - timedelta(days=1) if moment.whole_day else moment.wall)
    if moment.spoken_zone:
        reading = spoken_there(moment, reading)
    return Start(reading.at, zone if known else "UTC", reading.second, reading.skipped)


def _past(start: Start, now: datetime) -> Doubt:
    if start.second and start.second > now:
        return Doubt("has passed once and comes again, the clocks go back", written(start.second, start.zone))
    there = start.at.astimezone(zone_of(start.zone) or UTC)
    why = f"is in the past: {local(start.at, start.zone)}, and it is {local(now, start.zone)} now"
    return Doubt(why, f"tomorrow {there:%H:%M}", code="end-past")


def _require_length(text: str, length: timedelta, limits: Limits | None) -> None:
    if limits is None or limits.min_duration <= length <= limits.max_duration:
        return
    code = "end-too-early" if length < limits.min_duration else "end-too-far"
    allowed = f"{spell(limits.min_duration)} to {spell(limits.max_duration)} after it are allowed"
    raise UnclearEndError(code, f"'{single_spaced(text)[:60]}' is {spell(length)} after the start; {allowed}", ())


def _accepted(text: str, now: datetime, zone: str, limits: Limits | None) -> bool:
    try:
        _parsed(text, now, zone, limits)
    except Doubt:
        return False
    return True
