"""A place with several regions: the quote is for the first that has an offer, a launch goes on to the next ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import LeaseRef
from lessor.domain.lease import State
from lessor.domain.provisioning import Provisioned
from lessor.domain.request import Market, Need
from lessor.ledger import SqlLedger
from lessor.ports import PermanentError, RetryableError
from lessor.providers.aws import Ec2Place, Ec2Provider
from lessor.retries import ErrorType
from lessor.sandbox.aws import prices
from lessor.sandbox.aws.faults import Fault
from tests.builders import LEASE_ID, a_request, a_story
from tests.providers.attempts import silent
from tests.providers.aws_world import World, administrator, instances, place

P5 = Need(instance_type="p5.48xlarge", count=8)
G5 = Need(instance_type="g5.xlarge", count=1)
ANYWHERE = place(region="")
P_QUOTA = "L-417A185B"
EAST, WEST = "us-east-1", "us-west-2"


@pytest.fixture
def world(world: World) -> World:
    world.places["research"] = Ec2Place("research", (EAST, WEST))
    return world


def provision(world: World, provider: Ec2Provider, ledger: SqlLedger) -> Provisioned:
    """The activity, for an approved lease of one p5.48xlarge anywhere in the place."""
    request = replace(a_request(), need=P5, place=ANYWHERE)
    quote = provider.quote(P5, ANYWHERE, Market.ON_DEMAND, world.now())
    lease, events = a_story(State.APPROVED, request=request, quote=quote)
    ledger.record(lease, events[-1:])
    work = ProvisioningActivities({"aws": provider}, ledger, world.now).provision
    return ActivityEnvironment().run(work, LeaseRef(lease.id, lease.revision))


def test_the_quote_names_its_region_and_what_is_elsewhere(world: World, provider: Ec2Provider) -> None:
    quote = provider.quote(P5, ANYWHERE, Market.ON_DEMAND, world.now())
    assert (quote.offer.region, quote.note.split("; ")[0]) == (EAST, "for us-east-1")
    (other,) = quote.alternatives
    assert (other.instance_type, other.region) == ("p5.48xlarge", WEST)
    assert other.note == "in us-west-2; taken if the first has no capacity"
    alone = provider.quote(P5, place(region=WEST), Market.ON_DEMAND, world.now())
    assert (alone.offer.region, alone.alternatives) == (WEST, ())
    assert "for us-west-2" not in alone.note


def test_candidates_go_region_by_region_with_tokens_of_their_own(world: World, provider: Ec2Provider) -> None:
    found = list(provider.candidates(world.order(provider, P5, place=ANYWHERE)))
    regions = [candidate.region for candidate in found]
    assert regions == sorted(regions)
    assert set(regions) == {EAST, WEST}
    assert all(candidate.zone.startswith(candidate.region) for candidate in found)
    assert len({candidate.token for candidate in found}) == len(found)
    assert {c.region for c in provider.candidates(world.order(provider, P5, place=place(region=WEST)))} == {WEST}
    in_zone = world.order(provider, P5, place=place(region="", zone=f"{WEST}a"))
    assert {c.region for c in provider.candidates(in_zone)} == {WEST}


def test_the_preferred_region_is_the_first_even_where_another_is_cheaper(world: World) -> None:
    world.places["research"] = Ec2Place("research", ("eu-central-1", EAST))
    provider = world.provider()
    quote = provider.quote(G5, ANYWHERE, Market.ON_DEMAND, world.now())
    cheap = quote.alternatives[0]
    assert (quote.offer.region, cheap.region) == ("eu-central-1", EAST)
    assert quote.offer.hourly is not None
    assert cheap.hourly is not None
    assert cheap.hourly < quote.offer.hourly
    assert [offer.region for offer in provider.offers(G5, ANYWHERE, Market.ON_DEMAND)] == [EAST, "eu-central-1"]


@pytest.mark.parametrize(("factor", "regions"), [("1.5", {EAST, "eu-central-1"}), ("1.51", {EAST})])
def test_a_region_that_costs_much_more_is_no_candidate(
    world: World, monkeypatch: pytest.MonkeyPatch, factor: str, regions: set[str]
) -> None:
    monkeypatch.setitem(prices._REGION_FACTORS, "eu-central-1", factor)
    world.places["research"] = Ec2Place("research", (EAST, "eu-central-1"))
    provider = world.provider()
    assert {c.region for c in provider.candidates(world.order(provider, G5, place=ANYWHERE))} == regions


def test_a_region_that_does_not_sell_it_is_passed_over(world: World) -> None:
    world.places["research"] = Ec2Place("research", ("eu-central-1", WEST))
    provider = world.provider()
    quote = provider.quote(P5, ANYWHERE, Market.ON_DEMAND, world.now())
    assert (quote.offer.region, quote.alternatives) == (WEST, ())
    with pytest.raises(PermanentError, match=r"nothing in research \(eu-central-1, us-west-2\)"):
        provider.quote(Need(instance_type="p9.48xlarge", count=1), ANYWHERE, Market.ON_DEMAND, world.now())


def test_a_region_without_capacity_leads_to_the_next(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    world.controls.refuse_capacity(zone=f"{EAST}?")
    leased = provision(world, provider, sqlite_ledger)
    assert [i["region"] for i in world.controls.instances()] == [WEST]
    assert leased.access.endswith(f"--region {WEST}")
    assert {resource.region for resource in leased.resources} == {WEST}
    provider.delete(LEASE_ID, ANYWHERE, leased.resources, silent)
    assert provider.look(LEASE_ID, ANYWHERE).clean


def test_a_limit_in_one_region_leads_to_the_next_with_one_attempt(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    world.controls.set_quota(P_QUOTA, 96, region=EAST)
    leased = provision(world, provider, sqlite_ledger)
    assert [i["region"] for i in world.controls.instances()] == [WEST]
    assert world.controls.calls("RunInstances") == 2
    assert leased.hourly == provider.quote(P5, ANYWHERE, Market.ON_DEMAND, world.now()).alternatives[0].hourly


def test_limits_in_all_regions_are_permanent_and_name_them(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    world.controls.set_quota(P_QUOTA, 96)
    with pytest.raises(ApplicationError) as caught:
        provision(world, provider, sqlite_ledger)
    assert (caught.value.type, caught.value.non_retryable) == (ErrorType.PERMANENT, True)
    assert caught.value.details == ("VcpuLimitExceeded",)
    assert caught.value.message.startswith("none of us-east-1, us-west-2 can take it. us-east-1: the AWS")
    assert "; us-west-2: the AWS account's limit in us-west-2 does not allow" in caught.value.message
    assert world.controls.calls("RunInstances") == 2


def test_a_limit_here_and_no_capacity_there_is_waited_for(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    world.controls.set_quota(P_QUOTA, 96, region=EAST)
    world.controls.refuse_capacity(zone=f"{WEST}?")
    with pytest.raises(ApplicationError) as caught:
        provision(world, provider, sqlite_ledger)
    assert caught.value.type == ErrorType.NO_CAPACITY
    assert all(WEST in tried for tried in caught.value.details[0])
    assert caught.value.message.count("; in us-east-1 it is not possible at all: the AWS account's limit") == 1


def test_a_setting_that_is_wrong_in_one_region_does_not_end_what_waits_in_another(
    world: World, provider: Ec2Provider, sqlite_ledger: SqlLedger
) -> None:
    administrator(EAST).create_security_group(GroupName="ml", Description="ml")
    world.places["research"] = replace(world.places["research"], security_group="ml")
    world.controls.refuse_capacity(zone=f"{EAST}?")
    with pytest.raises(ApplicationError) as caught:
        provision(world, provider, sqlite_ledger)
    assert caught.value.type == ErrorType.NO_CAPACITY
    assert "; in us-west-2 it is not possible at all: vpc-" in caught.value.message
    assert "has no security group named ml" in caught.value.message


def test_what_lives_in_one_region_is_not_launched_in_another(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, P5, place=ANYWHERE)
    candidates = provider.candidates(order)
    first = provider.launch(order, candidates[0], silent)
    assert instances(world.provider().launch(order, candidates[-1], silent)) == instances(first)
    assert world.controls.calls("RunInstances") == 1


@pytest.mark.parametrize("later_first", [False, True])
def test_overlapping_attempts_in_two_regions_keep_one_machine(
    world: World, provider: Ec2Provider, later_first: bool
) -> None:
    """Both launched before either could see the other: whichever settles first, it keeps the same one and ends one."""
    order = world.order(provider, P5, place=ANYWHERE)
    candidates = provider.candidates(order)
    world.controls.hide_new_instances(seconds=1)
    made = [world.provider().launch(order, candidates[0], silent)]
    world.controls.advance(0.5)
    made.append(world.provider().launch(order, candidates[-1], silent))
    assert len(world.alive()) == 2
    world.controls.advance(2)
    for attempt in reversed(made) if later_first else made:
        leased = world.provider().await_usable(order, attempt, silent)
        assert instances(leased.resources) == instances(made[0]) == world.alive()
        assert leased.access.endswith(f"--region {EAST}")


def test_an_unreadable_second_region_does_not_hide_the_first(world: World, provider: Ec2Provider) -> None:
    world.simulator.cloud.state.faults.add(
        Fault("error", "DescribeInstanceTypeOfferings", None, "InternalError", region=WEST)
    )
    order = world.order(provider, P5, place=ANYWHERE)
    assert order.quote.note.endswith("us-west-2 could not be asked (InternalError) and is not tried")
    assert {candidate.region for candidate in provider.candidates(order)} == {EAST}


def test_an_unreadable_first_region_leaves_the_price_unknown(world: World, provider: Ec2Provider) -> None:
    """Whether it has an offer is not known, so the offer of the second must not pass for the first."""
    world.simulator.cloud.state.faults.add(
        Fault("error", "DescribeInstanceTypeOfferings", None, "InternalError", region=EAST)
    )
    with pytest.raises(RetryableError):
        provider.quote(P5, ANYWHERE, Market.ON_DEMAND, world.now())


def test_a_region_that_stops_answering_after_the_approval_is_left_out(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, P5, place=ANYWHERE)
    world.simulator.cloud.state.faults.add(
        Fault("error", "DescribeInstanceTypeOfferings", None, "InternalError", region=WEST)
    )
    assert {candidate.region for candidate in world.provider().candidates(order)} == {EAST}
