"""Governance cases of approvals as the whole workflow answers them: who decides, in time, on what is still true."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from lessor.contracts import Notice, Verb
from lessor.domain import asking
from lessor.domain.approval import Step
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.people import Person, StandIn
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from tests.world import ADMIN, MANAGER, REQUESTER, SECOND, World

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
BERLIN = Hours("Europe/Berlin", ((datetime(2026, 10, 25, 1, tzinfo=UTC), 60),), (0, 1, 2, 3, 4), 9 * 60, 18 * 60)


def asks(*specs: StepSpec) -> Decision:
    return Decision(Outcome.REQUIRE, (Reason("large", "large"),), specs, "v1")


def replaced(world: World, person: Person, **changes: object) -> Person:
    """The directory's entry of a person, changed."""
    changed = replace(person, **changes)  # type: ignore[arg-type]
    world.directory.people = [changed if one.id == person.id else one for one in world.directory.people]
    return changed


@pytest.mark.parametrize("form", ["U0REQUESTER", "W0REQUESTER", "requester@example.com"])
async def test_F05_a_request_that_was_assigned_anew_is_still_not_its_requesters(leases: World, form: str) -> None:
    """The only approver leaves while it waits; the requester has meanwhile become the lead, and decides nothing."""
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    for lead in (MANAGER, SECOND):
        leases.directory.closed.add(lead.id)
    requester = replaced(leases, REQUESTER, leads=("research",), admin=True)
    await leases.sleep(5 * HOUR)
    refused = await leases.act(handle, Verb.APPROVE, replace(requester, id=form))
    assert (refused.ok, refused.code) == (False, "own-request")
    assert (await leases.lease(handle)).state is State.AWAITING_APPROVAL
    [event] = [stored.event for stored in leases.ledger.events(handle.id) if stored.event.type == "refused"]
    assert (event.data["verb"], event.data["code"]) == ("approve", "own-request")
    assert (await leases.act(handle, Verb.APPROVE, ADMIN)).ok


async def test_F05_what_the_requester_lent_does_not_decide_the_requesters_request(leases: World) -> None:
    lead = replaced(leases, REQUESTER, leads=("research",))
    lent = StandIn(lead.id, tuple(lead.all_ids), tuple(lead.refs))
    deputy = Person("U0DEPUTY", stands_in=(lent,))
    leases.directory.people.append(deputy)
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    refused = await leases.act(handle, Verb.APPROVE, deputy)
    assert (refused.ok, refused.code) == (False, "own-request")
    assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok


async def test_F07_when_only_the_requester_could_decide_the_next_level_does(leases: World) -> None:
    leases.decision = asks(StepSpec("lead", (f"person:{REQUESTER.id}",)))
    handle = await leases.ask()
    lease = await leases.until(handle, State.AWAITING_APPROVAL)
    [step] = lease.steps
    assert (step.escalated, step.approvers) == ("admins", (f"person:{REQUESTER.id}", "admins"))
    assert (await leases.act(handle, Verb.APPROVE, REQUESTER)).code == "own-request"
    assert (await leases.act(handle, Verb.APPROVE, ADMIN)).ok


def test_F08_four_hours_and_two_days_of_work_are_counted_where_those_who_decide_work() -> None:
    """Asked on a Friday at 16:00 in Berlin."""
    friday = datetime(2026, 11, 27, 15, 0, tzinfo=UTC)
    step = Step("lead", ("lead:research",), hours=(BERLIN,))
    [asked] = asking.asked((step,), Terms(escalate_after=4 * HOUR, lapse_after=18 * HOUR), friday)
    assert asked.remind_at == friday + 15 * MINUTE
    assert asked.escalate_at == datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
    assert asked.lapses_at == datetime(2026, 12, 1, 15, 0, tzinfo=UTC)


async def test_F08_nobody_answers_so_the_next_level_is_asked_and_silence_approves_nothing(leases: World) -> None:
    leases.terms = Terms(escalate_after=4 * HOUR, lapse_after=24 * HOUR, escalations=1)
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.sleep(4 * HOUR - MINUTE)
    assert (await leases.lease(handle)).steps[0].escalated == ""
    await leases.sleep(2 * MINUTE)
    lease = await leases.when(handle, lambda found: bool(found.steps[0].escalated), "the next level")
    assert lease.steps[0].approvers == ("lead:research", "admins")
    await leases.told(handle, Notice.ESCALATED.value)
    outcome = await handle.result()
    assert (outcome.state, outcome.hours) == (State.LAPSED.value, 0.0)
    events = leases.events(handle)
    assert (events.count("escalated"), "approved" in events, events[-1]) == (1, False, "lapsed")
    assert 3 <= events.count("reminded") <= 7
    await leases.told(handle, Notice.DECIDED.value)
    assert leases.cloud.times("launch") == 0


