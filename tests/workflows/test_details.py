"""What an auditor reads of a lease in the Temporal UI alone: who decided for whom, what escalated, what was said."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain import excuses, pausing
from lessor.domain.approval import Step, Vote
from lessor.domain.billing import Storage
from lessor.domain.lease import Lease, State
from lessor.domain.pending import Changes, Counter, Exemption, Question, Wish
from tests.builders import APPROVED, ASKED, ENDS, MORNINGS, READY, REQUESTER, a_lease, a_request, a_step, usd
from tests.idleness import after, told_idle, warned
from workflows.details import details

HOUR = timedelta(hours=1)


def rows(lease: Lease, at: datetime = READY) -> dict[str, str]:
    """The table of the details, by the words in its first column."""
    lines = details(lease, at).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and line != "| | |"]
    return {cell[0]: cell[1] for cell in cells}


def test_a_step_says_who_stood_in_for_whom_and_that_it_escalated() -> None:
    lender, stand_in = Vote("U0SECOND", APPROVED, stood_in="U0MANAGER"), Vote("U0ADMIN", APPROVED)
    first = Step("manager", ("lead:ml",), votes=(lender,))
    late = Step(
        "finance", ("group:finance", "admins"), votes=(stand_in,), escalated="admins", escalations=1, reminders=2
    )
    shown = rows(replace(a_lease(State.APPROVED), steps=(first, late)))
    assert shown["step manager"] == (
        "1 of 1: `U0SECOND`, standing in for `U0MANAGER`, at 2026-11-27 09:10:00 UTC; may decide: lead:ml"
    )
    assert shown["step finance"] == (
        "1 of 1: `U0ADMIN` at 2026-11-27 09:10:00 UTC; may decide: group:finance, admins; "
        "escalated to admins: nobody decided in time; reminded 2 times"
    )


def test_a_step_that_only_the_requester_could_decide_says_why_others_do() -> None:
    step = Step("manager", ("lead:ml", "admins"), escalated="admins")
    shown = rows(a_lease(State.AWAITING_APPROVAL, steps=(step,)))
    assert shown["step manager"] == (
        "0 of 1: nobody yet; may decide: lead:ml, admins; escalated to admins: nobody else could decide; "
        "asked at 2026-11-27 09:00:00 UTC; reminds at 2026-11-27 09:15:00 UTC; "
        "asks the next level at 2026-11-27 13:00:00 UTC; lapses at 2026-11-28 09:00:00 UTC"
    )


def test_what_was_proposed_and_asked_before_the_decision_is_there_and_inert() -> None:
    counter = Counter("U0MANAGER", Changes(count=4), ASKED, reason="enough")
    asked = Question("U0MANAGER", "Why <b>eight</b>\n| of them?", ASKED)
    answered = Question("U0FINANCE", "Who pays?", ASKED, "we do", "U0REQUESTER", ASKED)
    lease = replace(a_lease(State.AWAITING_APPROVAL), counter=counter, questions=(asked, answered))
    text = details(lease, ASKED)
    assert "| proposed instead | `U0MANAGER` at 2026-11-27 09:00:00 UTC: " in text
    assert r"| question | `U0MANAGER`: Why \<b\>eight\</b\> \| of them?; no answer yet |" in text
    assert "| question | `U0FINANCE`: Who pays?; `U0REQUESTER`: we do |" in text


def test_a_later_end_that_waits_and_the_hours_that_hold_are_there() -> None:
    wish = Wish(ENDS + HOUR, "U0REQUESTER", READY, steps=(a_step("manager", "lead:ml"),))
    lease = replace(
        a_lease(State.SUSPENDED),
        request=a_request(schedule="mornings"),
        wish=wish,
        schedule=MORNINGS,
        suspended_at=READY,
        exemption=Exemption(ENDS, "U0REQUESTER", READY, "a demo"),
    )
    shown = rows(lease)
    assert shown["later end asked"] == "`U0REQUESTER` until 2026-11-27 18:15:00 UTC"
    assert shown["later end manager"] == "0 of 1: nobody yet; may decide: lead:ml"
    assert shown["runs on meanwhile"] == "until 2026-11-27 18:15:00 UTC at the longest"
    assert shown["working hours"] == "mornings: daily 09:00 to 12:00 UTC"
    assert shown["suspended since"] == "2026-11-27 09:15:00 UTC"
    assert shown["runs on until"] == "2026-11-27 17:15:00 UTC, by `U0REQUESTER`: a demo"


def test_after_a_transfer_it_still_says_who_asked_and_who_pays_now() -> None:
    lease = replace(a_lease(State.ACTIVE), owner="U0OTHER", former_owners=("U0REQUESTER",))
    shown = rows(replace(lease, request=replace(lease.request, team="vision")))
    assert shown["asked by"] == "`U0REQUESTER` at 2026-11-27 09:00:00 UTC"
    assert (shown["owner"], shown["owned before by"]) == ("`U0OTHER`, team `vision` pays", "`U0REQUESTER`")


def test_a_lease_that_does_nothing_says_since_when_who_was_told_and_when_it_stops() -> None:
    lease = warned(told_idle(), after(HOUR))
    shown = rows(lease, after(HOUR))
    assert shown["idle since"] == "2026-11-27 10:15:00 UTC, as seen at 2026-11-27 11:15:00 UTC"
    assert shown["warned of being idle"] == "warn at 2026-11-27 11:15:00 UTC by slack:dm"
    assert shown["stops as idle"] == "2026-11-27 12:15:00 UTC"
    assert shown.keys().isdisjoint({"not stopped yet", "snoozed until", "verdict disputed", "stopped by"})


def test_what_people_said_of_a_lease_that_does_nothing_is_there() -> None:
    snoozed = excuses.snooze(told_idle(), after(4 * HOUR), REQUESTER, "it *loads*", after(HOUR)).lease
    text = details(snoozed, after(HOUR))
    assert r"| snoozed until | 2026-11-27 14:15:00 UTC, by `U0REQUESTER`: it \*loads\* |" in text
    disputed = excuses.dispute(told_idle(), REQUESTER.id, "no", after(HOUR)).lease
    assert "| verdict disputed | `U0REQUESTER` at 2026-11-27 11:15:00 UTC: no |" in details(disputed, after(HOUR))
    stopped = pausing.ask_stop(told_idle(), REQUESTER.id, "", after(HOUR)).lease
    assert "| stopped by | `U0REQUESTER` at 2026-11-27 11:15:00 UTC: U0REQUESTER asked for it |" in details(
        stopped, after(HOUR)
    )
    spared = details(told_idle(stops=False), after(HOUR))
    assert "| stops as idle | the policy for it only warns |" in spared


def test_what_disks_cost_that_people_added_stands_beside_what_all_of_them_cost() -> None:
    """November has 720 hours: 7,200 GiB at 0.10 USD are 1 USD an hour."""
    ours = Storage(READY, None, 7_200, usd("0.10"))
    theirs = replace(ours, gib=14_400, disk="volume:pv@1", name="team/data")
    shown = rows(replace(a_lease(), storage=(ours, theirs)), READY + HOUR)
    assert (shown["of that for disks"], shown["of that for added disks"]) == ("3.00 USD", "2.00 USD")
    assert "of that for added disks" not in rows(replace(a_lease(), storage=(ours,)), READY + HOUR)
    unknown = rows(replace(a_lease(), storage=(replace(theirs, monthly=None),)), READY + HOUR)
    assert unknown["of that for added disks"] == "unknown"
