"""From text to an end, or to a refusal with proposals that would be accepted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lessor.domain.errors import aware
from lessor.domain.request import Limits, spell, to_the_minute
from lessor.typed import single_spaced
from lessor.when.clock import Clock, Reading, local, zone_name, zone_of
from lessor.when.end import Doubt, End, UnclearEndError, exact, written
from lessor.when.moments import Moment, parse_moment
from lessor.when.spans import Span, parse_span
from lessor.when.vague import ask_back

LONGEST_TEXT = 100
MOST_WORDS = 8
PREFIX = re.compile(r"(in|for|until|till|til|through|on|at)\s")
FOR_SPANS = ("in", "for")
UNRANGED = ("end-unclear", "end-unknown")
EXPLICIT = re.compile(r"(\b(utc|gmt)|\dz|[+\-]\d\d?(:?\d\d)?|/[a-z_]+)$")
MARKS = "`*_.,;!\"'“”‘’ "
FARTHEST = timedelta(days=3_660)
EXAMPLES = ("8 h", "3 days", "tomorrow 18:00")
MONTHS_OR_MINUTES = re.compile(r"(\d{1,6})\s?M\b")


def parse_end(
    text: str, now: datetime, zone: str = "UTC", *, base: datetime | None = None, limits: Limits | None = None
) -> End:
    """The end that `text` means to somebody in `zone` (an IANA name) at `now`.

    Days and months count from `base` (the present end, when a lease is extended) or from `now`. With `limits` the end
    has to lie within them. Raises `UnclearEndError`, a `Refused`: end-unknown (speaks of no end at all), end-unclear,
    end-past, end-too-early, end-too-far.
    """
    aware("now", now)
    try:
        return _parsed(text, now, zone, base, limits)
    except Doubt as found:
        known = speaks_of_an_end(text, now, zone, base)
        doubt = found if known or not found.proposals else Doubt("is not understood", code="end-unknown")
        offered = [*doubt.proposals, *_examples(limits)]
        accepted = [one for one in dict.fromkeys(offered) if _accepted(one, now, zone, base, limits)]
        meant = [one for one in accepted if one in doubt.proposals]
        why = str(doubt) if doubt.code in UNRANGED else f"{doubt}{_allowed(limits)}"
        raise refused(doubt.code, text or "the end", why, meant or accepted, meant=bool(meant)) from None


def refused(code: str, text: str, why: str, proposals: Sequence[str], *, meant: bool) -> UnclearEndError:
    """The refusal of what was typed, with up to three texts that would be accepted, which may have been `meant`."""
    said, offered = single_spaced(text), tuple(proposals)[:3]
    quoted = f"'{said[:60]}'" if said not in ("the end", "the start") else said
    listed = " or ".join(f"'{one}'" for one in offered)
    words = f"; do you mean {listed}?" if meant else f"; write for example {listed}"
    return UnclearEndError(code, f"{quoted} {why}{words if offered else ''}", offered)


def spoken_there(moment: Moment, reading: Reading) -> Reading:
    """Of the instants that the wall time can mean, the one at which the zone has the spoken abbreviation."""
    for at in (reading.at, reading.second):
        there = at.astimezone(moment.clock.zone) if at else None
        if at and there and zone_name(there).casefold() == moment.spoken_zone:
            return Reading(at, skipped=reading.skipped)
    plain = f"{moment.wall:%Y-%m-%d %H:%M}"
    raise Doubt(f"has the zone {moment.spoken_zone.upper()}, which your zone does not have then", plain, f"{plain} UTC")


def end_and_rest(text: str, now: datetime, zone: str, base: datetime | None = None) -> tuple[datetime, str]:
    """The instant that the first words of `text` mean, as many as make an end, and the words after them.

    Lengths count from `base`, the end that holds, or from `now`. What is understood but refused is never made shorter
    until it fits: `today 18:00` is not `today`. Raises `UnclearEndError`.
    """
    words = single_spaced(text).split(" ")
    for count in range(min(len(words), MOST_WORDS), 1, -1):
        if speaks_of_an_end(" ".join(words[:count]), now, zone, base):
            break
    else:
        count = 1
    end = parse_end(" ".join(words[:count]), now, zone, base=base)
    return end.instant(base or now), " ".join(words[count:])


def speaks_of_an_end(text: str, now: datetime, zone: str, base: datetime | None = None) -> bool:
    """Whether `text` is an end at all, allowed or not: cheaper than `parse_end`, which looks for proposals too."""
    if too_long(text):
        return False
    try:
        _parsed(text, now, zone, base, None)
    except Doubt as doubt:
        if doubt.proposals and doubt.code == "end-unclear":
            return any(speaks_of_an_end(one, now, zone, base) for one in doubt.proposals)
        return doubt.code != "end-unknown"
    return True


def too_long(text: str) -> bool:
    """Whether it has more characters than any time that people write."""
    return len(single_spaced(text).strip(MARKS)) > LONGEST_TEXT


def _parsed(text: str, now: datetime, zone: str, base: datetime | None, limits: Limits | None) -> End:
    plain = single_spaced(text).strip(MARKS)
    if not plain:
        raise Doubt("is empty")
    if len(plain) > LONGEST_TEXT:
        raise Doubt(f"has {len(plain):,} characters, too many for an end")
    minutes = MONTHS_OR_MINUTES.fullmatch(plain)
    if minutes:
        raise Doubt("may mean minutes or months", f"{minutes[1]} min", f"{minutes[1]} months")
    try:
        end = _understood(plain.casefold(), now, zone, base or now)
        _check_range(end, now, base, limits)
    except (OverflowError, ValueError):
        raise Doubt("is too far away", code="end-too-far") from None
    return end


def _understood(text: str, now: datetime, zone: str, base: datetime) -> End:
    prefix = PREFIX.match(text)
    word = prefix[1] if prefix else ""
    body = text[prefix.end() :].strip() if prefix else text
    known = zone_of(zone)
    span = parse_span(body)
    if span:
        if word and word not in FOR_SPANS:
            hour = re.fullmatch(r"(\d{1,2})\s?h", body)
            raise Doubt(f"has a length after '{word}'", body, *([f"{hour[1]}:00"] if hour else []))
        return _span_end(span, Clock(base, known or UTC), zone, known=bool(known))
    moment = parse_moment(body, Clock(now, known or UTC))
    if moment is None:
        ask_back(body, Clock(now, known or UTC))
        raise Doubt("is not understood", code="end-unknown")
    if word in FOR_SPANS:
        raise Doubt(f"has a point in time after '{word}'", body)
    if not known and not EXPLICIT.search(body):
        raise Doubt(f"needs a time zone, and '{zone[:40]}' is none", f"{body} utc")
    return _moment_end(moment, now, zone if known else "UTC")


def _span_end(span: Span, clock: Clock, zone: str, *, known: bool) -> End:
    if not span.calendar:
        return End(duration=span.elapsed, zone=zone if known else "UTC")
    if not known:
        raise Doubt(f"needs a time zone, and '{zone[:40]}' is none", "24 h")
    reading = span.after(clock)
    length = reading.at - clock.now
    return End(until=reading.at, zone=zone, second=reading.second, skipped=reading.skipped, length=length)


def _moment_end(moment: Moment, now: datetime, zone: str) -> End:
    reading = moment.clock.read(moment.wall)
    if moment.spoken_zone:
        reading = spoken_there(moment, reading)
    past = reading.at <= now
    if past and reading.second and reading.second > now:
        raise Doubt("has passed once and comes again, the clocks go back", written(reading.second, zone))
    if past:
        later = ["today", "tomorrow"] if moment.whole_day else [f"tomorrow {moment.wall:%H:%M}"]
        why = f"is in the past: {local(reading.at, zone)}, and it is {local(now, zone)} now"
        raise Doubt(why, *(f"{one}{moment.said_zone}" for one in later), code="end-past")
    return End(
        until=reading.at,
        zone=zone,
        whole_day=moment.whole_day,
        second=reading.second,
        skipped=reading.skipped,
    )


def _check_range(end: End, now: datetime, base: datetime | None, limits: Limits | None) -> None:
    """An extended end may lie as far away as the lease's terms allow, so only its least distance is checked here."""
    away = end.instant(base or now) - now
    if limits is None:
        if away > FARTHEST:
            raise Doubt("is too far away", code="end-too-far")
        return
    if away < limits.min_duration:
        raise Doubt(f"is only {spell(away)} away", code="end-too-early")
    if away > limits.max_duration and base is None:
        shown = to_the_minute(away)
        raise Doubt(f"is {spell(shown if shown > limits.max_duration else away)} away", code="end-too-far")


def _allowed(limits: Limits | None) -> str:
    if limits is None:
        return ""
    return f"; {spell(limits.min_duration)} to {spell(limits.max_duration)} from now are allowed"


def _examples(limits: Limits | None) -> tuple[str, ...]:
    if limits is None:
        return EXAMPLES
    return (*EXAMPLES, exact(limits.max_duration), exact(limits.min_duration))


def _accepted(text: str, now: datetime, zone: str, base: datetime | None, limits: Limits | None) -> bool:
    try:
        _parsed(text, now, zone, base, limits)
    except Doubt:
        return False
    return True
