"""Whole numbers as people type them: what is taken, and what is said of the rest."""

from __future__ import annotations

import pytest

from lessor.domain.amounts import whole
from lessor.domain.errors import FieldError
from tests.builders import some_limits

COUNT, DISK = "1 to 64 are allowed in one request", "8 to 16,384 are allowed"


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), (" 8 ", 8), ("0", 0), ("-1", -1), ("999999999", 999_999_999), ("007", 7), ("0" * 5_000 + "8", 8)],
)
def test_a_whole_number_is_taken_within_the_limits_or_not(text: str, number: int) -> None:
    errors: list[FieldError] = []
    assert (whole("count", text, some_limits(), errors), errors) == (number, [])


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("count", "", f"give a whole number; {COUNT}"),
        ("count", "  ", f"give a whole number; {COUNT}"),
        ("count", "abc", f"'abc' is not a whole number; {COUNT}"),
        ("count", "1.5", f"'1.5' is not a whole number; {COUNT}"),
        ("count", "\u0663", f"'\u0663' is not a whole number; {COUNT}"),
        ("count", "--1", f"'--1' is not a whole number; {COUNT}"),
        ("count", "10000000000", f"'10000000000' is too large; {COUNT}"),
        ("disk_gib", "10000000000", f"'10000000000' is too large; {DISK}"),
        ("disk_gib", "-10000000000", f"'-10000000000' is too small; {DISK}"),
        ("disk_gib", "9" * 5_000, f"'{'9' * 40}' is too large; {DISK}"),
        ("need", "many", "'many' is not a whole number; 1 to 1,024 are allowed"),
    ],
)
def test_what_is_no_number_says_what_is_allowed(field: str, text: str, message: str) -> None:
    errors: list[FieldError] = []
    assert (whole(field, text, some_limits(), errors), errors) == (0, [FieldError(field, message)])


def test_the_limits_are_those_of_the_organisation() -> None:
    errors: list[FieldError] = []
    limits = some_limits(max_gpus=2_000, max_disk_gib=100)
    whole("count", "many", limits, errors)
    whole("disk_gib", "much", limits, errors)
    assert [error.message for error in errors] == [
        "'many' is not a whole number; 1 to 2,000 are allowed in one request",
        "'much' is not a whole number; 8 to 100 are allowed",
    ]
