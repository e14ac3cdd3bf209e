"""From approval to the end of grace."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.domain import life, transitions
from lessor.domain.billing import Span
from lessor.domain.errors import Refused
from lessor.domain.lease import Capacity, Event, Lease, State, Terms, Warned
from tests.builders import (
    ACCESS,
    APPROVED,
    ASKED,
    ENDS,
    HOURLY,
    LAUNCHED,
    READY,
    RESOURCES,
    a_lease,
    a_request,
    usd,
)

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OWNER = "U0REQUESTER"
TRIED = ("p4de.24xlarge in us-east-1a (on-demand)", "p4de.24xlarge in us-east-1b (on-demand)")


def refusal(act: object, *arguments: object, **named: object) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        act(*arguments, **named)  # type: ignore[operator]
    return refused.value.code, str(refused.value)


def restoring() -> Lease:
    return life.restore(a_lease(State.STOPPED), ENDS + 2 * DAY, OWNER, ENDS + HOUR).lease


def test_every_try_to_provision_is_counted() -> None:
    first = life.start_provisioning(a_lease(State.APPROVED), APPROVED)
    assert first.lease.state is State.PROVISIONING
    assert first.events == (Event("provisioning", APPROVED, "lessor", {"try": "1"}),)
    again = life.start_provisioning(a_lease(State.WAITING_FOR_CAPACITY), READY + HOUR)
    assert again.events == (Event("provisioning", READY + HOUR, "lessor", {"try": "2"}),)


def test_no_capacity_is_waited_for_longer_and_longer_then_everything_is_undone() -> None:
    lease, now = a_lease(State.PROVISIONING), READY
    for tries, wait in enumerate((HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR), start=1):
        change = life.wait_for_capacity(lease, TRIED, now)
        assert change.lease.state is State.WAITING_FOR_CAPACITY
        assert change.lease.capacity == Capacity(tries, TRIED, now + wait, READY)
        data = {"tried": ", ".join(TRIED), "next_try": (now + wait).isoformat()}
        assert change.events == (Event("no-capacity", now, "lessor", data),)
        now += wait
        lease = life.start_provisioning(change.lease, now).lease
    change = life.wait_for_capacity(lease, TRIED, now)
    assert (change.lease.state, change.lease.outcome) == (State.DELETING, State.FAILED)
    assert change.lease.problem == f"no capacity after 5 tries; tried {', '.join(TRIED)}"
    assert [e.type for e in change.events] == ["provisioning-failed"]


def test_without_waits_one_try_is_all() -> None:
    lease = a_lease(State.PROVISIONING, terms=replace(Terms(), capacity_waits=()))
    assert life.wait_for_capacity(lease, (), READY).lease.problem == "no capacity after 1 try; tried nothing"


def test_nobody_waits_for_capacity_beyond_the_end_that_was_asked_for() -> None:
    lease = a_lease(State.PROVISIONING, request=a_request(until=READY + HOUR))
    assert life.wait_for_capacity(lease, TRIED, READY - MINUTE).lease.state is State.WAITING_FOR_CAPACITY
    change = life.wait_for_capacity(lease, TRIED, READY)
    assert change.lease.state is State.DELETING
    assert change.lease.problem.startswith("no capacity, and the end asked for comes before the next try; tried p4de")


def test_failing_before_any_try_is_final_at_once() -> None:
    change = life.fail(a_lease(State.APPROVED), "no such place", READY)
    assert (change.lease.state, change.lease.problem, change.lease.closed_at) == (State.FAILED, "no such place", READY)
    assert change.events == (Event("failed", READY, "lessor", {"problem": "no such place"}),)


@pytest.mark.parametrize("state", [State.PROVISIONING, State.WAITING_FOR_CAPACITY])
def test_failing_once_something_was_tried_undoes_it_first(state: State) -> None:
    change = life.fail(a_lease(state), "access denied", READY)
    lease = change.lease
    assert (lease.state, lease.outcome, lease.deleting_at) == (State.DELETING, State.FAILED, READY)
    assert (lease.problem, lease.ending_reason, lease.closed_at) == ("access denied", "access denied", None)
    assert change.events == (Event("provisioning-failed", READY, "lessor", {"problem": "access denied"}),)


def test_the_clock_starts_when_it_is_usable_and_the_bill_at_launch() -> None:
    change = life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, usd("0.526"), READY)
    lease = change.lease
    assert (lease.state, lease.ready_at, lease.ends_at, lease.end_set_at) == (State.ACTIVE, READY, ENDS, READY)
    assert lease.spans == (Span(LAUNCHED, None, usd("0.526")),)
    assert (lease.resources, lease.access, lease.capacity) == (RESOURCES, ACCESS, None)
    data = {"resources": "instance:i-0aaa, volume:vol-0aaa", "ends": ENDS.isoformat(), "hourly": "0.526 USD"}
    assert change.events == (Event("ready", READY, "lessor", data),)


def test_a_launch_after_waiting_forgets_the_waits_and_knows_whether_it_can_be_stopped() -> None:
    lease = life.start_provisioning(a_lease(State.WAITING_FOR_CAPACITY), READY + HOUR).lease
    usual = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY + HOUR).lease
    assert (usual.capacity, usual.stoppable) == (None, True)
    spot = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY + HOUR, stoppable=False).lease
    assert spot.stoppable is False


def test_an_end_that_was_asked_for_stays_where_it_is() -> None:
    lease = a_lease(State.PROVISIONING, request=a_request(until=ASKED + 5 * HOUR))
    change = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY)
    assert change.lease.ends_at == ASKED + 5 * HOUR
    assert change.events[0].data["hourly"] == "unknown"


def test_no_lease_is_longer_than_the_longest_total() -> None:
    terms = replace(Terms(), max_total=3 * DAY)
    for request in (a_request(duration=4 * DAY), a_request(until=ASKED + 4 * DAY)):
        lease = a_lease(State.PROVISIONING, request=request, terms=terms)
        got = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY).lease
        assert got.ends_at == got.last_end == READY + 3 * DAY
        assert got.allowance == timedelta()


def test_a_launch_time_in_another_zone_or_after_now_does_no_harm() -> None:
    late = READY + MINUTE
    local = late.astimezone(ZoneInfo("Asia/Tokyo"))
    lease = life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, local, HOURLY, READY).lease
    assert lease.spans[0].start == late
    assert lease.spans[0].start.tzinfo is UTC
    assert (lease.cost(READY), lease.hours(READY)) == (usd("0.00"), timedelta())


def test_a_restore_is_not_taken_for_a_first_launch_nor_the_other_way_round() -> None:
    again = ("wrong-state", "gpu-7k3qxa2m is being started again")
    first = ("wrong-state", "gpu-7k3qxa2m is being created")
    assert refusal(life.ready, restoring(), RESOURCES, ACCESS, LAUNCHED, None, ENDS) == again
    assert refusal(life.restored, a_lease(State.PROVISIONING), READY, READY) == first
    assert refusal(life.restore_failed, a_lease(State.PROVISIONING), "no", READY)[0] == "wrong-state"


def test_only_delivered_warnings_count() -> None:
    at = ENDS - 30 * MINUTE
    delivered = life.warned(a_lease(), 30 * MINUTE, "slack:dm", at)
    assert delivered.lease.warned == (Warned(30 * MINUTE, at, "slack:dm"),)
    data = {"before": "30 min", "via": "slack:dm", "ends": ENDS.isoformat()}
    assert delivered.events == (Event("warned", at, "lessor", data),)
    failed = life.warning_undelivered(a_lease(), "slack is down", at + MINUTE, at)
    assert (failed.lease.warned, failed.lease.next_try) == ((), at + MINUTE)
    assert failed.events == (Event("warning-undelivered", at, "lessor", {"problem": "slack is down"}),)
    assert life.warned(failed.lease, 30 * MINUTE, "slack:dm", at + MINUTE).lease.next_try is None


def test_an_extension_moves_the_end_and_needs_a_new_warning() -> None:
    lease = life.warned(a_lease(), 30 * MINUTE, "slack:dm", ENDS - 30 * MINUTE).lease
    lease = life.warning_undelivered(lease, "x", ENDS, ENDS - 15 * MINUTE).lease
    now, until = ENDS - 10 * MINUTE, ENDS + 4 * HOUR
    change = life.extend(lease, until, OWNER, "not done", now)
    got = change.lease
    assert (got.ends_at, got.end_set_at, got.warned, got.next_try, got.extensions) == (until, now, (), None, 1)
    data = {"from": ENDS.isoformat(), "to": until.isoformat(), "reason": "not done"}
    assert change.events == (Event("extended", now, OWNER, data),)


def test_an_end_in_a_local_zone_is_kept_as_an_instant() -> None:
    until = datetime(2026, 11, 28, 18, 0, tzinfo=ZoneInfo("America/Los_Angeles"))
    got = life.extend(a_lease(), until, OWNER, "", READY).lease
    assert got.ends_at == datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
    assert got.ends_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("until", "now", "code", "message"),
    [
        (READY - MINUTE, READY, "end-too-early", "the new end must be at least 15 min from now"),
        (READY + 14 * MINUTE, READY, "end-too-early", "the new end must be at least 15 min from now"),
        (
            ENDS,
            READY,
            "end-not-later",
            "the lease already runs until 2026-11-27 17:15 UTC; give a later end, or release it to end it sooner",
        ),
        (
            READY + 15 * MINUTE,
            READY,
            "end-not-later",
            "the lease already runs until 2026-11-27 17:15 UTC; give a later end, or release it to end it sooner",
        ),
        (
            READY + 30 * DAY + MINUTE,
            READY,
            "beyond-maximum",
            "at most 30 d in total are allowed, 29 d 16 h of it left (until 2026-12-27 09:15 UTC); "
            "the lease still ends at 2026-11-27 17:15 UTC",
        ),
        (datetime(2026, 12, 1), READY, "naive-time", None),  # noqa: DTZ001
    ],
)
def test_an_end_that_is_not_allowed(until: datetime, now: datetime, code: str, message: str | None) -> None:
    got = refusal(life.extend, a_lease(), until, OWNER, "", now)
    assert got[0] == code
    assert message is None or got[1] == message


def test_extensions_reach_the_longest_total_and_not_a_second_more() -> None:
    lease = a_lease()
    last = READY + 30 * DAY
    assert (lease.last_end, lease.allowance) == (last, 30 * DAY - 8 * HOUR)
    lease = life.extend(lease, last, OWNER, "", READY).lease
    assert lease.allowance == timedelta()
    assert refusal(life.extend, lease, last + timedelta(seconds=1), OWNER, "", READY)[0] == "beyond-maximum"


def test_an_overdue_lease_that_nobody_could_be_warned_of_can_be_extended() -> None:
    assert life.extend(a_lease(), ENDS + 3 * HOUR, OWNER, "", ENDS + 2 * HOUR).lease.ends_at == ENDS + 3 * HOUR


def test_keeping_changes_nothing_but_the_record() -> None:
    change = life.keep(a_lease(), OWNER, READY)
    assert change.lease == replace(a_lease(), revision=a_lease().revision + 1)
    assert change.events == (Event("kept", READY, OWNER, {"ends": ENDS.isoformat()}),)


def test_a_release_ends_it_now_without_a_warning() -> None:
    unwarned = life.warning_undelivered(a_lease(), "slack is down", ENDS, READY).lease
    change = life.release(unwarned, OWNER, READY + HOUR)
    lease = change.lease
    assert lease.next_try is None
    assert (lease.state, lease.ends_at, lease.ending_reason) == (State.ENDING, READY + HOUR, f"released by {OWNER}")
    assert change.events == (Event("released", READY + HOUR, OWNER, {}),)


def test_releasing_an_overdue_lease_does_not_move_its_end() -> None:
    assert life.release(a_lease(), OWNER, ENDS + HOUR).lease.ends_at == ENDS


def test_a_release_during_grace_deletes_at_once() -> None:
    change = life.release(a_lease(State.STOPPED), OWNER, ENDS + HOUR)
    lease = change.lease
    assert (lease.state, lease.deleting_at, lease.outcome) == (State.DELETING, ENDS + HOUR, State.CLOSED)
    assert lease.ending_reason == f"released by {OWNER}"


@pytest.mark.parametrize(
    ("warned_at", "now", "why"),
    [
        (None, ENDS + DAY, "nobody has been warned yet"),
        (ENDS - HOUR, ENDS - MINUTE, "it may end at 2026-11-27 17:15 UTC"),
        (ENDS - MINUTE, ENDS + 3 * MINUTE, "it may end at 2026-11-27 17:19 UTC"),
        (ENDS + DAY, ENDS + DAY + 4 * MINUTE, "it may end at 2026-11-28 17:20 UTC"),
    ],
)
def test_nothing_is_ended_without_a_delivered_warning_and_its_notice(
    warned_at: datetime | None, now: datetime, why: str
) -> None:
    lease = a_lease()
    if warned_at:
        lease = life.warned(lease, 5 * MINUTE, "slack:dm", warned_at).lease
    assert refusal(life.end, lease, now) == ("not-due", f"gpu-7k3qxa2m cannot be stopped now: {why}")


def test_the_end_date() -> None:
    lease = life.warned(a_lease(), 5 * MINUTE, "slack:dm", ENDS - 5 * MINUTE).lease
    lease = life.warning_undelivered(lease, "x", ENDS + HOUR, ENDS - MINUTE).lease
    change = life.end(lease, ENDS)
    assert (change.lease.state, change.lease.ending_reason) == (State.ENDING, "its end date")
    assert change.lease.next_try is None
    assert change.events == (Event("ended", ENDS, "lessor", {"end": ENDS.isoformat()}),)


def test_the_bill_ends_at_the_providers_stop_time_and_grace_begins_when_it_is_seen() -> None:
    stopped_at, now = ENDS + 2 * MINUTE, ENDS + 5 * MINUTE
    change = life.stopped(a_lease(State.ENDING), stopped_at, now)
    lease = change.lease
    assert (lease.state, lease.stopped_at) == (State.STOPPED, now)
    assert lease.spans == (Span(LAUNCHED, stopped_at, HOURLY),)
    data = {"at": stopped_at.isoformat(), "deletes": (now + 7 * DAY).isoformat()}
    assert change.events == (Event("stopped", now, "lessor", data),)
    assert lease.cost(now + 30 * DAY) == lease.cost(now) == usd("794.75")


def test_a_stop_time_after_now_is_a_wrong_clock() -> None:
    assert life.stopped(a_lease(State.ENDING), ENDS + DAY, ENDS).lease.spans[0].end == ENDS


def test_a_restore_starts_it_again_until_the_new_end() -> None:
    now, until = ENDS + HOUR, ENDS + 2 * DAY
    asked = life.restore(replace(a_lease(State.STOPPED), problem="an old one"), until, OWNER, now)
    assert (asked.lease.state, asked.lease.ends_at, asked.lease.restoring) == (State.PROVISIONING, until, True)
    assert asked.events == (Event("restore-asked", now, OWNER, {"to": until.isoformat()}),)
    again = life.restored(asked.lease, now + MINUTE, now + 2 * MINUTE)
    lease = again.lease
    assert (lease.state, lease.ends_at, lease.end_set_at) == (State.ACTIVE, until, now + 2 * MINUTE)
    assert (lease.warned, lease.stopped_at, lease.ending_reason, lease.next_try) == ((), None, "", None)
    assert (lease.restoring, lease.end_before_restore, lease.problem) == (False, None, "")
    assert lease.spans == (Span(LAUNCHED, ENDS, HOURLY), Span(now + MINUTE, None, HOURLY))
    assert again.events == (Event("restored", now + 2 * MINUTE, "lessor", {"ends": until.isoformat()}),)


@pytest.mark.parametrize(
    ("until", "code"),
    [
        (ENDS + HOUR + 14 * MINUTE, "end-too-early"),
        (READY + 30 * DAY + MINUTE, "beyond-maximum"),
        (datetime(2026, 12, 1), "naive-time"),  # noqa: DTZ001
    ],
)
def test_a_restore_has_the_limits_of_an_extension(until: datetime, code: str) -> None:
    assert refusal(life.restore, a_lease(State.STOPPED), until, OWNER, ENDS + HOUR)[0] == code


def test_a_restore_may_reach_the_longest_total() -> None:
    last = READY + 30 * DAY
    assert life.restore(a_lease(State.STOPPED), last, OWNER, ENDS + HOUR).lease.ends_at == last


def test_a_failed_restore_says_why_it_is_stopped_again() -> None:
    lease = life.restore_failed(restoring(), "no capacity", ENDS + 2 * HOUR).lease
    assert (lease.ending_reason, lease.problem) == ("restore failed: no capacity", "no capacity")


@pytest.mark.parametrize("failed", ["restore_failed", "fail", "wait_for_capacity", "withdraw"])
def test_a_restore_that_comes_to_nothing_is_stopped_again_with_all_its_data(failed: str) -> None:
    now = ENDS + 7 * DAY - MINUTE
    lease = life.restore(a_lease(State.STOPPED), ENDS + 9 * DAY, OWNER, now).lease
    change = {
        "restore_failed": lambda: life.restore_failed(lease, "no capacity", now),
        "fail": lambda: life.fail(lease, "access denied", now),
        "wait_for_capacity": lambda: life.wait_for_capacity(lease, TRIED, now),
        "withdraw": lambda: transitions.withdraw(lease, OWNER, now),
    }[failed]()
    assert (change.lease.state, change.lease.ends_at, change.lease.outcome) == (State.ENDING, ENDS, State.CLOSED)
    assert [e.type for e in change.events] == ["restore-withdrawn" if failed == "withdraw" else "restore-failed"]
    stopped = life.stopped(change.lease, now + MINUTE, now + MINUTE).lease
    assert (stopped.state, stopped.stopped_at) == (State.STOPPED, now + MINUTE)
    assert stopped.cost(now + DAY) == a_lease(State.STOPPED).cost(now)
    assert life.restore(stopped, ENDS + 9 * DAY, OWNER, now + HOUR).lease.restoring


def test_a_stop_that_fails_stops_nothing_and_deletes_nothing() -> None:
    change = life.stop_failed(a_lease(State.ENDING), "denied", ENDS)
    assert (change.lease.state, change.lease.problem) == (State.ENDING, "denied")
    assert change.events == (Event("stop-failed", ENDS, "lessor", {"problem": "denied"}),)


def test_an_end_that_could_not_be_written_is_on_record() -> None:
    change = life.end_unwritten(a_lease(), "denied", READY)
    assert change.lease == replace(a_lease(), revision=a_lease().revision + 1)
    assert change.events == (Event("end-unwritten", READY, "lessor", {"problem": "denied"}),)


ACTS = {
    "start_provisioning": ((), {State.APPROVED, State.WAITING_FOR_CAPACITY}),
    "wait_for_capacity": ((TRIED,), {State.PROVISIONING}),
    "fail": (("x",), {State.APPROVED, State.PROVISIONING, State.WAITING_FOR_CAPACITY}),
    "ready": ((RESOURCES, ACCESS, LAUNCHED, None), {State.PROVISIONING}),
    "warned": ((MINUTE, "slack:dm"), {State.ACTIVE}),
    "warning_undelivered": (("x", ENDS), {State.ACTIVE}),
    "extend": ((ENDS + 3 * DAY, OWNER, ""), {State.ACTIVE}),
    "keep": ((OWNER,), {State.ACTIVE}),
    "release": ((OWNER,), {State.ACTIVE, State.STOPPED}),
    "stopped": ((ENDS,), {State.ENDING}),
    "stop_failed": (("x",), {State.ENDING}),
    "restore": ((ENDS + 3 * DAY, OWNER), {State.STOPPED}),
    "launched_late": ((RESOURCES, LAUNCHED, None), {State.DELETING, State.BLOCKED}),
}


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("act", ACTS)
def test_each_act_is_possible_in_its_states_only(act: str, state: State) -> None:
    arguments, allowed = ACTS[act]
    perform = getattr(life, act)
    lease, now = a_lease(state), ENDS + HOUR
    if state in allowed:
        assert perform(lease, *arguments, now=now).lease.revision > lease.revision
        return
    code, message = refusal(perform, lease, *arguments, now=now)
    assert code == "wrong-state"
    assert message.startswith("gpu-7k3qxa2m is ")


@pytest.mark.parametrize("state", [s for s in State if s is not State.ACTIVE])
def test_only_what_is_in_use_ends(state: State) -> None:
    assert refusal(life.end, a_lease(state), ENDS + 9 * DAY)[0] == "wrong-state"
