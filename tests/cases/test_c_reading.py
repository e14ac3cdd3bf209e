"""Cases C22 to C33, F28 and F34: what EC2 says of states, lists, prices and times, and what it means."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from lessor.catalog import load_catalogue
from lessor.contracts import TAG_LEASE
from lessor.domain.money import Money
from lessor.domain.provisioning import Candidate
from lessor.domain.request import Market, Need
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.aws import Ec2Provider
from lessor.providers.aws.prices import CHOSEN, PriceProblem, only_price
from lessor.providers.aws.sessions import CONFIG
from lessor.providers.aws.tags import pairs
from tests.builders import LEASE_ID
from tests.providers.attempts import Beats, silent
from tests.providers.aws_world import World, instances, launch_first, place, shared_session, together

G5 = Need("A10G", 1)
P5 = Need(instance_type="p5.48xlarge")


def test_C22_throttling_read_as_failure(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    made = launch_first(provider, order)
    world.controls.set_delays(pending=1100)
    other = world.order(provider, G5, lease_id="gpu-00000002")
    slow = launch_first(provider, other)
    provider.await_usable(order, made, silent)
    beats = Beats()
    world.controls.clear_faults()

    def throttle_polls(what: str) -> None:
        beats(what)
        if len(beats.told) == 1:
            world.controls.throttle("DescribeInstances", 100)

    leased = provider.await_usable(other, slow, throttle_polls)
    assert instances(leased.resources) == instances(slow)
    assert world.controls.calls("DescribeInstances", "RequestLimitExceeded") == 100
    assert len(beats.told) > 100


def test_C22_throttling_read_as_nothing_there(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    world.controls.throttle("Describe*", 2)
    sighting = provider.look(LEASE_ID, place())
    assert (sighting.complete, sighting.clean) == (False, False)
    assert "RequestLimitExceeded" in sighting.problem
    with pytest.raises(RetryableError):
        provider.conditions(place())


def test_C22_many_wait_with_one_reading_in_ten_seconds(world: World, provider: Ec2Provider) -> None:
    world.controls.set_delays(pending=25)
    orders = [world.order(provider, G5, lease_id=f"gpu-0000100{n}") for n in range(8)]
    launches = [launch_first(provider, order) for order in orders]
    before, slept = world.controls.calls("DescribeInstances"), sum(world.slept)
    waits = [lambda o=o, m=m: provider.await_usable(o, m, silent) for o, m in zip(orders, launches, strict=True)]
    found = together(*waits)
    assert [instances(one.resources) for one in found] == [instances(made) for made in launches]
    looks_before_waiting = len(orders)
    assert world.controls.calls("DescribeInstances") - before - looks_before_waiting == 4
    assert sum(world.slept) - slept == 30


def test_C23_fewer_machines_than_asked(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, Need("V100-16GB", 64))
    assert (order.quote.offer.instance_type, order.quote.offer.gpu_count) == ("p3.16xlarge", 64)
    assert order.quote.offer.note == "8 machines of 8 GPUs"
    assert order.quote.offer.hourly == Money(Decimal("195.84"))
    candidate = provider.candidates(order)[0]
    eight = provider.launch(order, candidate, silent)
    assert len(instances(eight)) == 8
    for lost in instances(eight)[5:]:
        world.controls.terminate(lost)
    five = world.provider().launch(order, candidate, silent)
    assert sorted(instances(five)) == sorted(instances(eight)[:5])
    with pytest.raises(NoCapacityError, match="EC2 gave 5 of 8 machines") as caught:
        provider.await_usable(order, five, silent)
    assert caught.value.tried == ("p3.16xlarge in us-east-1a",)
    assert world.alive() == []


def test_C23_all_or_nothing_then_all(world: World, provider: Ec2Provider) -> None:
    """After a partial launch was ended, the next try with the same candidate has a token of its own."""
    order = world.order(provider, Need("V100-16GB", 16))
    candidate = provider.candidates(order)[0]
    first = provider.launch(order, candidate, silent)
    world.controls.terminate(instances(first)[0])
    with pytest.raises(NoCapacityError):
        provider.await_usable(order, provider.launch(order, candidate, silent), silent)
    leased = world.lease(world.provider(), order)
    assert sorted(instances(leased.resources)) == sorted(world.alive())
    assert len(world.alive()) == 2
    assert leased.hourly == Money(Decimal("48.96"))
    assert leased.access.splitlines() == [
        f"aws ssm start-session --target {i} --region us-east-1" for i in instances(leased.resources)
    ]


def test_C25_ends_while_we_wait_for_running(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.set_delays(pending=5)
    world.controls.fail_launches("Client.VolumeLimitExceeded", "Volume limit exceeded")
    made = launch_first(provider, order)
    with pytest.raises(PermanentError, match=r"Client\.VolumeLimitExceeded: Volume limit exceeded") as caught:
        provider.await_usable(order, made, silent)
    assert made[0].id in str(caught.value)
    assert sum(world.slept) <= 30
    assert world.alive() == []


def test_C25_ended_by_aws_itself_is_capacity(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.fail_launches("Server.InsufficientInstanceCapacity", "no capacity")
    with pytest.raises(NoCapacityError) as caught:
        provider.await_usable(order, launch_first(provider, order), silent)
    assert caught.value.tried == ("g5.xlarge in us-east-1a",)
    assert instances(world.lease(provider, order).resources) == world.alive()


def test_C26_type_not_offered_in_the_zone(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    in_a: Candidate = provider.candidates(order)[0]
    world.controls.refuse_type("g5.xlarge", "us-east-1a")
    fresh = world.provider()
    offered = [c.zone for c in fresh.candidates(order) if c.instance_type == "g5.xlarge"]
    assert offered == ["us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"]
    leased = fresh.await_usable(order, launch_first(fresh, order, [in_a, *fresh.candidates(order)]), silent)
    assert leased.resources[0].zone == "us-east-1b"
    assert world.controls.calls("RunInstances", "Unsupported") == 1


def test_C26_type_not_offered_in_the_region(world: World, provider: Ec2Provider) -> None:
    world.controls.refuse_type("p5.48xlarge")
    with pytest.raises(PermanentError) as caught:
        provider.quote(P5, place(), Market.ON_DEMAND, world.now())
    assert caught.value.code == "no-offer"
    assert str(caught.value).startswith("p5.48xlarge is not offered in research (us-east-1); nothing was requested.")
    assert "A10G x1/4/8" in str(caught.value)


def test_C28_price_unknown_counted_as_zero(world: World, provider: Ec2Provider) -> None:
    quote = provider.quote(Need(instance_type="g7.2xlarge"), place(), Market.ON_DEMAND, world.now())
    assert (quote.offer.hourly, quote.known, quote.total(timedelta(hours=1))) == (None, False, None)
    assert "has no on-demand price" in quote.note


def test_C28_the_chosen_product(world: World, provider: Ec2Provider) -> None:
    world.controls.set_price("g5.xlarge", "1.2345")
    quote = provider.quote(Need(instance_type="g5.xlarge"), place(), Market.ON_DEMAND, world.now())
    assert quote.offer.hourly == Money(Decimal("1.2345"))
    assert quote.price_list == f"aws price api {world.now():%Y-%m-%d}"


@pytest.mark.parametrize(
    ("amounts", "said"),
    [(["1.006", "1.207"], "2 candidates"), (["0.0000000000"], "no GPU costs"), ([], "no on-demand price")],
)
def test_C28_two_candidates_and_zero_are_errors(amounts: list[str], said: str) -> None:
    def product(amount: str) -> dict[str, object]:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": amount}}
        term = {"effectiveDate": "2026-01-01T00:00:00Z", "priceDimensions": {"d": dimension}}
        return {"product": {"attributes": CHOSEN}, "terms": {"OnDemand": {"t": term}}}

    with pytest.raises(PriceProblem, match=said):
        only_price([product(amount) for amount in amounts], CHOSEN)


def test_C28_the_catalogue_where_the_price_api_is_out_of_reach(world: World, provider: Ec2Provider) -> None:
    world.controls.make_pricing_unreachable()
    quote = provider.quote(Need(instance_type="g5.xlarge"), place(), Market.ON_DEMAND, world.now())
    assert quote.offer.hourly == Money(Decimal("1.006"))
    assert quote.price_list == load_catalogue().version
    assert "price list could not be read" in quote.note


def test_C29_only_the_first_page_read(world: World, provider: Ec2Provider) -> None:
    specification = [{"ResourceType": "volume", "Tags": pairs({TAG_LEASE: LEASE_ID, "lessor:managed-by": "lessor"})}]
    for _ in range(25):
        world.administrator.create_volume(AvailabilityZone="us-east-1a", Size=1, TagSpecifications=specification)
    world.controls.plan_pages("DescribeVolumes", [10, 0, 15])
    assert len(provider.look(LEASE_ID, place()).resources) == 25
    assert len(provider.conditions(place())) == 25
    assert world.controls.calls("DescribeVolumes") == 6


def test_C29_a_failure_on_the_second_page(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    for lease in (LEASE_ID, "gpu-00000002"):
        world.lease(provider, replace(order, lease_id=lease))
    world.controls.plan_pages("DescribeInstances", [1, 1])
    assert len(instances(provider.conditions(place()))) == 2

    def refuse_second_page(params: dict[str, dict[str, str]], **_: object) -> None:
        if "NextToken" in params["body"]:
            world.controls.throttle("DescribeInstances")

    events = shared_session().client("ec2", region_name="us-east-1", config=CONFIG).meta.events
    events.register("before-call.ec2.DescribeInstances", refuse_second_page)
    try:
        with pytest.raises(RetryableError):
            provider.conditions(place())
        sighting = provider.look(LEASE_ID, place())
        assert (sighting.complete, sighting.clean) == (False, False)
    finally:
        events.unregister("before-call.ec2.DescribeInstances", refuse_second_page)


def test_C33_clock_wrong_on_the_host(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    world.controls.expire_requests()
    with pytest.raises(RetryableError) as caught:
        provider.stop(LEASE_ID, place(), silent)
    assert caught.value.code == "RequestExpired"
    assert "clock" in str(caught.value)
    sighting = provider.look(LEASE_ID, place())
    assert (sighting.complete, sighting.left) == (False, ())
    world.controls.expire_requests(False)
    assert provider.stop(LEASE_ID, place(), silent).tzinfo is UTC
    assert instances(provider.look(LEASE_ID, place()).left) == instances(leased.resources)


def test_F28_price_change_rewrites_the_past() -> None:
    catalogue = load_catalogue()
    before, after = datetime(2025, 5, 31, 23, 59, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    prices = [catalogue.hourly("p4d.24xlarge", "us-east-1", Market.ON_DEMAND, at) for at in (before, after)]
    assert prices == [Money(Decimal("32.7726")), Money(Decimal("21.957642"))]
    assert catalogue.hourly("p4d.24xlarge", "us-east-1", Market.ON_DEMAND, datetime(2020, 1, 1, tzinfo=UTC)) is None


def test_F34_spot_price_moves(world: World, provider: Ec2Provider) -> None:
    quote = world.order(provider, G5, Market.SPOT).quote
    assert quote.spot_low is not None
    assert quote.spot_high is not None
    assert quote.offer.hourly is not None
    assert quote.spot_low <= quote.offer.hourly < quote.spot_high
    assert f"{world.now():%Y-%m-%d}" in quote.note
    assert quote.price_list == f"aws spot price history {world.now():%Y-%m-%d}"
    assert quote.judged_hourly == Money(Decimal("1.006"))
