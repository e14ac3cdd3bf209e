"""Starts of reservations: what is taken and refused, the ends that belong to them, and both in a typed request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings

from lessor.domain.errors import Invalid
from lessor.domain.request import Limits
from lessor.intake import Draft, parse_request_text
from lessor.when import UnclearEndError, end_after, parse_start
from tests.intake.test_when import BERLIN, NOWS, TEXTS, WEDNESDAY, ZONES
from tests.intake.typed import NOW, Offer

LIMITS = Limits(("research",), ("research-us",), schedules=("office", "nights-off"))
WHAT = '2 x a100 80gb training "fine-tune the ranking model" team:research in research-us'


def shown(at: datetime | None) -> str:
    return at.astimezone(ZoneInfo(BERLIN)).strftime("%a %Y-%m-%d %H:%M") if at else ""


def read(text: str) -> Draft:
    return parse_request_text(f"{WHAT} {text}", BERLIN, NOW, Offer(limits=LIMITS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("monday 9:00", "Mon 2026-06-08 09:00"),
        ("from monday 9:00", "Mon 2026-06-08 09:00"),
        ("starting friday at 6pm", "Fri 2026-06-05 18:00"),
        ("from: tomorrow noon", "Thu 2026-06-04 12:00"),
        ("today 18:00", "Wed 2026-06-03 18:00"),
        ("tomorrow", "Thu 2026-06-04 00:00"),
        ("monday", "Mon 2026-06-08 00:00"),
        ("2026-07-01", "Wed 2026-07-01 00:00"),
        ("1 july", "Wed 2026-07-01 00:00"),
        ("2026-07-01T09:00+02:00", "Wed 2026-07-01 09:00"),
        ("friday 9:00 UTC", "Fri 2026-06-05 11:00"),
        ("in 2 hours", "Wed 2026-06-03 17:11"),
        ("2 days", "Fri 2026-06-05 15:11"),
        ("starting in a week", "Wed 2026-06-10 15:11"),
    ],
)
def test_taken(text: str, expected: str) -> None:
    start = parse_start(text, WEDNESDAY, BERLIN, limits=LIMITS)
    assert shown(start.at) == expected
    assert parse_start(start.text, WEDNESDAY, "Asia/Tokyo").at == start.at


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "start-unclear", "the start is empty; write for example 'tomorrow 9:00' or 'in 2 days'"),
        ("foo", "start-unknown", "'foo' is not understood; write for example 'tomorrow 9:00' or 'in 2 days'"),
        (
            "wednesday 18:00",
            "start-unclear",
            "'wednesday 18:00' may mean two days; do you mean '2026-06-03 18:00' or '2026-06-10 18:00'?",
        ),
        (
            "monday 9",
            "start-unclear",
            "'monday 9' has a number that is no clear time of day; "
            "do you mean '2026-06-08 09:00' or '2026-06-08 21:00'?",
        ),
        (
            "today 14:00",
            "start-past",
            "'today 14:00' is in the past: Wednesday 3 June 2026 14:00 CEST, "
            "and it is Wednesday 3 June 2026 15:11 CEST now; up to 90 d from now are allowed; "
            "do you mean 'tomorrow 14:00'?",
        ),
        (
            "2026-12-24",
            "start-too-far",
            "'2026-12-24' is 203 d 9 h away; up to 90 d from now are allowed; "
            "write for example 'tomorrow 9:00' or 'in 2 days'",
        ),
        ("on 3 days", "start-unclear", "'on 3 days' has a length after 'on'; do you mean 'in 3 days'?"),
    ],
)
def test_refused_with_proposals(text: str, code: str, message: str) -> None:
    with pytest.raises(UnclearEndError) as caught:
        parse_start(text, WEDNESDAY, BERLIN, limits=LIMITS)
    assert (caught.value.code, str(caught.value)) == (code, message)


MONDAY = datetime(2026, 6, 8, 9, tzinfo=ZoneInfo(BERLIN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("friday 18:00", "Fri 2026-06-12 18:00"),
        ("monday 18:00", "Mon 2026-06-08 18:00"),
        ("18:00", "Mon 2026-06-08 18:00"),
        ("8h", "Mon 2026-06-08 17:00"),
        ("3 days", "Thu 2026-06-11 09:00"),
        ("end of month", "Wed 2026-07-01 00:00"),
        ("2026-06-12", "Sat 2026-06-13 00:00"),
    ],
)
def test_an_end_is_meant_from_the_start_on(text: str, expected: str) -> None:
    assert shown(end_after(text, MONDAY, WEDNESDAY, BERLIN, LIMITS).instant(MONDAY)) == expected


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("tomorrow 18:00", "end-past", "'tomorrow 18:00' comes before the start, Monday 8 June 2026 09:00 CEST"),
        ("2026-06-07", "end-past", "'2026-06-07' comes before the start, Monday 8 June 2026 09:00 CEST"),
        ("2026-08-07", "end-too-far", "is 60 d 15 h after the start; 15 min to 30 d after it are allowed"),
        ("9:10", "end-too-early", "is 10 min after the start; 15 min to 30 d after it are allowed"),
        ("end of week", "end-unclear", "do you mean '2026-06-12' or '2026-06-14'?"),
        ("whenever", "end-unknown", "is not understood"),
    ],
)
def test_an_end_that_does_not_fit_the_start(text: str, code: str, words: str) -> None:
    with pytest.raises(UnclearEndError) as caught:
        end_after(text, MONDAY, WEDNESDAY, BERLIN, LIMITS)
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "from monday 9:00 until friday 18:00",
        "until friday 18:00 from monday 9:00",
        "start:monday 9:00 until friday 18:00",
        "start=monday 9:00 end=friday 18:00",
        "--start monday 9:00 --until friday 18:00",
        "starting monday 9:00, until friday 18:00",
        'start:"monday 9:00" until:"friday 18:00"',
    ],
)
def test_start_and_end_in_any_order(text: str) -> None:
    draft = read(text)
    assert (draft.problems, draft.missing) == ((), ())
    request = draft.request("U0REQUESTER", "slack:1")
    assert (shown(request.start), shown(request.until)) == ("Mon 2026-06-08 09:00", "Fri 2026-06-12 18:00")
    assert request.purpose == "fine-tune the ranking model"


def test_a_length_counts_from_when_it_is_ready() -> None:
    request = read("from monday 9:00 for 8h").request("U0REQUESTER", "slack:1")
    assert (shown(request.start), request.until, request.duration) == ("Mon 2026-06-08 09:00", None, timedelta(hours=8))


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("from wednesday 18:00 for 8h", "start", "may mean two days; do you mean '2026-06-03 18:00' or"),
        ("from monday 9 for 8h", "start", "has a number that is no clear time of day"),
        ("from 9:00 for 8h", "start", "is in the past"),
        ("from monday 9:00 start:friday 9:00 8h", "start", "both 'from monday 9:00' and 'friday 9:00' are given"),
        ("from monday 9:00 until tomorrow 18:00", "end", "comes before the start"),
        ("8h schedule:weekends", "schedule", "'weekends' is no schedule; there are: office, nights-off"),
    ],
)
def test_what_is_not_clear_is_asked(text: str, field: str, words: str) -> None:
    draft = read(text)
    assert [problem.field for problem in draft.problems] == [field]
    assert words in draft.problems[0].message
    with pytest.raises(Invalid):
        draft.request("U0REQUESTER", "slack:1")


@pytest.mark.parametrize("text", ["schedule:office 8h", "8h hours=Office", "--schedule office for 8h"])
def test_a_schedule_by_name(text: str) -> None:
    assert read(text).request("U0REQUESTER", "slack:1").schedule == "office"


@pytest.mark.parametrize(
    "text",
    [
        "8h experiment team:research in research-us 2 x a100 read logs from friday",
        "8h experiment team:research in research-us 2 x a100 data from 2024",
        "8h experiment team:research in research-us 2 x a100 from scratch",
        '8h experiment team:research in research-us 2 x a100 "from monday 9:00 on"',
    ],
)
def test_a_purpose_may_say_from(text: str) -> None:
    draft = parse_request_text(text, BERLIN, NOW, Offer(limits=LIMITS))
    assert (draft.start, draft.problems, draft.missing) == (None, (), ())
    assert "from" in draft.purpose


@settings(max_examples=300, deadline=None)
@given(TEXTS, NOWS, ZONES)
def test_every_text_is_taken_or_refused_and_every_proposal_is_taken(text: str, now: datetime, zone: str) -> None:
    try:
        starts = [parse_start(text, now, zone, limits=LIMITS)]
    except UnclearEndError as refused:
        starts = [parse_start(proposal, now, zone, limits=LIMITS) for proposal in refused.proposals]
    for start in starts:
        assert now < start.at <= now + LIMITS.max_ahead
        assert start.at.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("starting yesterday for 3d", "'yesterday' is not understood"),
        ("starting 3 days ago for 1d", "'3 days ago' is not understood"),
        ("starting next week for 3d", "next week' may mean several days"),
        ("starting next friday for 2d", "next friday' may mean two days"),
        ("beginning monday morning, 3d", "monday morning' is no time of day"),
        ("starting at noon for 8h", "at noon' is in the past"),
        ("from tonight for 3d", "tonight' is no time of day"),
    ],
)
def test_a_start_that_is_no_instant_is_asked_and_never_hidden_in_the_purpose(text: str, words: str) -> None:
    draft = read(text)
    assert [problem.field for problem in draft.problems] == ["start"]
    assert words in draft.problems[0].message
    assert draft.purpose == "fine-tune the ranking model"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("starting friday for 2d", "Fri 2026-06-05 00:00"),
        ("from monday for 2d", "Mon 2026-06-08 00:00"),
        ("for 2d begin tomorrow", "Thu 2026-06-04 00:00"),
        ("starting the day after tomorrow for 2d", "Fri 2026-06-05 00:00"),
    ],
)
def test_a_start_is_read_behind_a_purpose_in_quotes(text: str, expected: str) -> None:
    request = read(text).request("U0REQUESTER", "slack:1")
    assert (shown(request.start), request.purpose) == (expected, "fine-tune the ranking model")


def test_a_purpose_may_speak_of_starting_something() -> None:
    draft = read("8h starting a new experiment")
    assert (draft.start, draft.problems) == (None, ())
    assert draft.purpose == "fine-tune the ranking model starting a new experiment"
