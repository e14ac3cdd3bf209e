"""Money: exact, rounded once, split without losing a cent."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.money import MINOR_DIGITS, Money
from tests.builders import usd

AMOUNTS = st.decimals("-1000000000", "1000000000", places=6)
WEIGHTS = st.lists(
    st.one_of(st.integers(0, 10**6), st.decimals("0", "1000", places=9)), min_size=1, max_size=90
).filter(any)
CURRENCIES = st.sampled_from(["USD", "JPY", "KWD", "CLF", "EUR"])


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("1234.565", "USD", "1,234.56 USD"),
        ("1234.575", "USD", "1,234.58 USD"),
        ("2.5", "JPY", "2 JPY"),
        ("3.5", "JPY", "4 JPY"),
        ("1.0005", "KWD", "1.000 KWD"),
        ("1.0015", "KWD", "1.002 KWD"),
        ("0", "EUR", "0.00 EUR"),
        ("-0.001", "EUR", "0.00 EUR"),
        ("-7.005", "EUR", "-7.00 EUR"),
        ("1.00005", "CLF", "1.0000 CLF"),
        ("1500.4", "UGX", "1,500 UGX"),
    ],
)
def test_rounding_is_half_even_to_the_digits_of_the_currency(amount: str, currency: str, shown: str) -> None:
    assert str(Money(Decimal(amount), currency)) == shown


@pytest.mark.parametrize(
    ("amount", "currency", "exact"),
    [
        ("0.526", "USD", "0.526 USD"),
        ("98.32", "USD", "98.32 USD"),
        ("98.3200", "USD", "98.32 USD"),
        ("3", "USD", "3.00 USD"),
        ("1200", "JPY", "1,200 JPY"),
        ("0.0001", "JPY", "0.0001 JPY"),
        ("0", "KWD", "0.000 KWD"),
        ("1E+3", "USD", "1,000.00 USD"),
    ],
)
def test_exact_keeps_every_digit(amount: str, currency: str, exact: str) -> None:
    assert Money(Decimal(amount), currency).exact == exact


@pytest.mark.parametrize(
    ("total", "currency", "weights", "shares"),
    [
        ("1.00", "USD", [1, 1, 1], ["0.34", "0.33", "0.33"]),
        ("0.02", "USD", [1, 1, 1], ["0.01", "0.01", "0.00"]),
        ("-1.00", "USD", [1, 1, 1], ["-0.34", "-0.33", "-0.33"]),
        ("100", "JPY", [1, 1, 1], ["34", "33", "33"]),
        ("1.000", "KWD", [1, 1, 1], ["0.334", "0.333", "0.333"]),
        ("10.00", "USD", [Decimal("0.7"), Decimal("0.2"), Decimal("0.1")], ["7.00", "2.00", "1.00"]),
        ("0.05", "USD", [1, 3], ["0.01", "0.04"]),
        ("0.03", "USD", [1, 4], ["0.01", "0.02"]),
        ("5.00", "USD", [0, 1, 0], ["0.00", "5.00", "0.00"]),
        ("0", "USD", [2, 1], ["0.00", "0.00"]),
    ],
)
def test_split(total: str, currency: str, weights: list[Decimal | int], shares: list[str]) -> None:
    assert [str(share.amount) for share in Money(Decimal(total), currency).split(weights)] == shares


@given(AMOUNTS, CURRENCIES, WEIGHTS)
def test_a_split_adds_up_and_each_share_is_within_one_unit_of_exact(
    amount: Decimal, currency: str, weights: list[Decimal | int]
) -> None:
    total = Money(amount, currency)
    shares = total.split(weights)
    unit = Decimal(1).scaleb(-MINOR_DIGITS.get(currency, 2))
    assert sum(s.amount for s in shares) == total.rounded().amount
    assert total.split(weights) == shares
    with localcontext() as context:
        context.prec = 60
        weight = sum((Decimal(w) for w in weights), Decimal(0))
        for share, part in zip(shares, weights, strict=True):
            assert abs(share.amount - total.rounded().amount * part / weight) < unit
            assert share.amount * total.rounded().amount >= 0
            assert part or not share.amount


@pytest.mark.parametrize("weights", [[], [0], [0, 0], [-1, 2], [Decimal("-0.1"), 1]])
def test_a_split_needs_a_weight(weights: list[Decimal | int]) -> None:
    with pytest.raises(ValueError, match="at least 0, and one above 0"):
        usd("1").split(weights)


@pytest.mark.parametrize(
    ("hourly", "elapsed", "cost"),
    [
        ("1.00", timedelta(hours=1), "1"),
        ("1.00", timedelta(seconds=12_000), "3.333333333333333333333333333"),
        ("0.36", timedelta(seconds=1), "0.0001"),
        ("3600", timedelta(microseconds=1), "0.000001"),
        ("98.32", timedelta(hours=8), "786.56"),
        ("1.00", timedelta(), "0"),
    ],
)
def test_a_rate_for_a_time(hourly: str, elapsed: timedelta, cost: str) -> None:
    assert usd(hourly).for_time(elapsed).amount == Decimal(cost)


@given(st.decimals("0", "500", places=4), st.integers(0, 10**12))
def test_a_rate_for_a_time_is_exact_to_the_cent(hourly: Decimal, microseconds: int) -> None:
    got = Money(hourly).for_time(timedelta(microseconds=microseconds)).rounded().amount
    with localcontext() as context:
        context.prec = 80
        exact = hourly * microseconds / Decimal(3_600_000_000)
        assert got == exact.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


def test_sums_and_differences_keep_the_currency() -> None:
    assert usd("1.10") + usd("2.205") == usd("3.305")
    assert usd("1.10") - usd("2.20") == usd("-1.10")
    assert usd("1.10") * 3 == usd("3.30")


def test_currencies_never_mix() -> None:
    yen = Money(Decimal(100), "JPY")
    for mix in (lambda: usd("1") + yen, lambda: usd("1") - yen, lambda: usd("1") < yen, lambda: usd("1") >= yen):
        with pytest.raises(ValueError, match="cannot combine USD with JPY"):
            mix()


def test_amounts_compare_within_a_currency() -> None:
    assert usd("9.99") < usd("10")
    assert usd("10") >= usd("10.00")
    assert max(usd("2"), usd("10"), usd("3")) == usd("10")


@pytest.mark.parametrize("amount", [1.0, 1, "1"])
def test_only_decimals_are_money(amount: object) -> None:
    with pytest.raises(TypeError, match="money needs a Decimal, got"):
        Money(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
def test_money_is_a_number(amount: str) -> None:
    with pytest.raises(ValueError, match="money needs a number, got"):
        Money(Decimal(amount))
