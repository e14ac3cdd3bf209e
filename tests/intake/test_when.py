"""The grammar of ends: what is taken, what is refused with which proposals, and that nothing else can come out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.errors import Refused
from lessor.domain.request import Limits
from lessor.when import UnclearEndError, end_and_rest, local, parse_end

BERLIN = "Europe/Berlin"
WEDNESDAY = datetime(2026, 6, 3, 15, 11, tzinfo=ZoneInfo(BERLIN))


def shown(text: str, now: datetime = WEDNESDAY, zone: str = BERLIN) -> str:
    """The end as a length, or as the wall time in `zone`."""
    end = parse_end(text, now, zone)
    return end.text if end.until is None else end.until.astimezone(ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8h", "8 h"),
        ("8 hours", "8 h"),
        ("90 min", "1 h 30 min"),
        ("30m", "30 min"),
        ("1h30m", "1 h 30 min"),
        ("1 hour and 30 minutes", "1 h 30 min"),
        ("2.5h", "2 h 30 min"),
        ("24 hours", "24 h"),
        ("an hour", "1 h"),
        ("for 8h", "8 h"),
        ("in 90 min", "1 h 30 min"),
        ("3d", "Sat 2026-06-06 15:11"),
        ("3 days", "Sat 2026-06-06 15:11"),
        ("a week", "Wed 2026-06-10 15:11"),
        ("2w", "Wed 2026-06-17 15:11"),
        ("1 month", "Fri 2026-07-03 15:11"),
        ("1 day 4 h", "Thu 2026-06-04 19:11"),
        ("friday 18:00", "Fri 2026-06-05 18:00"),
        ("fri 18:00", "Fri 2026-06-05 18:00"),
        ("Friday at 6pm", "Fri 2026-06-05 18:00"),
        ("until friday, 6:30 p.m.", "Fri 2026-06-05 18:30"),
        ("18:00 on friday", "Fri 2026-06-05 18:00"),
        ("tuesday", "Wed 2026-06-10 00:00"),
        ("today 18:00", "Wed 2026-06-03 18:00"),
        ("18:00", "Wed 2026-06-03 18:00"),
        ("at 18:00:30", "Wed 2026-06-03 18:00"),
        ("noon tomorrow", "Thu 2026-06-04 12:00"),
        ("tomorrow 9:00", "Thu 2026-06-04 09:00"),
        ("tomorrow", "Fri 2026-06-05 00:00"),
        ("day after tomorrow 9:00", "Fri 2026-06-05 09:00"),
        ("2026-12-24", "Fri 2026-12-25 00:00"),
        ("2026-12-24 18:00", "Thu 2026-12-24 18:00"),
        ("2026-12-24T18:00", "Thu 2026-12-24 18:00"),
        ("2026-12-24T18:00:00Z", "Thu 2026-12-24 19:00"),
        ("2026-12-24T18:00:00.000+00:00", "Thu 2026-12-24 19:00"),
        ("2026-12-24T18:00+0530", "Thu 2026-12-24 13:30"),
        ("2026-6-7", "Mon 2026-06-08 00:00"),
        ("31 august", "Tue 2026-09-01 00:00"),
        ("until 31st of August 2027", "Wed 2027-09-01 00:00"),
        ("Aug 31, 18:00", "Mon 2026-08-31 18:00"),
        ("may 1 2027 18:00", "Sat 2027-05-01 18:00"),
        ("end of day", "Thu 2026-06-04 00:00"),
        ("eod", "Thu 2026-06-04 00:00"),
        ("end of month", "Wed 2026-07-01 00:00"),
        ("until the end of the month", "Wed 2026-07-01 00:00"),
        ("end of next month", "Sat 2026-08-01 00:00"),
        ("end of june 18:00", "Tue 2026-06-30 18:00"),
        ("end of year", "Fri 2027-01-01 00:00"),
        ("end of quarter", "Wed 2026-07-01 00:00"),
        ("end of next quarter", "Thu 2026-10-01 00:00"),
        ("end of friday", "Sat 2026-06-06 00:00"),
        ("friday eod", "Sat 2026-06-06 00:00"),
        ("EOD tomorrow", "Fri 2026-06-05 00:00"),
        ("end of the day tomorrow", "Fri 2026-06-05 00:00"),
        ("half an hour", "30 min"),
        ("today 24:00", "Thu 2026-06-04 00:00"),
        ("18:00 UTC", "Wed 2026-06-03 20:00"),
        ("18:00 America/New_York", "Thu 2026-06-04 00:00"),
        ("18:00 CEST", "Wed 2026-06-03 18:00"),
        ("Friday 5 June 2026 18:00 CEST", "Fri 2026-06-05 18:00"),
        ("\u00a0tomorrow\u200b 9:00\ufeff", "Thu 2026-06-04 09:00"),
        ("“tomorrow 9:00”", "Thu 2026-06-04 09:00"),
    ],
)
def test_taken(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the end is empty; write for example '8 h' or '3 days' or 'tomorrow 18:00'"),
        ("foo", "'foo' is not understood; write for example '8 h' or '3 days' or 'tomorrow 18:00'"),
        ("wednesday 18:00", "'wednesday 18:00' may mean two days; do you mean '2026-06-03 18:00' or "
         "'2026-06-10 18:00'?"),
        ("next friday", "'next friday' may mean two days; do you mean '2026-06-05' or '2026-06-12'?"),
        ("end of week", "'end of week' may mean two days; do you mean '2026-06-05' or '2026-06-07'?"),
        ("tonight", "'tonight' is no time of day; do you mean 'today 22:00' or 'today 24:00'?"),
        ("friday evening", "'friday evening' is no time of day; do you mean 'friday 18:00' or 'friday 22:00'?"),
        ("next week", "'next week' may mean several days; do you mean '2026-06-08' or '2026-06-12' or '2026-06-14'?"),
        ("this weekend", "'this weekend' may mean several days; do you mean '2026-06-06' or '2026-06-07'?"),
        ("until next month", "'until next month' may mean several days; do you mean '2026-07-01' or '2026-07-31'?"),
        ("half a day", "'half a day' has a part of a day, week, month or year; do you mean '12 h'?"),
        ("8", "'8' has no unit; do you mean '8 h' or '8 days'?"),
        ("tomorrow 9", "'tomorrow 9' has a number that is no clear time of day; do you mean '2026-06-04 09:00' or "
         "'2026-06-04 21:00'?"),
        ("until 18h", "'until 18h' has a length after 'until'; do you mean '18h' or '18:00'?"),
        ("for friday", "'for friday' has a point in time after 'for'; do you mean 'friday'?"),
        ("11/12/2026", "'11/12/2026' can be read in several ways; do you mean '2026-12-11' or '2026-11-12'?"),
        ("24.12.2026 18:00", "'24.12.2026 18:00' can be read in several ways; do you mean '2026-12-24 18:00'?"),
        ("1,5h", "'1,5h' has a decimal comma; do you mean '1.5 h' or '1 h'?"),
        ("1.5 days", "'1.5 days' has a part of a day, week, month or year; do you mean '36 h' or '1 day'?"),
        ("3M", "'3M' may mean minutes or months; do you mean '3 min' or '3 months'?"),
        ("14:00", "'14:00' is in the past: Wednesday 3 June 2026 14:00 CEST, and it is Wednesday 3 June 2026 15:11 "
         "CEST now; do you mean 'tomorrow 14:00'?"),
        ("3 may", "'3 may' is over for 2026; do you mean '2027-05-03'?"),
        ("31 june", "'31 june' is on no calendar; do you mean '2026-06-30'?"),
        ("29 feb", "'29 feb' needs a year; do you mean '2028-02-29' or '2032-02-29'?"),
        ("thursday 5 june 2026", "'thursday 5 june 2026' names a Thursday, but 2026-06-05 is a Friday; do you mean "
         "'2026-06-05'?"),
        ("18:00 PST", "'18:00 PST' has the zone PST, which your zone does not have then; do you mean "
         "'2026-06-03 18:00' or '2026-06-03 18:00 UTC'?"),
        ("midnight", "'midnight' may mean two midnights; do you mean '2026-06-04 00:00'?"),
        ("25:00", "'25:00' has the time 25:00, which is on no clock; write for example '8 h' or '3 days' or "
         "'tomorrow 18:00'"),
        ("13pm", "'13pm' has 13 with am or pm, which goes from 1 to 12; write for example '8 h' or '3 days' or "
         "'tomorrow 18:00'"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str) -> None:
    with pytest.raises(UnclearEndError) as caught:
        parse_end(text, WEDNESDAY, BERLIN)
    assert str(caught.value) == message


def test_a_very_long_text_is_refused_and_not_repeated() -> None:
    with pytest.raises(UnclearEndError) as caught:
        parse_end("x" * 10_000, WEDNESDAY, BERLIN)
    assert len(str(caught.value)) < 250


def test_without_a_known_zone_lengths_work_and_clock_times_need_a_zone() -> None:
    assert parse_end("8h", WEDNESDAY, "Nowhere/Land").duration == timedelta(hours=8)
    assert parse_end("2026-12-24T18:00Z", WEDNESDAY, "Nowhere/Land").until == datetime(2026, 12, 24, 18, tzinfo=UTC)
    with pytest.raises(UnclearEndError) as caught:
        parse_end("tomorrow 18:00", WEDNESDAY, "Nowhere/Land")
    assert str(caught.value) == (
        "'tomorrow 18:00' needs a time zone, and 'Nowhere/Land' is none; do you mean 'tomorrow 18:00 utc'?"
    )


def test_B18_an_instant_without_zone_is_refused_at_the_border() -> None:
    """A value without zone is refused with a clear message."""
    with pytest.raises(Refused, match="now has no time zone"):
        parse_end("8h", datetime(2026, 6, 3, 15, 11), BERLIN)  # noqa: DTZ001


def test_A33_instants_read_in_the_viewers_zone() -> None:
    at = datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert local(at, "Asia/Tokyo") == "Monday 1 June 2026 18:00 JST"
    assert local(at, "America/Sao_Paulo") == "Monday 1 June 2026 06:00 UTC-03"
    assert local(at, "Nowhere/Land") == "Monday 1 June 2026 09:00 UTC"


@pytest.mark.parametrize(
    ("text", "expected", "rest"),
    [
        ("3d the data came late", "Mon 2026-06-08 18:00", "the data came late"),
        ("2h", "Fri 2026-06-05 20:00", ""),
        ("until friday 20:00 please", "Fri 2026-06-05 20:00", "please"),
        ("friday", "Sat 2026-06-06 00:00", ""),
    ],
)
def test_an_end_and_the_reason_after_it(text: str, expected: str, rest: str) -> None:
    friday = datetime(2026, 6, 5, 18, tzinfo=ZoneInfo(BERLIN))
    until, reason = end_and_rest(text, WEDNESDAY, BERLIN, friday)
    assert (until.astimezone(ZoneInfo(BERLIN)).strftime("%a %Y-%m-%d %H:%M"), reason) == (expected, rest)


@pytest.mark.parametrize("text", ["today 14:00 please", "whenever it is done", ""])
def test_an_end_that_is_refused_is_not_cut_until_it_fits(text: str) -> None:
    with pytest.raises(UnclearEndError):
        end_and_rest(text, WEDNESDAY, BERLIN)


ZONES = st.sampled_from(
    ["UTC", BERLIN, "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo",
     "Pacific/Apia", "Asia/Kathmandu", "America/Havana"]
)  # fmt: skip
NOWS = st.integers(0, 7 * 365 * 86_400).map(lambda s: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=s))
WORDS = re.findall(
    r"\S+",
    "in for until at on the end of next this today tomorrow friday mon week month june feb 29 31 1 0 24 12:30 25:00 "
    "6pm 8h 3d 1.5 1,5 2026-02-30 2028-02-29 01/02/2030 24.12. -3h noon midnight utc CET EST +01:00 z Europe/Berlin M "
    "min days a eow , and",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS | st.text(max_size=30), NOWS, ZONES, st.booleans())
def test_every_text_is_taken_or_refused_and_every_proposal_is_taken(
    text: str, now: datetime, zone: str, limited: bool
) -> None:
    limits = Limits((), (), timedelta(minutes=15), timedelta(days=30)) if limited else None
    try:
        ends = [parse_end(text, now, zone, limits=limits)]
    except UnclearEndError as refused:
        ends = [parse_end(proposal, now, zone, limits=limits) for proposal in refused.proposals]
    assert ends
    for end in ends:
        assert end.instant(now) > now
        assert (end.until is None) != (end.duration is None)


@settings(max_examples=300, deadline=None)
@given(st.integers(60, 300 * 86_400), NOWS, ZONES, ZONES)
def test_an_instant_that_is_written_reads_back_the_same_everywhere(
    seconds: int, now: datetime, zone: str, reader: str
) -> None:
    wanted = now.replace(microsecond=0) + timedelta(seconds=seconds)
    text = parse_end(wanted.isoformat(), now, zone).text
    assert parse_end(text, now, reader).until == wanted


@settings(max_examples=200, deadline=None)
@given(st.integers(60, 300 * 86_400), NOWS, ZONES)
def test_the_confirmation_itself_reads_back_the_same(seconds: int, now: datetime, zone: str) -> None:
    wanted = now.replace(microsecond=0) + timedelta(seconds=seconds)
    assert parse_end(local(wanted, zone), now, zone).until == wanted


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**7), NOWS, ZONES)
def test_a_length_that_is_written_reads_back_the_same(seconds: int, now: datetime, zone: str) -> None:
    end = parse_end(f"{seconds} s", now, zone)
    assert parse_end(end.text, now, zone) == end
