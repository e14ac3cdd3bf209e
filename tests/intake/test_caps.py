"""The most that a lease may cost, as people type it: read in any usual spelling, refused where it is no amount."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.errors import Invalid
from lessor.domain.money import Money
from lessor.intake import read_cap
from tests.intake.typed import LIMITS, WHOLE, Offer, read

EURO = Offer(limits=replace(LIMITS, currency="EUR"))


def euro(amount: str) -> Money:
    return Money(Decimal(amount), "EUR")


def dollars(amount: str) -> Money:
    return Money(Decimal(amount), "USD")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cap 500", euro("500")),
        ("cap 500 USD", dollars("500")),
        ("cap 500 usd", dollars("500")),
        ("cap 500USD", dollars("500")),
        ("cap USD 500", dollars("500")),
        ("cap $500", dollars("500")),
        ("cap 500$", dollars("500")),
        ("cap of 500 EUR", euro("500")),
        ("capped at €1,200.50", euro("1200.50")),
        ("cap 2k", euro("2000")),
        ("cap 1.5 k usd", dollars("1500")),
        ("cap 12,345,678", euro("12345678")),
        ("Cap 500,", euro("500")),
        ("cap:500", euro("500")),
        ("cap: 500 usd", dollars("500")),
        ("cap:500 USD", dollars("500")),
        ('cap:"500 USD"', dollars("500")),
        ("cap=$500", dollars("500")),
        ("--cap 500 usd", dollars("500")),
        ("--cap=500", euro("500")),
        ("max-cost:500", euro("500")),
        ("cap 500 JPY", Money(Decimal(500), "JPY")),
        ("cap\u00a0500\u200b usd", dollars("500")),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_cap_is_read_wherever_it_stands_and_nothing_else_is_lost(text: str, expected: Money, before: bool) -> None:
    draft = read(f"{text} {WHOLE}" if before else f"{WHOLE} {text}", EURO)
    assert (draft.cap, draft.problems) == (expected, ())
    assert replace(draft, cap=None, cap_text="") == read(WHOLE, EURO)
    assert draft.request("U0REQUESTER", "cli:1").cap == expected


def test_without_a_cap_there_is_none() -> None:
    draft = read(WHOLE)
    assert (draft.cap, draft.cap_text, draft.request("U0REQUESTER", "cli:1").cap) == (None, "", None)


@pytest.mark.parametrize(
    "purpose", ["measure the cap of the model", "cap 3d prints", "cap gains", "night cap", "recap 500", "capacity 500"]
)
def test_other_words_stay_the_purpose(purpose: str) -> None:
    assert read(f"{WHOLE} {purpose}").cap is None
    assert read(f'{WHOLE} "cap 500"').cap is None


def test_the_word_after_the_amount_is_a_currency_only_if_it_is_one() -> None:
    draft = read("cap 500 for 8h 2 x a100 80gb training tune it")
    assert draft.cap == dollars("500")
    assert draft.end_text
    assert read(f"{WHOLE} cap 500 all night").cap == dollars("500")
    assert "all night" in read(f"{WHOLE} cap 500 all night").purpose


@pytest.mark.parametrize("text", ["lots", "5-6", "500,50", "-5", "1e9", "500 XYZ", "1 000", "€500 USD", "five"])
def test_what_is_no_amount_is_told_at_the_field_and_kept_as_it_was_said(text: str) -> None:
    draft = read(f'{WHOLE} cap:"{text}"')
    [problem] = draft.problems
    assert problem.field == "cap"
    assert problem.message == f"'{text}' is no amount of money; write it like 500, 1,200.50 or 500 USD"
    assert (draft.cap, draft.cap_text) == (None, text)
    [elsewhere] = read(f'{WHOLE} cap:"{text}"', EURO).problems
    assert elsewhere.message.endswith("write it like 500, 1,200.50 or 500 EUR")


def test_two_caps_contradict_each_other_unless_they_say_the_same() -> None:
    draft = read(f"{WHOLE} cap 500 cap 600")
    [problem] = draft.problems
    assert (problem.field, draft.cap) == ("cap", dollars("500"))
    assert "both '500.00 USD' and '600.00 USD' are given; choose one" in problem.message
    assert read(f"{WHOLE} cap 500 cap:500.00").problems == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("", None), (" \u200b ", None), ("500", dollars("500")), ("1,200.50 eur", euro("1200.50"))]
)
def test_a_field_of_a_form_is_read_the_same_way(text: str, expected: Money | None) -> None:
    assert read_cap(text, "USD") == expected


def test_a_field_of_a_form_that_is_no_amount_is_refused_with_what_to_write() -> None:
    with pytest.raises(Invalid) as caught:
        read_cap("about 500", "USD")
    [error] = caught.value.errors
    assert (error.field, "write it like 500" in error.message) == ("cap", True)


def test_what_was_read_reads_the_same_again() -> None:
    for text in ("500", "1,200.5", "0.001 KWD", "7k JPY"):
        first = read_cap(text, "USD")
        assert first is not None
        assert read_cap(first.exact, "USD") == first


@given(st.text(max_size=60))
def test_no_text_makes_it_raise(text: str) -> None:
    read(f"cap {text}")
    read(f"cap:{text}")
