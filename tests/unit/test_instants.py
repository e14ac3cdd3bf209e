"""How instants stand on resources and what is believed of what stands there: anything can be written into a tag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.providers.instants import instant, latest_end

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def test_what_is_written_is_read_back_to_the_second() -> None:
    berlin = datetime(2026, 11, 28, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert instant(berlin) == "2026-11-28T12:00:00+00:00"
    assert latest_end([instant(berlin)]) == NOON


@pytest.mark.parametrize(
    ("written", "end"),
    [
        (["2026-11-28T12:00:00Z"], NOON),
        (["2026-11-28T13:00:00+01:00"], NOON),
        (["2026-11-28T12:00:00+00:00", "2026-11-28T11:00:00+00:00"], NOON),
        (["2026-11-28T12:00:00+00:00", "soon"], None),
        (["2026-11-28T12:00:00+00:00", ""], None),
        ([], None),
        (["2026-11-28"], None),
        (["2026-11-28T12:00:00"], None),
        (["9999-12-31T23:59:59-12:00"], None),
        (["9999-12-31T23:59:59+00:00"], None),
        (["0001-01-01T00:00:00+12:00"], None),
        (["1970-01-01T00:00:00+00:00"], None),
        (["never"], None),
    ],
)
def test_the_latest_end_counts_and_what_cannot_be_read_is_unknown(written: list[str], end: datetime | None) -> None:
    assert latest_end(written) == end


@given(st.lists(st.text(), max_size=3))
def test_nothing_that_somebody_writes_is_an_error(written: list[str]) -> None:
    found = latest_end(written)
    assert found is None or found.tzinfo is UTC
