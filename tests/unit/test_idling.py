"""What a lease makes of what the meter tells, and how it comes to a stop."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from lessor.domain import deadlines, excuses, idling, rungs
from lessor.domain.deadlines import Deadline, Due
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Dispute, Ladder, Rung
from lessor.domain.lease import Change, Lease, State
from tests.builders import ENDS, REQUESTER, a_lease, a_request
from tests.idleness import (
    DAY,
    HOUR,
    MINUTE,
    SINCE,
    after,
    an_evidence,
    seen_again,
    told_idle,
    twice_warned,
    types,
    warned,
)

LONG = a_lease(State.ACTIVE, request=a_request(duration=4 * DAY))
TERMS = IdleTerms()


def metered(lease: Lease, verdict: Verdict, at: datetime, **changes: Any) -> Change:
    return idling.metered(lease, seen_again(lease, at, verdict, **changes), TERMS, at)


def test_what_is_idle_is_on_record_with_its_evidence() -> None:
    change = idling.metered(LONG, an_evidence(peak_util=1.5, active_at=SINCE, active_kind="gpu"), TERMS, after(HOUR))
    assert change.lease.idle == Ladder(an_evidence(peak_util=1.5, active_at=SINCE, active_kind="gpu"), TERMS)
    assert change.lease.revision == LONG.revision + 1
    (event,) = change.events
    assert (event.type, event.actor, event.at) == ("idle-seen", "lessor", after(HOUR))
    assert event.data == {
        "verdict": "idle",
        "since": SINCE.isoformat(),
        "at": after(HOUR).isoformat(),
        "gpus": "8",
        "idle_gpus": "8",
        "covered": "1.000",
        "peak_engine": "0.0",
        "peak_util": "1.5",
        "active": f"gpu at {SINCE.isoformat()}",
    }


@pytest.mark.parametrize("state", [s for s in State if s is not State.ACTIVE])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_word_of_the_meter_does_no_harm_in_any_other_state(state: State, verdict: Verdict) -> None:
    lease = a_lease(state)
    assert idling.metered(lease, an_evidence(verdict), TERMS, ENDS) == Change(lease, ())
    assert idling.found(lease, an_evidence(verdict), TERMS, ENDS) == Change(lease, ())


@pytest.mark.parametrize("verdict", [Verdict.BUSY, Verdict.UNKNOWN, Verdict.WARMING_UP])
def test_what_was_never_idle_has_nothing_to_clear(verdict: Verdict) -> None:
    assert metered(LONG, verdict, after(HOUR), idle_gpus=0) == Change(LONG, ())


@pytest.mark.parametrize(
    ("verdict", "event"),
    [(Verdict.BUSY, "idle-cleared"), (Verdict.WARMING_UP, "idle-cleared"), (Verdict.UNKNOWN, "idle-unknown")],
)
def test_whatever_is_not_idle_clears_the_ladder(verdict: Verdict, event: str) -> None:
    change = metered(twice_warned(), verdict, after(110 * MINUTE), idle_gpus=0)
    assert change.lease.idle is None
    assert types(change) == [event]
    assert change.events[0].data["told"] == "2"


def test_work_ends_what_was_counted_against_snoozes_and_what_was_said_against_the_verdict() -> None:
    said = Dispute(after(20 * HOUR), "U0", after(HOUR), "it loads data")
    lease = replace(LONG, snoozes=2, disputed=said)
    busy = metered(lease, Verdict.BUSY, after(2 * HOUR), idle_gpus=0)
    assert (busy.lease.snoozes, busy.lease.disputed, types(busy)) == (0, None, ["idle-cleared"])
    unknown = metered(lease, Verdict.UNKNOWN, after(2 * HOUR), idle_gpus=0)
    assert (unknown.lease.snoozes, unknown.lease.disputed, types(unknown)) == (2, said, [])


def test_idleness_that_began_anew_is_warned_anew() -> None:
    later = an_evidence(since=after(5 * HOUR))
    change = idling.metered(twice_warned(), later, TERMS, after(6 * HOUR))
    assert types(change) == ["idle-cleared", "idle-seen"]
    assert change.lease.idle == Ladder(later, TERMS)
    assert change.lease.revision == twice_warned().revision + 2


def test_the_same_idleness_seen_again_changes_nothing_that_was_told() -> None:
    lease = twice_warned()
    change = metered(lease, Verdict.IDLE, after(110 * MINUTE))
    assert types(change) == []
    assert change.lease.idle == replace(lease.idle, evidence=seen_again(lease, after(110 * MINUTE)))  # type: ignore[type-var]
    found = idling.found(lease, seen_again(lease, after(110 * MINUTE)), TERMS, after(110 * MINUTE), on_record=True)
    assert (types(found), found.lease.idle) == (["idle-seen"], change.lease.idle)


def test_other_thresholds_hold_from_when_they_are_told() -> None:
    lease, terms = twice_warned(), IdleTerms(stops=False)
    change = idling.metered(lease, seen_again(lease, after(110 * MINUTE)), terms, after(110 * MINUTE))
    assert types(change) == ["idle-seen"]
    assert rungs.barred(change.lease, after(110 * MINUTE)) == "the policy for it only warns"


def test_memory_that_fills_while_it_is_idle_keeps_what_was_told() -> None:
    lease = warned(told_idle(), after(HOUR))
    held = idling.metered(lease, replace(an_evidence(Verdict.HELD), at=after(90 * MINUTE)), TERMS, after(90 * MINUTE))
    assert types(held) == ["idle-seen"]
    assert rungs.next_step(held.lease, after(90 * MINUTE)) == rungs.Step(Rung.FINAL, after(23 * HOUR))


def test_a_word_that_came_late_does_not_undo_what_was_seen_since() -> None:
    lease = told_idle()
    seen = idling.found(lease, seen_again(lease, after(2 * HOUR)), TERMS, after(2 * HOUR)).lease
    assert idling.metered(seen, an_evidence(Verdict.UNKNOWN), TERMS, after(2 * HOUR)) == Change(seen, ())


def test_a_word_without_a_time_zone_changes_nothing() -> None:
    naive = replace(an_evidence(), since=SINCE.replace(tzinfo=None))
    assert idling.metered(LONG, naive, TERMS, after(HOUR)) == Change(LONG, ())
    assert idling.metered(LONG, replace(an_evidence(), at=SINCE.replace(tzinfo=None)), TERMS, SINCE).events == ()


def test_what_is_tried_again_and_again_goes_on_record_once_an_hour() -> None:
    lease, seen = idling.undelivered(told_idle(), "slack is down", after(HOUR)).lease, []
    for minutes in range(65, 245, 30):
        found = idling.found(
            lease, seen_again(lease, after(minutes * MINUTE)), TERMS, after(minutes * MINUTE), on_record=True
        )
        seen += [minutes] * len(found.events)
        lease = found.lease
    assert seen == [125, 185]


def test_a_lease_of_which_some_gpus_work_is_told_so_and_runs_on() -> None:
    change = metered(LONG, Verdict.BUSY, after(HOUR), idle_gpus=7)
    assert (types(change), change.lease.idle) == (["partly-idle"], None)
    assert (change.events[0].data["idle_gpus"], change.events[0].data["gpus"]) == ("7", "8")
    both = metered(twice_warned(), Verdict.BUSY, after(110 * MINUTE), idle_gpus=7)
    assert types(both) == ["idle-cleared", "partly-idle"]
    assert both.lease.revision == twice_warned().revision + 2


def test_another_look_that_finds_no_idleness_is_followed_by_one_more() -> None:
    """The meter tells only changes, and this one is not known to it."""
    lease = twice_warned()
    for verdict, event in ((Verdict.BUSY, "idle-cleared"), (Verdict.UNKNOWN, "idle-unknown")):
        change = idling.found(lease, seen_again(lease, after(2 * HOUR), verdict, idle_gpus=0), TERMS, after(2 * HOUR))
        assert (types(change), change.lease.idle) == ([event], None)
        why = f"another look found it {verdict.value}"
        assert change.lease.disputed == Dispute(after(3 * HOUR), "lessor", after(2 * HOUR), why)
        assert deadlines.next_deadline(change.lease, after(2 * HOUR)) == Deadline(Due.IDLE_LOOK, after(3 * HOUR))
        again = metered(change.lease, Verdict.IDLE, after(150 * MINUTE))
        assert (types(again), again.lease.disputed) == (["idle-seen"], None)


def test_a_lease_of_which_the_meter_says_nothing_any_more_asks_ever_more_seldom() -> None:
    lease, now, lengths = told_idle(), after(2 * HOUR), []
    for _ in range(7):
        unknown = seen_again(lease, now, Verdict.UNKNOWN, problem="no source is configured")
        lease = idling.found(lease, unknown, TERMS, now).lease
        assert lease.disputed
        lengths.append((lease.disputed.until - now) / HOUR)
        now = lease.disputed.until
    assert lengths == [1, 2, 4, 8, 16, 24, 24]


def test_a_look_that_could_not_be_had_says_why() -> None:
    unknown = seen_again(told_idle(), after(2 * HOUR), Verdict.UNKNOWN, problem="prometheus did not answer")
    lease = idling.found(told_idle(), unknown, TERMS, after(2 * HOUR)).lease
    assert lease.disputed
    assert lease.disputed.reason == "prometheus did not answer"


def test_a_verdict_that_a_person_called_wrong_is_not_believed_for_a_day() -> None:
    said = excuses.dispute(twice_warned(), "U0", "it waits for data", after(110 * MINUTE)).lease
    assert said.disputed
    until = said.disputed.until
    assert until == after(110 * MINUTE) + DAY
    assert metered(said, Verdict.IDLE, until - MINUTE) == Change(said, ())
    assert idling.found(said, seen_again(said, until - MINUTE), TERMS, until - MINUTE) == Change(said, ())
    assert deadlines.next_deadline(said, until - MINUTE) == Deadline(Due.IDLE_LOOK, until)
    again = idling.found(said, an_evidence(), TERMS, until)
    assert (types(again), again.lease.disputed) == (["idle-seen"], None)
    assert rungs.next_step(again.lease, until) == rungs.Step(Rung.WARN, after(HOUR))


def test_a_message_under_way_counts_only_if_nothing_came_between() -> None:
    before = told_idle()
    assert idling.still_on(before, before)
    between = [
        metered(before, Verdict.BUSY, after(65 * MINUTE), idle_gpus=0).lease,
        idling.metered(before, an_evidence(since=after(HOUR)), TERMS, after(2 * HOUR)).lease,
        excuses.snooze(before, after(3 * HOUR), REQUESTER, "it is used", after(HOUR)).lease,
        excuses.dispute(before, "U0", "no", after(HOUR)).lease,
        replace(before, owner="U0OTHER"),
        replace(before, state=State.ENDING),
    ]
    assert [idling.still_on(before, lease) for lease in between] == [False] * len(between)
    assert not idling.still_on(LONG, before)


def test_only_what_is_due_is_delivered() -> None:
    lease = told_idle()
    assert idling.deliverable(lease, Rung.WARN, after(HOUR))
    assert not idling.deliverable(lease, Rung.WARN, after(59 * MINUTE))
    assert not idling.deliverable(lease, Rung.FINAL, after(HOUR))
    assert not idling.deliverable(LONG, Rung.WARN, after(HOUR))


def test_the_end_and_its_warnings_come_whatever_the_meter_says() -> None:
    lease = told_idle(a_lease(State.ACTIVE))
    due = deadlines.next_deadline(lease, after(HOUR))
    assert due == Deadline(Due.IDLE_WARN, after(HOUR))
    late = deadlines.next_deadline(lease, ENDS - 29 * MINUTE)
    assert late == Deadline(Due.IDLE_WARN, after(HOUR))
    nearer = deadlines.next_deadline(lease, ENDS - 14 * MINUTE)
    assert nearer == Deadline(Due.WARN, ENDS - 15 * MINUTE, 15 * MINUTE)