async def test_F08_the_next_level_decides_and_both_are_on_record(leases: World) -> None:
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    assert (await leases.act(handle, Verb.APPROVE, ADMIN)).code == "not-approver"
    await leases.sleep(4 * HOUR + MINUTE)
    await leases.when(handle, lambda found: bool(found.steps[0].escalated), "the next level")
    assert (await leases.act(handle, Verb.APPROVE, ADMIN)).ok
    lease = await leases.until(handle, State.ACTIVE)
    assert (lease.decided_by, lease.steps[0].escalations) == (ADMIN.id, 1)


async def test_F16_extensions_are_free_twice_then_decided_by_people_and_never_beyond_the_maximum(
    leases: World,
) -> None:
    leases.terms = Terms(auto_extensions=2, max_total=24 * HOUR)
    leases.decision = Decision(Outcome.APPROVE, (Reason("small", "small"),), (), "v1")
    handle = await leases.ask(duration=8 * HOUR)
    lease = await leases.until(handle, State.ACTIVE)
    for number in (1, 2):
        assert lease.ends_at is not None
        answer = await leases.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + 4 * HOUR, reason="more")
        assert answer.ok
        lease = await leases.lease(handle)
        assert (lease.extensions, lease.allowance) == (number, 16 * HOUR - number * 4 * HOUR)
    assert lease.ends_at is not None
    beyond = await leases.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + 9 * HOUR, reason="more")
    assert (beyond.ok, beyond.code) == (False, "beyond-maximum")
    assert "8 h of it left" in beyond.message
    asked = await leases.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + 8 * HOUR, reason="more")
    assert asked.ok
    wished = await leases.when(handle, lambda found: found.wish is not None, "a wish that people decide on")
    assert wished.ends_at == lease.ends_at
    assert (await leases.act(handle, Verb.GRANT, REQUESTER)).code == "own-request"
    assert (await leases.act(handle, Verb.GRANT, MANAGER)).ok
    lease = await leases.lease(handle)
    assert (lease.extensions, lease.allowance, lease.wish) == (3, timedelta(), None)


async def test_F21_a_nearer_end_that_is_past_or_too_near_is_refused_by_the_instant(leases: World) -> None:
    handle = await leases.active(duration=8 * HOUR)
    lease = await leases.lease(handle)
    assert lease.ready_at is not None
    for early in (lease.ready_at - HOUR, lease.ready_at + 14 * MINUTE):
        refused = await leases.act(handle, Verb.SHORTEN, REQUESTER, until=early)
        assert (refused.ok, refused.code) == (False, "end-too-early")
    assert (await leases.lease(handle)).ends_at == lease.ends_at
    sooner = lease.ready_at + HOUR
    assert (await leases.act(handle, Verb.SHORTEN, REQUESTER, until=sooner)).ok
    assert (await leases.lease(handle)).ends_at == sooner


async def test_F42_a_price_that_rose_before_a_reserved_start_goes_back_to_the_approver(leases: World) -> None:
    now = await leases.env.get_current_time()
    handle = await leases.ask(start=now + 24 * HOUR)
    await leases.until(handle, State.AWAITING_APPROVAL)
    assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
    lease = await leases.until(handle, State.APPROVED)
    assert lease.decision is not None
    assert lease.quote is not None
    assert lease.quote.offer.hourly == Money(Decimal("2.50"), "USD")
    assert (lease.decision.policy_version, lease.quote.price_list) == ("v1", "catalogue 2026-06-01")
    leases.cloud.hourly = Money(Decimal("2.76"), "USD")
    await leases.sleep(24 * HOUR + MINUTE)
    lease = await leases.until(handle, State.AWAITING_APPROVAL)
    assert lease.quote is not None
    assert lease.quote.offer.hourly == Money(Decimal("2.76"), "USD")
    assert leases.cloud.times("launch") == 0
    assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
    await leases.until(handle, State.ACTIVE)
