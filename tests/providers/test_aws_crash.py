"""Attempts that die, overlap or hear no answer: each lease has what was ordered, once (cases B12, B13, B27, B28)."""

from __future__ import annotations

import pytest

from lessor.domain.request import Market, Need
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError, RetryableError
from lessor.providers.aws import Ec2Provider
from tests.builders import LEASE_ID
from tests.providers.attempts import Beats, Stopped, silent
from tests.providers.aws_world import World, instances, launch_first, place, together

G5 = Need("A10G", 1)


@pytest.mark.parametrize("loss", ["lose_answers", "lose_requests", "fail_after_effect"])
def test_B12_retry_repeats_a_side_effect(world: World, provider: Ec2Provider, loss: str) -> None:
    """Twenty attempts in a row hear nothing of their launch."""
    order = world.order(provider, G5)
    candidate = provider.candidates(order)[0]
    getattr(world.controls, loss)("RunInstances", times=20)
    attempts = 0
    while True:
        attempts += 1
        try:
            made = world.provider().launch(order, candidate, silent)
            break
        except RetryableError:
            continue
    leased = world.provider().await_usable(order, made, silent)
    # An answer that is lost after the effect is found by tag at the next attempt; a request that is lost is not.
    assert attempts == (21 if loss == "lose_requests" else 2)
    assert instances(leased.resources) == world.alive(LEASE_ID)
    assert len(world.alive()) == 1


def test_B13_two_overlapping_attempts_to_provision(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.hide_new_instances(seconds=30)
    leases = together(*[lambda: world.lease(world.provider(), order)] * 2)
    assert [instances(lease.resources) for lease in leases] == [world.alive()] * 2
    assert len(world.alive()) == 1


def test_B13_overlapping_attempts_in_different_zones_keep_one_machine(world: World, provider: Ec2Provider) -> None:
    """Both launched before either could see the other: each settles on the same machine."""
    order = world.order(provider, G5)
    in_a, in_b = provider.candidates(order)[:2]
    world.controls.hide_new_instances(seconds=1)
    first, second = provider.launch(order, in_a, silent), world.provider().launch(order, in_b, silent)
    assert instances(first) != instances(second)
    world.controls.advance(2)
    kept = [instances(world.provider().await_usable(order, made, silent).resources) for made in (second, first)]
    assert kept[0] == kept[1] == world.alive()
    assert len(world.alive()) == 1


def test_B13_two_overlapping_attempts_to_stop(world: World, provider: Ec2Provider) -> None:
    world.lease(provider, world.order(provider, G5))
    world.controls.set_delays(stopping=15)
    stops = together(*[lambda: world.provider().stop(LEASE_ID, place(), silent)] * 2)
    assert stops[0] == stops[1]
    assert [i["state"] for i in world.controls.instances()] == ["stopped"]


def test_B13_a_stale_attempt_does_not_write(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    candidate = provider.candidates(order)[0]
    for stop_at, what in enumerate(["creating security group", "launching g5.xlarge"]):
        with pytest.raises(Stopped, match=what):
            provider.launch(order, candidate, Beats(stop_at))
    assert world.controls.calls("RunInstances") == 0


def test_B27_crash_in_the_middle_of_provisioning(world: World, provider: Ec2Provider) -> None:
    """The answer never came and nobody tries again: the intent's token alone is enough to take it down."""
    order = world.order(provider, G5)
    candidate = provider.candidates(order)[0]
    world.controls.lose_answers("RunInstances")
    with pytest.raises(RetryableError):
        provider.launch(order, candidate, silent)
    assert len(world.alive()) == 1
    intent = Resource(Kind.INSTANCE, "", token=candidate.token, created_at=world.now())
    assert [r.kind for r in provider.look(LEASE_ID, place(), [intent]).left if r.condition is Condition.UNKNOWN] == []
    world.provider().delete(LEASE_ID, place(), [intent], silent)
    world.controls.advance(1800)
    assert world.controls.leftovers() == []
    assert world.provider().look(LEASE_ID, place(), [intent]).clean


def test_B27_an_intent_without_a_trace_is_not_clean_at_once(world: World, provider: Ec2Provider) -> None:
    intent = Resource(Kind.INSTANCE, "", token="t0", created_at=world.now())
    assert not provider.look(LEASE_ID, place(), [intent]).clean
    world.controls.advance(600)
    assert provider.look(LEASE_ID, place(), [intent]).clean


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("VcpuLimitExceeded", 400),
        ("UnauthorizedOperation", 403),
        ("InvalidParameterValue", 400),
        ("InvalidAMIID.NotFound", 400),
        ("AuthFailure", 401),
    ],
)
def test_B28_permanent_error_retried_for_days(world: World, provider: Ec2Provider, code: str, status: int) -> None:
    order = world.order(provider, G5)
    world.controls.fail("RunInstances", code, status=status, times=None)
    with pytest.raises(PermanentError) as caught:
        launch_first(provider, order)
    assert caught.value.code == code
    assert "was created" in str(caught.value) or "was changed" in str(caught.value)
    assert world.controls.calls("RunInstances") == 1


def test_deletion_interrupted_after_each_call(world: World, provider: Ec2Provider) -> None:
    """The worker dies after the call had its effect, whichever it was; the next attempt finishes the rest."""
    for action in ("CancelSpotInstanceRequests", "TerminateInstances"):
        leased = world.lease(provider, world.order(provider, G5, Market.SPOT))
        world.controls.lose_answers(action)
        with pytest.raises(RetryableError):
            provider.delete(LEASE_ID, place(), leased.resources, silent)
        world.provider().delete(LEASE_ID, place(), leased.resources, silent)
        assert world.controls.leftovers() == []
        world.controls.advance(3601)


def test_two_overlapping_deletions(world: World, provider: Ec2Provider) -> None:
    leased = world.lease(provider, world.order(provider, G5))
    world.controls.set_delays(shutting_down=15)
    delete = [lambda: world.provider().delete(LEASE_ID, place(), leased.resources, silent)] * 2
    assert together(*delete) == [None, None]
    assert world.controls.leftovers() == []


def test_withdrawn_while_it_is_launched(world: World, provider: Ec2Provider) -> None:
    order = world.order(provider, G5)
    world.controls.set_delays(pending=60)
    made = launch_first(provider, order)
    world.provider().delete(LEASE_ID, place(), made, silent)
    assert world.controls.leftovers() == []
