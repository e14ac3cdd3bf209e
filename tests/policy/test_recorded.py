"""Facts come back from text as they were: exactly, and unknown as unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.case import Case, Similar
from lessor.policyfile import facts
from lessor.policyfile.facts import documented
from lessor.policyfile.gathering import Site
from lessor.policyfile.kinds import kind_of
from lessor.policyfile.recorded import IN_THE_REQUEST, from_text, text_of, to_text, value_of
from tests.builders import ASKED, REQUESTER, a_quote, a_request

KINDS = {name: kind_of(hint) for name, (hint, _) in documented().items()}
TEXT = st.text(max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": st.integers(-(10**12), 10**12),
    "double": st.decimals(allow_nan=False, allow_infinity=False),
    "string": TEXT,
    "timestamp": st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])),
    "list": st.lists(TEXT, max_size=4).map(tuple),
    "map": st.dictionaries(TEXT, TEXT, max_size=4),
}


@given(st.data())
def test_every_value_comes_back_as_it_was(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(KINDS)))
    value = data.draw(VALUES[KINDS[name].name])
    assert value_of(KINDS[name], text_of(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("50.00"), "50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.000001"), "0.000001"),
        (True, "true"),
        (8, "8"),
        (("a", "b"), '["a", "b"]'),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
    ],
)
def test_text_is_short_and_exact(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("fact", "text", "message"),
    [
        ("request.count", "two", "'two' is not a whole number"),
        ("quote.total", "NaN", "'NaN' is not a number"),
        ("person.lead", "yes", "'yes' is not true or false"),
        ("time.now", "2026-01-02T03:00:00", "'2026-01-02T03:00:00' is not an instant"),
        ("person.teams", "research", "'research' is not a list of text"),
    ],
)
def test_what_is_no_value_is_refused(fact: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        value_of(KINDS[fact], text)


def test_the_facts_of_a_case_come_back_with_what_stands_in_the_request() -> None:
    request = a_request(tags={"a": "b"}, purpose="train it")
    case = Case(request, a_quote(), REQUESTER, ASKED, similar=(Similar("gpu-1"),), extensions=2)
    known = facts(case, Site(residency="eu", encrypted=True)).flat()
    kept = to_text(known)
    assert from_text(kept, request) == known
    assert known["place.public_address"] is None
    said = {name for name, value in known.items() if value is not None}
    assert {name for name, _ in kept} == said - IN_THE_REQUEST.keys()
    assert sum(len(name) + len(text) for name, text in kept) < 1_000


def test_facts_that_there_are_no_more_are_left_out_and_new_ones_are_unknown() -> None:
    known = from_text((("request.count", "2"), ("moon.phase", "full")))
    assert (known["request.count"], known["quote.total"], "moon.phase" in known) == (2, None, False)
    assert from_text((), a_request()) == dict.fromkeys(documented())
