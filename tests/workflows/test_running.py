"""A lease in use: warnings, extensions, release, grace, restore, and what happens when the cloud says no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import SIGNAL_ACT, SIGNAL_OBSERVED, Act, Notice, Observed, Verb
from lessor.domain.lease import State
from lessor.domain.policy import Decision, Outcome, Reason
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from tests.world import ADMIN, ASK_THE_LEAD, MANAGER, REQUESTER, SECOND, World

HOUR = timedelta(hours=1)


def no_capacity(times: int) -> list[Exception]:
    return [NoCapacityError("none", (), "InsufficientInstanceCapacity") for _ in range(times)]


async def test_an_extension_moves_the_end_the_warnings_and_the_tag(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    later = lease.ends_at + 4 * HOUR
    answer = await world.act(handle, Verb.EXTEND, REQUESTER, until=later, reason="one more epoch")
    assert (answer.ok, answer.ends_at) == (True, later)
    await world.when(handle, lambda _: world.cloud.ends.get(handle.id) == later, "the end written on the machine")
    await world.sleep(8 * HOUR)
    assert (await world.lease(handle)).state is State.ACTIVE
    await world.sleep(4 * HOUR)
    assert (await world.until(handle, State.STOPPED)).extensions == 1
    assert world.notifier.kinds(handle.id).count("warning") == 3


async def test_extensions_are_refused_beyond_the_maximum_and_by_strangers(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    beyond = await world.act(handle, Verb.EXTEND, REQUESTER, until=lease.ready_at + timedelta(days=31))
    assert (beyond.ok, beyond.code) == (False, "beyond-maximum")
    stranger = await world.act(handle, Verb.EXTEND, ADMIN.__class__("U0OTHER"), until=lease.ends_at + HOUR)
    assert stranger.ok is False
    assert (await world.act(handle, Verb.EXTEND, MANAGER, until=lease.ends_at + HOUR)).ok
    assert (await world.act(handle, Verb.EXTEND, ADMIN, until=lease.ends_at + 2 * HOUR)).ok


async def test_an_early_release_stops_now_and_deletes_after_grace(world: World) -> None:
    handle = await world.active()
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    stopped = await world.until(handle, State.STOPPED)
    assert stopped.ending_reason == "released by U0REQUESTER"
    assert world.ledger.held("research") == ()
    await world.sleep(timedelta(days=6))
    assert len(world.cloud.alive(handle.id)) == 1
    await world.sleep(timedelta(days=1, minutes=5))
    assert (await handle.result()).state == "closed"
    assert world.cloud.alive(handle.id) == []


async def test_a_stopped_lease_comes_back_during_grace(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    stopped = await world.until(handle, State.STOPPED)
    until = stopped.stopped_at + timedelta(hours=6)
    assert (await world.act(handle, Verb.RESTORE, REQUESTER, until=until)).ok
    active = await world.until(handle, State.ACTIVE)
    assert active.ends_at == until
    assert [r.gpus for r in world.ledger.held("research")] == [1]
    assert [m.condition for m in world.cloud.alive(handle.id)] == [Condition.RUNNING]


async def test_a_restore_that_fails_returns_to_grace_and_loses_nothing(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    stopped = await world.until(handle, State.STOPPED)
    world.cloud.fail["start"] = [PermanentError("the account has no vCPUs left", "VcpuLimitExceeded")]
    await world.act(handle, Verb.RESTORE, REQUESTER, until=stopped.stopped_at + 6 * HOUR)
    tail = ["restore-asked", "restore-failed", "stopped"]
    await world.when(handle, lambda _: world.events(handle)[-3:] == tail, "a restore that failed, stopped again")
    assert (await world.lease(handle)).state is State.STOPPED
    assert world.ledger.held("research") == ()
    assert len(world.cloud.alive(handle.id)) == 1


async def test_no_stop_before_a_warning_was_delivered(world: World) -> None:
    world.notifier.silent[Notice.WARNING] = 60
    handle = await world.active()
    await world.sleep(8 * HOUR + timedelta(minutes=10))
    assert (await world.lease(handle)).state is State.ACTIVE
    assert world.cloud.times("stop") == 0
    world.notifier.silent[Notice.WARNING] = 0
    await world.sleep(timedelta(minutes=2))
    lease = await world.when(handle, lambda found: bool(found.warned), "a delivered warning")
    assert lease.state is State.ACTIVE
    await world.sleep(lease.terms.notice + timedelta(seconds=5))
    await world.until(handle, State.STOPPED)


async def test_a_lease_that_cannot_stop_is_deleted_at_its_end(world: World) -> None:
    world.cloud.stoppable = False
    handle = await world.active()
    assert (await handle.result()).state == "closed"
    assert world.cloud.times("stop") == 0


async def test_a_failed_stop_deletes_nothing_and_is_tried_again(world: World) -> None:
    world.cloud.fail["stop"] = [PermanentError("stop protection is on", "OperationNotPermitted")]
    handle = await world.active()
    await world.sleep(8 * HOUR + timedelta(minutes=1))
    await world.when(handle, lambda lease: lease.problem != "", "a stop that failed")
    assert len(world.cloud.alive(handle.id)) == 1
    assert world.notifier.kinds(handle.id)[-1] == "stop-failed"
    await world.sleep(timedelta(minutes=31))
    await world.until(handle, State.STOPPED)


async def test_capacity_is_waited_for_and_the_lease_then_starts(world: World) -> None:
    world.cloud.fail["launch"] = no_capacity(4)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    waiting = await world.until(handle, State.WAITING_FOR_CAPACITY)
    assert waiting.capacity.tried == ("g5.xlarge in us-east-1a (on-demand)", "g5.xlarge in us-east-1b (on-demand)")
    await world.sleep(HOUR + timedelta(minutes=1))
    await world.when(handle, lambda lease: lease.capacity is not None and lease.capacity.tries == 2, "a second try")
    await world.sleep(2 * HOUR)
    assert (await world.until(handle, State.ACTIVE)).capacity is None
    assert [r.gpus for r in world.ledger.held("research")] == [1]


async def test_capacity_that_never_comes_fails_with_everything_given_back(world: World) -> None:
    world.cloud.fail["launch"] = no_capacity(10)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    outcome = await handle.result()
    assert outcome.state == "failed"
    assert world.cloud.times("launch") == 10
    assert world.ledger.held("research") == ()


async def test_throttling_and_lost_answers_make_one_machine(world: World) -> None:
    world.cloud.fail["launch"] = [RetryableError("throttled")]
    world.cloud.lose["launch"] = [RetryableError("the answer was lost")]
    handle = await world.active()
    assert len(world.cloud.machines) == 1
    assert len(world.cloud.alive(handle.id)) == 1


async def test_what_is_left_blocks_the_lease_until_it_is_gone(world: World) -> None:
    handle = await world.active()
    world.cloud.fail["delete"] = [PermanentError("termination protection is on") for _ in range(70)]
    await world.act(handle, Verb.RELEASE, REQUESTER)
    await world.until(handle, State.STOPPED)
    await world.sleep(timedelta(days=7, minutes=40))
    blocked = await world.until(handle, State.BLOCKED)
    assert blocked.problem == "termination protection is on"
    assert "blocked" in world.notifier.kinds(handle.id)
    world.cloud.fail["delete"].clear()
    assert (await handle.result()).state == "closed"
    assert world.cloud.alive(handle.id) == []


async def test_an_interrupted_machine_ends_the_bill_and_tells_the_owner(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    machine = lease.resources[0]
    why = "Server.SpotInstanceTermination"
    world.cloud.machines[machine.id] = replace(machine, condition=Condition.GONE, reason=why)
    seen_at = lease.ready_at + timedelta(minutes=30)
    await world.sleep(timedelta(minutes=31))
    await handle.signal(SIGNAL_OBSERVED, Observed(machine.id, "gone", why, seen_at))
    assert (await handle.result()).state == "closed"
    ended = await world.lease(handle)
    assert ended.spans[0].end == seen_at
    assert "interrupted" in world.notifier.kinds(handle.id)


async def test_a_false_report_changes_nothing(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    await handle.signal(SIGNAL_OBSERVED, Observed(lease.resources[0].id, "gone", "", lease.ready_at))
    await world.when(handle, lambda _: world.cloud.times("look") >= 2, "a second look")
    assert (await world.lease(handle)).state is State.ACTIVE


async def test_a_second_look_that_fails_for_good_changes_nothing(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    world.cloud.fail["look"] = [PermanentError("not authorized to perform DescribeInstances", "UnauthorizedOperation")]
    await handle.signal(SIGNAL_OBSERVED, Observed(lease.resources[0].id, "gone", "", lease.ready_at))
    await world.when(handle, lambda _: not world.cloud.fail["look"], "a second look")
    assert (await world.lease(handle)).state is State.ACTIVE
    assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok


async def test_the_second_lead_may_keep_a_lease_until_its_end(world: World) -> None:
    handle = await world.active()
    assert (await world.act(handle, Verb.KEEP, SECOND)).ok
    assert world.events(handle)[-1] == "kept"


async def test_a_report_about_a_stopped_lease_does_not_keep_it_awake(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    stopped = await world.until(handle, State.STOPPED)
    report = Observed(stopped.resources[0].id, "stopped", "", stopped.stopped_at)
    await handle.signal(SIGNAL_OBSERVED, report)
    assert (await world.act(handle, Verb.RESTORE, REQUESTER, until=stopped.stopped_at + 6 * HOUR)).ok
    await world.until(handle, State.ACTIVE)
    assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok


async def test_a_machine_that_never_becomes_usable_for_lack_of_capacity_leads_to_the_next_zone(world: World) -> None:
    world.cloud.fail["await_usable"] = no_capacity(1)
    handle = await world.active()
    assert (await world.lease(handle)).state is State.ACTIVE
    assert world.cloud.times("launch") == 2
    assert [i.confirmed for i in world.ledger.intents(handle.id)] == [True, True]


async def test_a_definite_no_leaves_no_open_intent_and_an_unclear_answer_does(world: World) -> None:
    world.cloud.fail["launch"] = [*no_capacity(1), RetryableError("no answer")]
    world.cloud.lose["launch"] = []
    handle = await world.active()
    answered = {i.token.rpartition("-")[2]: i.confirmed for i in world.ledger.intents(handle.id)}
    assert answered == {"1a": True, "1b": False}


async def test_an_extension_is_no_way_around_the_rules(world: World) -> None:
    world.decision = Decision(Outcome.APPROVE, (Reason("small", "at most 8 hours"),), policy_version="v1")
    handle = await world.ask()
    lease = await world.until(handle, State.ACTIVE)
    world.decision = ASK_THE_LEAD
    later = lease.ends_at + 12 * HOUR
    asked = await world.act(handle, Verb.EXTEND, REQUESTER, until=later)
    assert (asked.ok, asked.ends_at) == (True, lease.ends_at)
    assert "not extended yet: team lead (lead:research) is asked to approve it" in asked.message
    assert (await world.lease(handle)).ends_at == lease.ends_at
    assert (await world.act(handle, Verb.EXTEND, MANAGER, until=later)).ok
    world.decision = Decision(Outcome.DENY, (Reason("quarter-end", "no more than a day"),), policy_version="v2")
    denied = await world.act(handle, Verb.EXTEND, MANAGER, until=later + HOUR)
    assert (denied.ok, denied.code) == (False, "policy")
    assert "quarter-end: no more than a day" in denied.message


async def test_an_act_that_was_only_recorded_and_has_no_effect_is_told_to_its_person(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    beyond = Act("kept", Verb.EXTEND, REQUESTER.id, until=lease.ready_at + timedelta(days=90))
    await handle.signal(SIGNAL_ACT, beyond)
    await world.told(handle, "refused")
    refusal = (await world.lease(handle)).refusal
    assert refusal is not None
    assert (refusal.by, refusal.verb) == (REQUESTER.id, "extend")
    assert "at most 30 d in total" in refusal.why


async def test_what_people_read_are_our_words_and_not_the_vendors(world: World) -> None:
    ours = PermanentError("lessor's role may not launch here; an administrator has to give it the policy", "Denied")
    ours.__cause__ = RuntimeError("An error occurred (UnauthorizedOperation): Encoded message: eJyr")
    world.cloud.fail["launch"] = [ours]
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    await handle.result()
    assert (await world.lease(handle)).problem == str(ours)


async def test_what_is_wrong_is_told_although_a_kind_that_does_not_decide_it_may_not_be_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await world.active()
    whole, words = world.cloud.look, "pods do not run"

    def in_part(lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        found = whole(lease_id, place, known)
        ill = tuple(replace(one, fault=words) for one in found.resources)
        return replace(found, resources=ill, complete=False, unread=(Kind.VOLUME,))

    monkeypatch.setattr(world.cloud, "look", in_part)
    lease = await world.lease(handle)
    await handle.signal(SIGNAL_OBSERVED, Observed(lease.resources[0].id, "running", words, lease.ready_at))
    lease = await world.when(handle, lambda one: one.unfit is not None, "what is wrong")
    assert lease.unfit is not None
    assert words in lease.unfit.words
