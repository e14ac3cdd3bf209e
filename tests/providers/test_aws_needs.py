"""From a need to machines: the cheapest fit with its alternatives, what may stand in for it, and whose price counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from lessor.domain.money import Money
from lessor.domain.request import Market, Need
from lessor.ports import NoCapacityError, PermanentError
from lessor.providers.aws import Ec2Provider, OwnPrice
from lessor.providers.aws.quotas import quota_code
from tests.providers.aws_world import World, launch_first, place


def usd(text: str) -> Money:
    return Money(Decimal(text))


def best(provider: Ec2Provider, need: Need, market: Market = Market.ON_DEMAND) -> tuple[str, str, int]:
    offer = provider.offers(need, place(), market)[0]
    return offer.instance_type, offer.gpu_model, offer.gpu_count


@pytest.mark.parametrize(
    ("need", "found"),
    [
        (Need("A100-80GB", 2), ("p4de.24xlarge", "A100-80GB", 8)),
        (Need("a100 80 gb", 2), ("p4de.24xlarge", "A100-80GB", 8)),
        (Need("A100", 2), ("p4d.24xlarge", "A100-40GB", 8)),
        (Need("A100", 1, memory_gib=80), ("p4de.24xlarge", "A100-80GB", 8)),
        (Need("L4", 1), ("g6.xlarge", "L4", 1)),
        (Need("L4", 2), ("g6.12xlarge", "L4", 4)),
        (Need("h100", 1), ("p5.4xlarge", "H100", 1)),
        (Need("NVIDIA H100 SXM5", 8), ("p5.48xlarge", "H100", 8)),
        (Need(count=1, memory_gib=48), ("g6e.xlarge", "L40S", 1)),
        (Need(), ("g4dn.xlarge", "T4", 1)),
        (Need(instance_type=" P5.48xlarge "), ("p5.48xlarge", "H100", 8)),
        (Need("H100", 16), ("p5.48xlarge", "H100", 16)),
    ],
)
def test_the_cheapest_fit(provider: Ec2Provider, world: World, need: Need, found: tuple[str, str, int]) -> None:
    assert best(provider, need) == found


def test_several_machines_cost_several_times(provider: Ec2Provider, world: World) -> None:
    offer = provider.offers(Need("H100", 16), place(), Market.ON_DEMAND)[0]
    assert (offer.hourly, offer.vcpus, offer.note) == (usd("110.08"), 384, "2 machines of 8 GPUs")


@pytest.mark.parametrize(
    "need", [Need("H100", 65), Need("H100", 1, memory_gib=96), Need("GTX 1080"), Need("A100 96gb")]
)
def test_what_nothing_fits(provider: Ec2Provider, world: World, need: Need) -> None:
    assert provider.offers(need, place(), Market.ON_DEMAND) == ()
    with pytest.raises(PermanentError, match=r"nothing in research \(us-east-1\) fits .*H100 x1/8"):
        provider.quote(need, place(), Market.ON_DEMAND, world.now())


@pytest.mark.parametrize("name", ["m5.large", "p9.48xlarge", "'; DROP TABLE leases; --", "x" * 500, "g6f.large"])
def test_an_unknown_instance_type(provider: Ec2Provider, world: World, name: str) -> None:
    with pytest.raises(PermanentError) as caught:
        provider.quote(Need(instance_type=name), place(), Market.ON_DEMAND, world.now())
    assert caught.value.code == "no-offer"
    assert len(str(caught.value)) < 1_200


def test_only_what_the_place_allows(world: World) -> None:
    world.places["research"] = replace(
        world.places["research"], instance_types=("g5.2xlarge", "g5.4xlarge"), markets=(Market.ON_DEMAND,)
    )
    provider = world.provider()
    offers = provider.offers(Need("A10G"), place(), Market.ON_DEMAND)
    assert [offer.instance_type for offer in offers] == ["g5.2xlarge", "g5.4xlarge"]
    assert provider.offers(Need("A10G"), place(), Market.SPOT) == ()
    assert provider.offers(Need("A10G"), place(), Market.CAPACITY_BLOCK) == ()


def test_arm_machines_need_an_image_of_their_own(world: World) -> None:
    assert world.provider().offers(Need("T4G"), place(), Market.ON_DEMAND) == ()
    world.places["research"] = replace(world.places["research"], ami_parameter_arm="/aws/service/arm")
    assert best(world.provider(), Need("T4G"))[0] == "g5g.xlarge"


def test_only_zones_that_the_place_allows(world: World) -> None:
    world.places["research"] = replace(world.places["research"], zones=("us-east-1c", "us-east-1b"))
    provider = world.provider()
    zones = {candidate.zone for candidate in provider.candidates(world.order(provider))}
    assert zones == {"us-east-1b", "us-east-1c"}


def test_alternatives_that_cost_much_more_are_shown_and_not_taken(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, Need("L4", 1))
    notes = {offer.instance_type: offer.note for offer in order.quote.alternatives}
    assert notes["g6.2xlarge"] == "taken if the first has no capacity"
    assert "taken" not in notes["g6.12xlarge"]
    assert {c.instance_type for c in provider.candidates(order)} == {"g6.xlarge", "g6.2xlarge"}
    world.controls.refuse_capacity("g6.xlarge")
    world.controls.refuse_capacity("g6.2xlarge")
    with pytest.raises(NoCapacityError):
        launch_first(provider, order)
    assert world.alive() == []


def test_an_alternative_without_a_known_price_is_not_taken(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, Need("L4", 1))
    unpriced = replace(order.quote.alternatives[0], on_demand_hourly=None)
    order = replace(order, quote=replace(order.quote, alternatives=(unpriced,)))
    assert {c.instance_type for c in provider.candidates(order)} == {"g6.xlarge"}


def test_prices_that_the_organisation_has_agreed(world: World) -> None:
    own = OwnPrice(on_demand=usd("0.90"), spot=usd("0.25"), since=date(2026, 1, 1))
    world.places["research"] = replace(world.places["research"], prices={"g5.2xlarge": own})
    provider = world.provider()
    quote = provider.quote(Need("A10G"), place(), Market.ON_DEMAND, world.now())
    assert (quote.offer.instance_type, quote.offer.hourly, quote.price_list) == (
        "g5.2xlarge",
        usd("0.90"),
        "lessor.yaml",
    )
    spot = provider.offers(Need(instance_type="g5.2xlarge"), place(), Market.SPOT)[0]
    assert (spot.hourly, spot.on_demand_hourly) == (usd("0.25"), usd("0.90"))
    before = provider.quote(Need("A10G"), place(), Market.ON_DEMAND, datetime(2025, 12, 31, tzinfo=UTC))
    assert (before.offer.instance_type, before.offer.hourly) == ("g5.xlarge", usd("1.006"))


def test_the_price_api_is_asked_once_in_half_a_day(world: World, provider: Ec2Provider) -> None:
    need = Need(instance_type="g5.xlarge")
    for hours, calls in ((0, 1), (11, 1), (2, 2)):
        world.controls.advance(hours * 3600)
        provider.quote(need, place(), Market.ON_DEMAND, world.now())
        assert world.controls.calls("GetProducts") == calls


def test_a_price_api_that_is_out_of_reach_is_left_alone_for_a_while(world: World, provider: Ec2Provider) -> None:
    world.controls.make_pricing_unreachable()
    for _ in range(2):
        provider.quote(Need("A10G"), place(), Market.ON_DEMAND, world.now())
    assert world.controls.calls("GetProducts") == 1
    world.controls.make_pricing_unreachable(False)
    world.controls.advance(600)
    quote = provider.quote(Need(instance_type="g5.xlarge"), place(), Market.ON_DEMAND, world.now())
    assert quote.price_list.startswith("aws price api")


def test_a_role_that_may_not_ask_for_prices_uses_the_catalogue(world: World, provider: Ec2Provider) -> None:
    world.controls.deny("pricing:GetProducts")
    quote = provider.quote(Need("A10G"), place(), Market.ON_DEMAND, world.now())
    assert (quote.offer.hourly, quote.price_list[:9]) == (usd("1.006"), "catalogue")


def test_a_price_in_the_past_is_that_of_the_past(world: World, provider: Ec2Provider) -> None:
    need = Need(instance_type="p4d.24xlarge")
    quote = provider.quote(need, place(), Market.ON_DEMAND, datetime(2025, 5, 1, tzinfo=UTC))
    assert quote.offer.hourly == usd("32.7726")
    assert quote.total(timedelta(hours=2)) == usd("65.55")


@pytest.mark.parametrize(
    ("instance_type", "market", "code"),
    [
        ("g5.xlarge", Market.ON_DEMAND, "L-DB2E81BA"),
        ("gr6.4xlarge", Market.SPOT, "L-3819A6DF"),
        ("p4d.24xlarge", Market.ON_DEMAND, "L-417A185B"),
        ("p4d.24xlarge", Market.SPOT, "L-7212CCBC"),
        ("p5.48xlarge", Market.SPOT, "L-C4BD4855"),
        ("p5.48xlarge", Market.CAPACITY_BLOCK, ""),
    ],
)
def test_quota_by_family_and_market(instance_type: str, market: Market, code: str) -> None:
    assert quota_code(instance_type, market) == code
