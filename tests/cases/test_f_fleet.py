"""Cases of what GPUs cost by who bears it: leases, what runs without one, and what nobody uses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.bearing import Bearing, bearing
from lessor.domain.fleet import Fleet, Line, Record, place_fleet
from lessor.domain.lease import Lease, Span
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.fleetjson import fleet_facts
from tests.builders import READY, a_lease, a_quote, a_request, an_offer, usd

LAB = Place("kubernetes", "lab")
NOW = READY + timedelta(hours=3)
HOUR = timedelta(hours=1)
CENT = Decimal("0.01")
ONE = usd("1.00")

counts = st.integers(0, 200)
prices = st.decimals("0", "99.9999", places=4)


def a_line(total: int, leased: int, ownerless: int, hourly: Money | None = ONE) -> Line:
    return Line("A100-80GB", total=total, leased=leased, ownerless=ownerless, free=0, hourly=hourly)


def leased(gpus: int) -> Lease:
    """A lease of some GPUs of the cluster at 1.00 USD an hour each, for three hours now."""
    quote = a_quote(offer=an_offer(gpu_count=gpus, hourly=usd(str(gpus))))
    lease = a_lease(request=a_request(place=LAB), quote=quote)
    return replace(lease, spans=(Span(READY, None, usd(str(gpus))),))


def seen(total: int, *holders: Holder, hourly: Money | None = ONE) -> Census:
    pool = Pool(
        LAB, "A100-80GB", total=total, free=total - sum(one.units for one in holders), unhealthy=0, hourly=hourly
    )
    return Census(LAB, NOW, (pool,), holders)


# -- F32 --------------------------------------------------------------------------------------------------------------


def test_F32_two_gpus_at_one_an_hour_cost_six_in_three_hours() -> None:
    assert leased(2).cost(READY + 3 * HOUR) == usd("6.00")


@given(total=counts, taken=counts, stray=counts, price=prices)
def test_F32_all_who_bear_it_together_bear_the_price_of_all_gpus_to_the_cent(
    total: int, taken: int, stray: int, price: Decimal
) -> None:
    found = bearing(a_line(total, taken, stray, Money(price)))
    assert found is not None
    assert found.total == Money(price * total).rounded() or not (taken or stray or total)
    assert all(part.amount % CENT == 0 for part in (found.leased, found.ownerless, found.idle))


def test_F32_a_place_without_gpus_has_no_cost_of_gpus() -> None:
    nothing = usd("0.00")
    assert bearing(a_line(0, 0, 0)) == Bearing(nothing, nothing, nothing, 0)


def test_F32_own_rates_are_taken_as_they_are() -> None:
    found = place_fleet(seen(8, hourly=usd("0.333")), Record((), {}, None, NOW))
    hour = bearing(found.lines[0])
    assert hour is not None
    assert hour.total == usd("2.66")


# -- F33 --------------------------------------------------------------------------------------------------------------


def test_F33_what_nobody_uses_is_a_line_of_its_own_with_how_many_gpus_it_is() -> None:
    lease = leased(2)
    census = seen(8, Holder(LAB, f"pod {lease.id}/train", "A100-80GB", 2, lease=lease.id))
    found = place_fleet(census, Record((lease,), {}, None, NOW))
    hour = bearing(found.lines[0])
    assert hour == Bearing(usd("2.00"), usd("0.00"), usd("6.00"), 6)
    # The tenant pays for its own two, however much of the place is idle.
    assert found.tenants[0].cost == usd("6.00")
    told = fleet_facts(Fleet(NOW, (found,)))["places"][0]["gpus"][0]["an_hour"]
    assert told == {
        "leased": "2.00",
        "ownerless": "0.00",
        "idle": "6.00",
        "total": "8.00",
        "idle_units": 6,
        "currency": "USD",
    }


@given(total=counts, taken=counts, stray=counts)
def test_F33_idle_is_never_negative_and_no_tenant_bears_it(total: int, taken: int, stray: int) -> None:
    found = bearing(a_line(total, taken, stray))
    assert found is not None
    assert found.idle >= usd("0")
    assert found.unused == max(total - taken - stray, 0)
    assert found.leased <= usd(str(taken))


def test_F33_unknown_numbers_and_prices_make_no_idle_share() -> None:
    assert bearing(a_line(8, 2, 0, hourly=None)) is None
    assert bearing(replace(a_line(8, 2, 0), total=None)) is None
    assert bearing(replace(a_line(8, 2, 0), ownerless=None)) is None


# -- F37 --------------------------------------------------------------------------------------------------------------


def test_F37_what_has_no_owner_is_a_line_with_the_list_of_its_resources() -> None:
    lease = leased(4)
    census = seen(
        8,
        Holder(LAB, f"pod {lease.id}/train", "A100-80GB", 4, lease=lease.id),
        Holder(LAB, "pod default/notebook", "A100-80GB", 2),
        Holder(LAB, "pod gpu-00000099/old", "A100-80GB", 1, lease="gpu-00000099"),
    )
    found = place_fleet(census, Record((lease,), {}, None, NOW))
    assert [one.ref for one in found.ownerless] == ["pod default/notebook", "pod gpu-00000099/old"]
    hour = bearing(found.lines[0])
    assert hour is not None
    assert (hour.leased, hour.ownerless, hour.idle) == (usd("4.00"), usd("3.00"), usd("1.00"))
    assert hour.leased + hour.ownerless + hour.idle == hour.total == usd("8.00")


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 7)])
def test_F37_a_place_that_was_not_read_whole_is_attributed_to_nobody(share: Fraction) -> None:
    pool = Pool(LAB, "A100-80GB", share=share, total=8, free=4, unhealthy=0, hourly=usd("1.00"))
    census = Census(LAB, NOW, (pool,), problem="403 of namespaces")
    found = place_fleet(census, Record((), {}, None, NOW))
    assert bearing(found.lines[0]) is None
