"""What a request would cost in places without regions, as far as lessor.yaml alone tells."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lessor.config.clusters import ClusterRateConfig, KubernetesConfig
from lessor.config.model import PlaceConfig
from lessor.config.pools import MachineConfig, MachinesConfig
from lessor.domain.money import Money
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need
from lessor.policyfile import offline

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
RATES = {"A100-80GB": "2.50", "H100": "4.00", "A100-80GB-1g.10gb": "0.40", "MI300X": "3.00"}
LAB = PlaceConfig(
    name="lab",
    provider="kubernetes",
    kubernetes=KubernetesConfig(rates={name: ClusterRateConfig(hourly=Decimal(rate)) for name, rate in RATES.items()}),
)
POOL = PlaceConfig(
    name="pool",
    provider="machines",
    machines=MachinesConfig(
        machines=(
            MachineConfig(name="rack-1", model="A100-80GB", gpus=8, hourly=Decimal("2.00")),
            MachineConfig(name="rack-2", model="L40S", gpus=4, lease="gpu", hourly=Decimal("1.00")),
            MachineConfig(name="rack-3", model="T4", gpus=1),
        )
    ),
)


def tried(place: PlaceConfig, need: Need, market: Market = Market.ON_DEMAND) -> Quote | None:
    return offline.quote(need, place, "", market, NOW, "EUR")


@pytest.mark.parametrize(
    ("place", "need", "resource", "model", "count", "hourly"),
    [
        (LAB, Need("A100", 2), "nvidia.com/gpu", "A100-80GB", 2, "5.00"),
        (LAB, Need("A100-80GB-1g.10gb", 2), "nvidia.com/mig-1g.10gb", "A100-80GB-1g.10gb", 2, "0.80"),
        (LAB, Need("mi300x", 1), "amd.com/gpu", "MI300X", 1, "3.00"),
        (LAB, Need(memory_gib=100), "amd.com/gpu", "MI300X", 1, "3.00"),
        (LAB, Need("L4", 1), "nvidia.com/gpu", "L4", 1, None),
        (POOL, Need("A100", 2), "rack-1", "A100-80GB", 8, "16.00"),
        (POOL, Need("L40S", 2), "rack-2", "L40S", 2, "2.00"),
        (POOL, Need(instance_type="rack-3"), "rack-3", "T4", 1, None),
    ],
)
def test_the_cheapest_that_fits_at_the_rates_of_the_place(
    place: PlaceConfig, need: Need, resource: str, model: str, count: int, hourly: str | None
) -> None:
    found = tried(place, need)
    assert found is not None
    offer = found.offer
    assert (offer.instance_type, offer.gpu_model, offer.gpu_count) == (resource, model, count)
    assert offer.hourly == (Money(Decimal(hourly), "EUR") if hourly else None)
    assert (offer.region, found.price_list) == ("", "rates, tried out")


@pytest.mark.parametrize(
    ("place", "need"),
    [
        (POOL, Need("L40S", 5)),
        (POOL, Need("H100", 1)),
        (LAB, Need("a GPU that nobody makes")),
        (LAB, Need(count=1, memory_gib=999)),
    ],
)
def test_what_nothing_fills_has_no_quote(place: PlaceConfig, need: Need) -> None:
    assert tried(place, need) is None


@pytest.mark.parametrize("place", [LAB, POOL])
def test_such_places_have_no_other_market(place: PlaceConfig) -> None:
    assert tried(place, Need("A100", 1), Market.SPOT) is None


@pytest.mark.parametrize(("since", "known"), [(date(2026, 11, 28), True), (date(2026, 11, 29), False)])
def test_a_rate_that_does_not_hold_yet_is_unknown(since: date, known: bool) -> None:
    section: Any = KubernetesConfig(rates={"H100": ClusterRateConfig(hourly=Decimal(4), since=since)})
    found = tried(PlaceConfig(name="lab", provider="kubernetes", kubernetes=section), Need("H100", 1))
    assert found is not None
    assert found.known is known
