"""Prices of a request: unknown is never zero, limits look at what does not move."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.money import Money
from lessor.domain.quote import Quote
from lessor.domain.request import Market
from tests.builders import a_quote, an_offer, usd


def spot(hourly: str | None, on_demand: str | None) -> Quote:
    prices = {"hourly": usd(hourly) if hourly else None, "on_demand_hourly": usd(on_demand) if on_demand else None}
    return a_quote(offer=an_offer(market=Market.SPOT, **prices))


def test_a_known_price() -> None:
    quote = a_quote(usd("98.32"))
    assert quote.known
    assert quote.total(timedelta(hours=3)) == usd("294.96")
    assert quote.judged_hourly == usd("98.32")


def test_an_unknown_price_is_unknown_for_any_time() -> None:
    quote = a_quote(None)
    assert not quote.known
    assert quote.total(timedelta(hours=3)) is None
    assert quote.total(timedelta()) is None
    assert quote.judged_hourly is None


@pytest.mark.parametrize(
    ("quote", "judged"),
    [
        (spot("40", "98.32"), usd("98.32")),
        (spot(None, "98.32"), usd("98.32")),
        (spot("40", None), None),
        (a_quote(offer=an_offer(hourly=usd("90"), on_demand_hourly=usd("98"))), usd("90")),
    ],
)
def test_limits_judge_spot_by_its_on_demand_price(quote: Quote, judged: Money | None) -> None:
    assert quote.judged_hourly == judged
