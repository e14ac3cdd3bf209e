"""What may be asked for: every limit, and the words at the field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.request import Limits, Need, Request, spell, validate
from tests.builders import ASKED, a_need, a_place, a_request, some_limits

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ALLOWED = "15 min to 30 d from now are allowed"


def errors(request: Request, limits: Limits | None = None) -> list[tuple[str, str]]:
    try:
        validate(request, limits or some_limits(), ASKED)
    except Invalid as invalid:
        return [(e.field, e.message) for e in invalid.errors]
    return []


@pytest.mark.parametrize(
    "request_",
    [
        a_request(),
        a_request(purpose="abc"),
        a_request(purpose="x" * 8_000),
        a_request(purpose="two\nlines\tand a tab"),
        a_request(purpose="\U0001f680\U0001f680\U0001f680"),
        a_request(purpose="<!channel> {{ 7*7 }} $(rm -rf /) '; drop table leases; -- &lt;"),
        a_request(need=a_need(count=1)),
        a_request(need=a_need(count=64)),
        a_request(need=Need(model="", memory_gib=80)),
        a_request(need=Need(model="", memory_gib=1_024)),
        a_request(need=Need(instance_type="p5.48xlarge")),
        a_request(disk_gib=8),
        a_request(disk_gib=16_384),
        a_request(duration=15 * MINUTE),
        a_request(duration=30 * DAY),
        a_request(until=ASKED + 15 * MINUTE),
        a_request(until=ASKED + 30 * DAY),
        a_request(cost_center="x" * 128),
        a_request(tags={f"key {n}": "x" * 256 for n in range(40)}),
        a_request(tags={"k" * 128: "", "name": "a", "awsome": "b"}),
    ],
)
def test_what_is_allowed(request_: Request) -> None:
    assert errors(request_) == []


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        (a_request(purpose="x" * 10_000), "purpose", "has 10,000 characters; 3 to 8,000 are allowed"),
        (a_request(purpose="x" * 8_001), "purpose", "has 8,001 characters; 3 to 8,000 are allowed"),
        (a_request(purpose="  ab  "), "purpose", "has 2 characters; 3 to 8,000 are allowed"),
        (a_request(purpose=""), "purpose", "has 0 characters; 3 to 8,000 are allowed"),
        (a_request(purpose="\u200b\u2060\ufeff \u00a0"), "purpose", "has 0 characters; 3 to 8,000 are allowed"),
        (
            a_request(purpose="train\x00it"),
            "purpose",
            "holds the control character U+0000; remove it, only readable text is allowed",
        ),
        (
            a_request(purpose="half \ud83d"),
            "purpose",
            "holds the control character U+D83D; remove it, only readable text is allowed",
        ),
        (a_request(team=""), "team", "is missing; yours: ml"),
        (a_request(team="vision"), "team", "'vision' is not a team of yours; yours: ml"),
        (a_request(team="a\x00\nb"), "team", "'a??b' is not a team of yours; yours: ml"),
        (a_request(team="x" * 99), "team", f"'{'x' * 40}' is not a team of yours; yours: ml"),
        (a_request(place=a_place(name="moon")), "place", "'moon' is not configured; choose one of: research"),
        (
            a_request(place=a_place(zone="a;b")),
            "place",
            "'a;b' is not the name of a region or zone; the places are: research",
        ),
        (
            a_request(place=a_place(region="{{x}}")),
            "place",
            "'{{x}}' is not the name of a region or zone; the places are: research",
        ),
        (a_request(need=a_need(count=0)), "count", "0 GPUs; 1 to 64 are allowed in one request"),
        (a_request(need=a_need(count=-1)), "count", "-1 GPUs; 1 to 64 are allowed in one request"),
        (a_request(need=a_need(count=65)), "count", "65 GPUs; 1 to 64 are allowed in one request"),
        (a_request(need=a_need(count=10_000)), "count", "10,000 GPUs; 1 to 64 are allowed in one request"),
        (
            a_request(need=a_need(model="<!channel>")),
            "need",
            "'<!channel>' is not the name of a GPU or an instance type; names look like A100-80GB or g6.xlarge",
        ),
        (
            a_request(need=Need(instance_type="g" * 65)),
            "need",
            f"'{'g' * 40}' is not the name of a GPU or an instance type; names look like A100-80GB or g6.xlarge",
        ),
        (
            a_request(need=a_need(memory_gib=-1)),
            "need",
            "-1 GiB of memory for each GPU; 1 to 1,024 are allowed",
        ),
        (
            a_request(need=a_need(memory_gib=1_025)),
            "need",
            "1,025 GiB of memory for each GPU; 1 to 1,024 are allowed",
        ),
        (a_request(disk_gib=7), "disk_gib", "7 GiB; 8 to 16,384 are allowed"),
        (a_request(disk_gib=16_385), "disk_gib", "16,385 GiB; 8 to 16,384 are allowed"),
        (a_request(duration=None), "end", "give an end such as 8h, 3d, friday 18:00 or 2026-12-24"),
        (
            a_request(duration=HOUR, until=ASKED + HOUR),
            "end",
            "give an end such as 8h, 3d, friday 18:00 or 2026-12-24",
        ),
        (a_request(until=ASKED - MINUTE), "end", f"is in the past; {ALLOWED}"),
        (a_request(until=ASKED), "end", f"is in the past; {ALLOWED}"),
        (a_request(until=ASKED + 15 * MINUTE - timedelta(seconds=1)), "end", f"is 14 min 59 s away; {ALLOWED}"),
        (a_request(until=ASKED + 30 * DAY + MINUTE), "end", f"is 30 d 1 min away; {ALLOWED}"),
        (a_request(duration=timedelta()), "end", f"is no time at all; {ALLOWED}"),
        (a_request(duration=-HOUR), "end", f"is no time at all; {ALLOWED}"),
        (a_request(duration=14 * MINUTE), "end", f"is 14 min away; {ALLOWED}"),
        (a_request(duration=9_999 * HOUR), "end", f"is 416 d 15 h away; {ALLOWED}"),
        (a_request(duration=3_650 * DAY), "end", f"is 3650 d away; {ALLOWED}"),
        (a_request(cost_center="x" * 129), "cost_center", "has 129 characters; at most 128 are allowed"),
        (
            a_request(cost_center="a\x1bb"),
            "cost_center",
            "holds the control character U+001B; remove it, only readable text is allowed",
        ),
        (
            a_request(tags={"AWS:x": "1"}),
            "tags",
            "'AWS:x' is reserved; keys may not be Name and not start with aws: or lessor:",
        ),
        (
            a_request(tags={"lessor:owner": "me"}),
            "tags",
            "'lessor:owner' is reserved; keys may not be Name and not start with aws: or lessor:",
        ),
        (
            a_request(tags={"Name": "mine"}),
            "tags",
            "'Name' is reserved; keys may not be Name and not start with aws: or lessor:",
        ),
        (
            a_request(tags={"": "1"}),
            "tags",
            "'' does not fit; keys of 1 to 128 and values of at most 256 characters",
        ),
        (
            a_request(tags={"k": "x" * 257}),
            "tags",
            "'k' does not fit; keys of 1 to 128 and values of at most 256 characters",
        ),
        (a_request(tags={f"k{n}": "" for n in range(41)}), "tags", "41 tags; at most 40 are allowed"),
        (
            a_request(tags={"k": "\x00"}),
            "tags",
            "holds the control character U+0000; remove it, only readable text is allowed",
        ),
    ],
)
def test_what_is_refused_at_which_field(request_: Request, field: str, message: str) -> None:
    assert errors(request_) == [(field, message)]


def test_who_is_in_no_team_is_told_what_to_do() -> None:
    assert errors(a_request(), some_limits(teams=())) == [
        ("team", "you are in no team yet; ask an administrator to add you to one in lessor.yaml")
    ]


def test_without_places_nothing_can_be_asked_for() -> None:
    assert errors(a_request(), some_limits(places=())) == [
        ("place", "'research' is not configured; choose one of: none is configured yet")
    ]


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (10, "p0, p1, p2, p3, p4, p5, p6, p7, p8, p9"),
        (13, "p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 and 3 more"),
    ],
)
def test_of_many_places_some_are_named(count: int, listed: str) -> None:
    limits = some_limits(places=tuple(f"p{n}" for n in range(count)))
    assert errors(a_request(place=a_place(name="moon")), limits) == [
        ("place", f"'moon' is not configured; choose one of: {listed}")
    ]
    assert errors(a_request(place=a_place(name="p0", zone="a;b")), limits) == [
        ("place", f"'a;b' is not the name of a region or zone; the places are: {listed}")
    ]


def test_all_bad_fields_are_told_at_once() -> None:
    request = a_request(purpose="", team="x", need=a_need(count=0), disk_gib=0, duration=None, tags={"": ""})
    with pytest.raises(Invalid) as invalid:
        validate(request, some_limits(), ASKED)
    assert [e.field for e in invalid.value.errors] == ["purpose", "team", "count", "disk_gib", "end", "tags"]
    assert invalid.value.code == "invalid"
    assert str(Invalid((FieldError("team", "is missing"), FieldError("end", "is past")))) == (
        "team: is missing; end: is past"
    )


def test_limits_of_the_organisation_are_the_ones_in_the_message() -> None:
    limits = some_limits(max_gpus=4, max_disk_gib=100, min_duration=HOUR, max_duration=2 * DAY)
    request = a_request(need=a_need(count=5), disk_gib=101, duration=3 * DAY)
    assert errors(request, limits) == [
        ("count", "5 GPUs; 1 to 4 are allowed in one request"),
        ("disk_gib", "101 GiB; 8 to 100 are allowed"),
        ("end", "is 3 d away; 1 h to 2 d from now are allowed"),
    ]


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.dictionaries(st.text(), st.text()))
def test_no_text_crashes_the_check_and_what_passes_can_be_stored(
    purpose: str, team: str, model: str, tags: dict[str, str]
) -> None:
    request = a_request(purpose=purpose, team=team, need=a_need(model=model), tags=tags, cost_center=team)
    found = errors(request, some_limits(teams=(team,)))
    assert all(message.isprintable() and len(message) < 200 for _, message in found)
    if not found:
        kept = "".join((purpose, model, team, *tags.values()))
        assert kept.encode("utf-8").decode() == kept
        assert "\x00" not in kept


def test_an_end_is_an_instant() -> None:
    with pytest.raises(Refused, match="until has no time zone") as refused:
        a_request(until=datetime(2026, 12, 1, 18, 0))  # noqa: DTZ001
    assert refused.value.code == "naive-time"
    tokyo = a_request(until=datetime(2026, 12, 1, 18, 0, tzinfo=timezone(timedelta(hours=9))))
    assert tokyo.until == datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
    assert tokyo.until.tzinfo is UTC


def test_a_length_over_a_clock_change_is_elapsed_time() -> None:
    new_york = ZoneInfo("America/New_York")
    now = datetime(2026, 3, 7, 12, 0, tzinfo=new_york)
    request = a_request(until=datetime(2026, 3, 8, 12, 0, tzinfo=new_york))
    assert request.length(now) == timedelta(hours=23)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(), "0 s"),
        (timedelta(milliseconds=400), "0 s"),
        (timedelta(seconds=20), "20 s"),
        (45 * MINUTE, "45 min"),
        (90 * MINUTE, "1 h 30 min"),
        (3 * DAY + 4 * HOUR + 5 * MINUTE, "3 d 4 h"),
        (DAY + timedelta(seconds=3), "1 d 3 s"),
        (-2 * HOUR, "-2 h"),
    ],
)
def test_lengths_in_words(length: timedelta, words: str) -> None:
    assert spell(length) == words


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (a_need(), "8 x A100-80GB"),
        (Need(count=2, memory_gib=80), "2 x any GPU 80 GB"),
        (Need(instance_type="p5.48xlarge", count=3), "p5.48xlarge"),
    ],
)
def test_needs_in_words(need: Need, words: str) -> None:
    assert str(need) == words


def test_places_in_words() -> None:
    assert str(a_place()) == "aws/research/us-east-1"
    assert str(a_place(zone="us-east-1a")) == "aws/research/us-east-1a"
    assert str(a_place(region="")) == "aws/research"
