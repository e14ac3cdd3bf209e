"""Values come back from their stored text exactly as they were, also when another version wrote it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.billing import Span
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.request import Request
from lessor.ledger.snapshots import LEASE, REQUEST, UnreadableSnapshotError
from tests.builders import ENDS, READY, a_lease, a_request, an_instance

NAIVE = datetime.fromisoformat("2026-11-01T05:30:00")
INSTANTS = st.datetimes(NAIVE.replace(year=1970), NAIVE.replace(year=2200), timezones=st.timezones())
AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("state", list(State))
def test_a_lease_in_any_state_comes_back_equal(state: State) -> None:
    lease = a_lease(state)
    assert LEASE.load(LEASE.dump(lease)) == lease


@given(INSTANTS, INSTANTS, AMOUNTS, TEXT, st.timedeltas())
def test_any_content_comes_back_equal(
    start: datetime, end: datetime, amount: Decimal, text: str, length: timedelta
) -> None:
    request = a_request(purpose=text, tags={text: text}, duration=length)

    def written(begin: datetime, close: datetime) -> Lease:
        span = Span(begin, close, Money(amount, "EUR"))
        return replace(a_lease(), request=request, ends_at=close, spans=(span,), problem=text)

    read = LEASE.load(LEASE.dump(written(start, end)))
    # A time in the gap of a clock change equals nothing in another zone, so that instants are compared in UTC.
    assert read == written(start.astimezone(UTC), end.astimezone(UTC))
    hourly = read.spans[0].hourly
    assert hourly is not None
    assert str(hourly.amount) == str(amount)


def test_b18_an_end_in_a_local_zone_is_the_same_instant_stored_in_utc() -> None:
    local = datetime(2026, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=0)
    text = LEASE.dump(replace(a_lease(), ends_at=local))
    assert json.loads(text)["ends_at"] == "2026-11-01T05:30:00Z"
    assert LEASE.load(text).ends_at == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "changes",
    [
        {"ends_at": NAIVE},
        {"spans": (Span(NAIVE, None, None),)},
        {"resources": (replace(an_instance(), created_at=NAIVE),)},
    ],
)
def test_b18_an_instant_without_a_zone_is_refused_wherever_it_is(changes: dict[str, object]) -> None:
    with pytest.raises(Refused, match="has no time zone") as refusal:
        LEASE.dump(replace(a_lease(), **changes))  # type: ignore[arg-type]
    assert refusal.value.code == "naive-time"


def test_b19_text_of_an_older_version_gets_the_defaults_of_its_missing_fields() -> None:
    lease = a_lease()
    stored = json.loads(LEASE.dump(lease))
    del stored["problem"], stored["outcome"], stored["terms"]["notice"], stored["request"]["tags"]
    read = LEASE.load(json.dumps(stored))
    assert read == lease
    assert type(read.request) is Request


def test_b19_text_of_a_newer_version_is_read_without_its_unknown_fields() -> None:
    lease = a_lease()
    stored = json.loads(LEASE.dump(lease))
    stored["carbon"] = {"grams": 12}
    stored["request"]["need"]["topology"] = "nvlink"
    assert LEASE.load(json.dumps(stored)) == lease


def test_text_that_cannot_be_read_says_where_and_what_to_do() -> None:
    stored = json.loads(LEASE.dump(a_lease()))
    stored["state"] = "hibernating"
    with pytest.raises(UnreadableSnapshotError, match=r"stored lease cannot be read \(state: .*; it was kept"):
        LEASE.load(json.dumps(stored))
    with pytest.raises(UnreadableSnapshotError, match=r"stored request cannot be read \(the whole: "):
        REQUEST.load("{not json")


def test_money_that_is_not_exact_is_never_written() -> None:
    text = LEASE.dump(replace(a_lease(), spans=(Span(READY, ENDS, Money(Decimal("0.10000000000000000001"))),)))
    assert '"amount":"0.10000000000000000001"' in text
