"""Instants inside sentences are read in the reader's own zone, and nothing else of the sentence changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.lease import minute
from lessor.when import in_zone, retold

WORDS = "dgx-1 is booked for gpu-00000002 from 2026-11-28 15:00 UTC on; its end stays 2026-07-01 08:30 UTC"


def test_each_instant_is_told_on_the_clock_of_the_zone() -> None:
    assert in_zone(WORDS, "Europe/Berlin") == (
        "dgx-1 is booked for gpu-00000002 from Saturday 28 November 2026 16:00 CET on; its end stays "
        "Wednesday 1 July 2026 10:30 CEST"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-13-01 10:00 UTC",
        "2026-02-30 10:00 UTC",
        "2026-11-28 25:00 UTC",
        "2026-11-28 10:00",
        "2026-11-28T10:00:00+00:00",
        "12026-11-28 10:00 UTC",
        "2026-11-28 10:00 UTCX",
    ],
)
def test_what_is_no_instant_stays_as_it_is(text: str) -> None:
    assert in_zone(text, "Europe/Berlin") == text


def test_seconds_are_kept_where_there_are_some() -> None:
    assert in_zone("seen 2026-11-28 10:00:05 UTC", "UTC") == "seen Saturday 28 November 2026 10:00:05 UTC"


def test_what_lies_between_goes_through_another_hand() -> None:
    assert retold("<a> 2026-11-28 10:00 UTC <b>", lambda at: f"<{at.hour}>", str.upper) == "<A> <10> <B>"


@given(st.integers(0, 2**34).map(lambda second: datetime.fromtimestamp(second, UTC)))
def test_what_the_domain_writes_is_found(at: datetime) -> None:
    whole = at.replace(second=0, microsecond=0)
    assert retold(f"until {minute(at)}.", lambda found: found.isoformat()) == f"until {whole.isoformat()}."


@pytest.mark.parametrize("text", ["0001-01-01 00:00 UTC", "9999-12-31 23:59 UTC"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_what_no_clock_elsewhere_can_show_stays_as_it_is(text: str, zone: str) -> None:
    assert in_zone(f"'{text}' is no lease id", zone) == f"'{text}' is no lease id"
