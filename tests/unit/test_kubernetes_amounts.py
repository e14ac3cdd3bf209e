"""Amounts and times as Kubernetes writes them; what cannot be read is nothing that anybody may count with."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from lessor.providers.kubernetes.amounts import count, moment, quantity


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("8", 8),
        (8, 8),
        ("1500m", Fraction(3, 2)),
        ("0.5", Fraction(1, 2)),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 1000**6),
        ("2Ki", 2048),
        ("1.5Gi", Fraction(3, 2) * 1024**3),
        ("100u", Fraction(1, 10_000)),
        ("-1", -1),
        ("", None),
        ("many", None),
        ("1x", None),
        ("1 Gi", None),
        (None, None),
        (True, None),
    ],
)
def test_quantities_are_exact(text: object, exact: Fraction | int | None) -> None:
    assert quantity(text) == exact


@pytest.mark.parametrize(
    ("text", "number"), [("8", 8), ("8000m", 8), ("1k", 1000), ("0", 0), ("500m", None), ("-1", None), ("", None)]
)
def test_devices_are_counted_whole(text: str, number: int | None) -> None:
    assert count(text) == number


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-28T08:00:00Z", datetime(2026, 11, 28, 8, tzinfo=UTC)),
        ("2026-11-28T08:00:00.250000Z", datetime(2026, 11, 28, 8, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-11-28T09:00:00+01:00", datetime(2026, 11, 28, 8, tzinfo=UTC)),
        ("2026-11-28T08:00:00", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_have_a_zone_or_are_none(text: object, at: datetime | None) -> None:
    assert moment(text) == at
