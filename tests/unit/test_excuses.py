"""What people may say to a verdict of idle, and how far that goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Notice
from lessor.domain import deadlines, excuses, ownership, pausing, rungs
from lessor.domain.deadlines import Deadline, Due
from lessor.domain.ladder import Consent, Dispute, Ladder, Rung, Snooze, Spared, Why
from lessor.domain.lease import IN_USE, Lease, State
from tests.builders import ADMIN, REQUESTER, a_lease, a_person
from tests.idleness import DAY, HOUR, MINUTE, after, told_idle, twice_warned, warned
from tests.refusing import refusal
from workflows.notices import notices

NOW = after(110 * MINUTE)
WHY = "it loads data"


def snoozed(lease: Lease, until: timedelta, at: timedelta = 110 * MINUTE) -> Lease:
    return excuses.snooze(lease, after(until), REQUESTER, WHY, after(at)).lease


def test_a_snooze_puts_everything_off_and_then_people_are_warned_from_the_beginning() -> None:
    change = excuses.snooze(twice_warned(), after(6 * HOUR), REQUESTER, f" {WHY} ", NOW)
    lease = change.lease
    assert lease.snooze == Snooze(after(6 * HOUR), REQUESTER.id, NOW, WHY)
    assert lease.snoozes == 1
    (event,) = change.events
    assert (event.type, event.actor) == ("snoozed", REQUESTER.id)
    assert event.data == {"until": after(6 * HOUR).isoformat(), "reason": WHY, "told": "2"}
    assert deadlines.next_deadline(lease, NOW) == Deadline(Due.IDLE_WARN, after(6 * HOUR))
    lease = warned(lease, after(6 * HOUR))
    assert lease.snooze is None
    assert rungs.next_step(lease, after(6 * HOUR)) == rungs.Step(Rung.FINAL, after(6 * HOUR + 45 * MINUTE))


@pytest.mark.parametrize(("first", "second"), [(4 * HOUR, 6 * HOUR), (6 * HOUR, 4 * HOUR), (6 * HOUR, 6 * HOUR)])
def test_snoozes_that_overlap_hold_until_the_later_end(first: timedelta, second: timedelta) -> None:
    lease = snoozed(snoozed(twice_warned(), first), second, 2 * HOUR)
    assert lease.snooze
    assert lease.snooze.until == after(6 * HOUR)
    assert lease.snoozes == (2 if second > first else 1)


def test_a_snooze_is_limited_in_length_and_number_by_the_terms() -> None:
    assert refusal(snoozed, told_idle(snooze_most=2 * HOUR), 4 * HOUR)[0] == "beyond-maximum"
    lease = told_idle(snoozes=2)
    for hours in (3, 4):
        lease = snoozed(lease, hours * HOUR)
    code, words = refusal(snoozed, lease, 5 * HOUR)
    assert (code, "snoozed 2 times since it last did anything, and 2 are allowed" in words) == ("snoozed-enough", True)
    once = snoozed(told_idle(snoozes=1), 3 * HOUR)
    assert "snoozed 1 time since" in refusal(snoozed, once, 5 * HOUR)[1]


def test_an_administrator_may_always_snooze_and_it_is_counted_against_nobody() -> None:
    lease = told_idle(snoozes=0, snooze_most=HOUR)
    found = excuses.snooze(lease, after(3 * DAY), ADMIN, WHY, NOW).lease
    assert found.snooze
    assert (found.snooze.until, found.snoozes) == (after(3 * DAY), 0)


def test_a_snooze_needs_a_reason_and_an_end_to_come() -> None:
    assert refusal(excuses.snooze, told_idle(), after(4 * HOUR), REQUESTER, "  ", NOW)[0] == "no-reason"
    assert refusal(excuses.snooze, told_idle(), NOW, REQUESTER, WHY, NOW)[0] == "end-too-early"
    naive = after(4 * HOUR).replace(tzinfo=None)
    assert refusal(excuses.snooze, told_idle(), naive, REQUESTER, WHY, NOW)[0] == "naive-time"


@pytest.mark.parametrize("state", [s for s in State if s not in IN_USE])
def test_nobody_answers_for_what_is_not_in_use(state: State) -> None:
    lease = a_lease(state)
    for act, arguments in (
        (excuses.snooze, (after(DAY), REQUESTER, WHY, NOW)),
        (excuses.dispute, ("U0", WHY, NOW)),
        (excuses.consent, ("U0", NOW)),
        (excuses.spare, (None, "U0ADMIN", WHY, NOW)),
    ):
        assert refusal(act, lease, *arguments)[0] == "wrong-state"


def test_nothing_can_be_said_to_a_verdict_that_there_is_not() -> None:
    lease = a_lease(State.ACTIVE)
    assert refusal(excuses.snooze, lease, after(4 * HOUR), REQUESTER, WHY, NOW)[0] == "not-idle"
    assert refusal(excuses.dispute, lease, "U0", WHY, NOW)[0] == "not-idle"


def test_a_wrong_verdict_is_kept_with_what_it_rested_on() -> None:
    change = excuses.dispute(twice_warned(), "U0", WHY, NOW)
    assert change.lease.disputed == Dispute(NOW + DAY, "U0", NOW, WHY)
    assert change.lease.idle is None
    (event,) = change.events
    assert (event.type, event.data["reason"], event.data["told"], event.data["stopped"]) == (
        "verdict-disputed",
        WHY,
        "2",
        "no",
    )
    assert (event.data["verdict"], event.data["idle_gpus"]) == ("idle", "8")
    assert refusal(excuses.dispute, told_idle(), "U0", " ", NOW)[0] == "no-reason"


def test_a_verdict_that_was_called_wrong_already_is_told_to_be_so() -> None:
    lease = excuses.dispute(told_idle(), "U0", WHY, NOW).lease
    code, words = refusal(excuses.dispute, lease, "U0OTHER", "mine too", NOW + HOUR)
    assert (code, words) == (
        "already-disputed",
        f"the verdict on {lease.id} was called wrong already (it loads data); nothing is made of it for another 23 h",
    )
    # Once that is over, or where only lessor itself doubts it, there is nothing to dispute.
    assert refusal(excuses.dispute, lease, "U0", WHY, NOW + DAY)[0] == "not-idle"
    doubted = replace(lease, disputed=Dispute(NOW + DAY, "lessor", NOW, "busy"))
    assert refusal(excuses.dispute, doubted, "U0", WHY, NOW)[0] == "not-idle"
    closed = replace(lease, state=State.CLOSED)
    assert refusal(excuses.dispute, closed, "U0", WHY, NOW)[0] == "wrong-state"


def test_a_snooze_on_top_of_one_says_so_and_one_after_it_does_not() -> None:
    first = excuses.snooze(twice_warned(), after(3 * HOUR), REQUESTER, WHY, NOW)
    second = excuses.snooze(first.lease, after(4 * HOUR), REQUESTER, WHY, NOW + MINUTE)
    later = excuses.snooze(second.lease, after(8 * HOUR), REQUESTER, WHY, after(5 * HOUR))
    assert [change.events[0].data.get("again") for change in (first, second, later)] == [None, "yes", None]
    told = [notices(change.lease, change.events) for change in (first, second, later)]
    assert told == [(Notice.IDLE_OVER,), (Notice.IDLE_OVER,), ()]


def test_a_stop_for_a_wrong_verdict_can_still_be_called_so() -> None:
    stopped = pausing.pause(twice_warned(), Why.IDLE, "lessor", "idle", NOW).lease
    change = excuses.dispute(stopped, "U0", WHY, NOW)
    assert (change.lease.state, change.lease.pause) == (State.SUSPENDED, stopped.pause)
    assert (change.lease.idle, change.events[0].data["stopped"]) == (None, "yes")
    code, words = refusal(snoozed, stopped, 4 * HOUR)
    assert (code, "Start it again to use it" in words) == ("paused", True)
    asked = pausing.ask_stop(twice_warned(), "U0", "", NOW).lease
    assert refusal(excuses.dispute, asked, "U0", WHY, NOW)[0] == "paused"


def test_consent_is_asked_only_where_a_stop_loses_something() -> None:
    volatile = replace(told_idle(), volatile=True)
    change = excuses.consent(volatile, "U0", NOW)
    assert change.lease.consent == Consent("U0", NOW)
    assert [event.type for event in change.events] == ["consented"]
    assert rungs.barred(change.lease, NOW) == ""
    assert refusal(excuses.consent, change.lease, "U0", NOW)[0] == "not-needed"
    assert refusal(excuses.consent, told_idle(), "U0", NOW)[0] == "not-needed"


def test_whoever_takes_the_lease_is_warned_and_asked_anew() -> None:
    agreed = replace(twice_warned(), volatile=True, consent=Consent("U0", NOW))
    other = a_person("U0OTHER")
    offered = ownership.offer(agreed, other, "", REQUESTER.id, NOW).lease
    taken = ownership.take(offered, other, None, NOW).lease
    assert taken.consent is None
    assert taken.idle == Ladder(twice_warned().idle.evidence, twice_warned().idle.terms)  # type: ignore[union-attr]


def test_a_spared_lease_is_not_stopped_until_the_word_is_taken_back() -> None:
    change = excuses.spare(twice_warned(), after(DAY), "U0ADMIN", f" {WHY} ", NOW)
    assert change.lease.spared == Spared("U0ADMIN", NOW, WHY, after(DAY))
    assert change.events[0].data == {"until": after(DAY).isoformat(), "reason": WHY, "told": "2"}
    assert rungs.stops_at(change.lease, NOW) is None
    back = excuses.spare(change.lease, NOW, "U0ADMIN", "", NOW)
    assert (back.lease.spared, [e.type for e in back.events]) == (None, ["spared"])
    assert rungs.stops_at(back.lease, NOW) == NOW + HOUR
    assert refusal(excuses.spare, back.lease, NOW, "U0ADMIN", "", NOW)[0] == "not-spared"
    assert refusal(excuses.spare, back.lease, None, "U0ADMIN", "", NOW)[0] == "no-reason"
    always = excuses.spare(back.lease, None, "U0ADMIN", WHY, NOW)
    assert (always.events[0].data["until"], always.events[0].data["told"]) == ("its end", "0")
