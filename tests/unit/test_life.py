"""In use: warnings, extensions, release, the end, grace and coming back from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.domain import life, transitions
from lessor.domain.billing import Span
from lessor.domain.lease import Event, Lease, State, Warned
from tests.builders import (
    ACCESS,
    ENDS,
    HOURLY,
    LAUNCHED,
    READY,
    RESOURCES,
    a_lease,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OWNER = "U0REQUESTER"
TRIED = ("p4de.24xlarge in us-east-1a (on-demand)", "p4de.24xlarge in us-east-1b (on-demand)")


def restoring() -> Lease:
    return life.restore(a_lease(State.STOPPED), ENDS + 2 * DAY, OWNER, ENDS + HOUR).lease


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
    assert a_lease(State.APPROVED).allowance == timedelta()
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
    next_try = ENDS + change.lease.terms.blocked_retry
    data = {"problem": "denied", "next_try": next_try.isoformat()}
    assert change.events == (Event("stop-failed", ENDS, "lessor", data),)
    assert (change.lease.problem, change.lease.next_try) == ("denied", next_try)


def test_an_end_that_could_not_be_written_is_on_record() -> None:
    change = life.end_unwritten(a_lease(), "denied", READY)
    assert change.lease == replace(a_lease(), revision=a_lease().revision + 1)
    assert change.events == (Event("end-unwritten", READY, "lessor", {"problem": "denied"}),)


IN_USE = {State.ACTIVE, State.SUSPENDED}
ACTS = {
    "start_provisioning": ((), {State.APPROVED, State.WAITING_FOR_CAPACITY}),
    "wait_for_capacity": ((TRIED,), {State.PROVISIONING}),
    "fail": (("x",), {State.APPROVED, State.PROVISIONING, State.WAITING_FOR_CAPACITY}),
    "ready": ((RESOURCES, ACCESS, LAUNCHED, None), {State.PROVISIONING}),
    "warned": ((MINUTE, "slack:dm"), IN_USE),
    "warning_undelivered": (("x", ENDS), IN_USE),
    "extend": ((ENDS + 3 * DAY, OWNER, ""), IN_USE),
    "keep": ((OWNER,), IN_USE),
    "release": ((OWNER,), {*IN_USE, State.STOPPED}),
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


@pytest.mark.parametrize("state", [s for s in State if s not in IN_USE])
def test_only_what_is_in_use_ends(state: State) -> None:
    assert refusal(life.end, a_lease(state), ENDS + 9 * DAY)[0] == "wrong-state"
