"""Later and earlier ends: at once, after people decided, or not; and how long a lease waits for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lessor.domain import extension, life
from lessor.domain.approval import Step, Vote
from lessor.domain.deadlines import Deadline, Due, next_deadline
from lessor.domain.lease import Event, Lease, State
from lessor.domain.people import Person
from lessor.domain.policy import Outcome, Reason, StepSpec
from lessor.domain.terms import Terms
from tests.builders import (
    ADMIN,
    APPROVED,
    ENDS,
    FINANCE,
    MANAGER,
    READY,
    REQUESTER,
    STRANGER,
    a_decision,
    a_lease,
    a_person,
    a_quote,
    a_step,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATER = ENDS + 4 * DAY
NOW = ENDS - 2 * HOUR
WHY = (Reason("long", "more than a day"),)
OWNER = REQUESTER.id


def wishing(until: datetime = LATER, now: datetime = NOW, lease: Lease | None = None, **changes: Any) -> Lease:
    asked: dict[str, Any] = {"person": REQUESTER, "reason": "not done", "steps": (a_step(),), "reasons": WHY} | changes
    return extension.ask(lease or a_lease(), until, now=now, **asked).lease


# --- whether anybody has to be asked

LEAD = StepSpec("manager", ("lead:ml",))
BUDGET = StepSpec("finance", ("group:finance",))


@pytest.mark.parametrize(
    ("extensions", "outcome", "steps", "person", "asked"),
    [
        (0, Outcome.APPROVE, (), REQUESTER, ()),
        (1, Outcome.APPROVE, (), REQUESTER, ()),
        (2, Outcome.APPROVE, (), REQUESTER, (LEAD,)),
        (2, Outcome.APPROVE, (), MANAGER, ()),
        (2, Outcome.APPROVE, (), ADMIN, (LEAD,)),
        (0, Outcome.REQUIRE, (LEAD,), REQUESTER, ()),
        (2, Outcome.REQUIRE, (LEAD,), REQUESTER, (LEAD,)),
        (0, Outcome.REQUIRE, (LEAD, BUDGET), REQUESTER, (BUDGET,)),
        (0, Outcome.REQUIRE, (LEAD, BUDGET), FINANCE, ()),
        (5, Outcome.REQUIRE, (LEAD, BUDGET), FINANCE, (LEAD,)),
        (0, Outcome.DENY, (), REQUESTER, ()),
    ],
)
def test_who_has_to_be_asked(
    extensions: int, outcome: Outcome, steps: tuple[StepSpec, ...], person: Person, asked: tuple[StepSpec, ...]
) -> None:
    """The manager approved this lease; its terms allow two extensions without asking."""
    lease = replace(a_lease(), extensions=extensions)
    assert extension.missing(lease, a_decision(outcome, steps=steps), person) == asked


def test_without_earlier_steps_the_lead_of_the_team_decides_on_further_extensions() -> None:
    lease = replace(a_lease(decision=a_decision(Outcome.APPROVE), steps=()), extensions=2)
    assert extension.missing(lease, a_decision(Outcome.APPROVE), REQUESTER) == (StepSpec("extension", ("lead:ml",)),)


def test_what_nobody_has_to_be_asked_for_is_extended_at_once() -> None:
    change = extension.decide(a_lease(), LATER, REQUESTER, "not done", a_decision(Outcome.APPROVE), (), NOW)
    assert (change.lease.ends_at, change.lease.extensions, change.lease.wish) == (LATER, 1, None)
    assert [e.type for e in change.events] == ["extended"]


def test_what_the_policy_denies_is_refused_at_once_whoever_asks() -> None:
    for person in (REQUESTER, MANAGER, ADMIN):
        code, words = refusal(extension.decide, a_lease(), LATER, person, "", a_decision(Outcome.DENY), (), NOW)
        assert code == "policy"
        assert words == (
            "the policy does not let it run until then (large: eight GPUs or more); the lease still ends at "
            "2026-11-27 17:15 UTC"
        )


def test_further_extensions_say_why_people_are_asked() -> None:
    lease = replace(a_lease(), extensions=2)
    change = extension.decide(lease, LATER, REQUESTER, "x", a_decision(Outcome.APPROVE), (a_step(),), NOW)
    assert change.lease.wish is not None
    used = Reason("extensions", "it was extended 2 times; people decide on more than 2")
    assert change.lease.wish.reasons == (used,)


# --- asking


def test_asking_puts_the_end_off_and_tells_of_it_anew() -> None:
    before = life.warned(a_lease(), 30 * MINUTE, "slack:dm", NOW).lease
    change = extension.ask(before, LATER, REQUESTER, "not done", (a_step(),), WHY, NOW)
    lease, wish = change.lease, change.lease.wish
    assert wish is not None
    assert (lease.ends_at, lease.runs_until, lease.warned) == (ENDS, ENDS + DAY, ())
    assert (wish.until, wish.by, wish.at, wish.reason, wish.reasons) == (LATER, OWNER, NOW, "not done", WHY)
    assert set(wish.ids) == {"U0REQUESTER", "W0REQUESTER", "requester@example.test"}
    assert wish.steps[0].asked_at == NOW
    data = {"from": ENDS.isoformat(), "to": LATER.isoformat(), "reason": "not done", "why": "long: more than a day"}
    assert change.events == (Event("extension-asked", NOW, OWNER, data | {"steps": "manager (lead:ml)"}),)


@pytest.mark.parametrize(
    ("until", "hold", "runs_until"),
    [
        (LATER, DAY, ENDS + DAY),
        (ENDS + HOUR, DAY, ENDS + HOUR),
        (LATER, timedelta(), ENDS),
        (LATER, 3 * DAY, ENDS + 3 * DAY),
    ],
)
def test_how_long_a_lease_waits_for_a_decision(until: datetime, hold: timedelta, runs_until: datetime) -> None:
    lease = wishing(until, lease=a_lease(terms=Terms(extension_hold=hold)))
    assert lease.runs_until == runs_until
    warned = life.warned(lease, 30 * MINUTE, "slack:dm", runs_until - 30 * MINUTE).lease
    assert refusal(life.end, warned, runs_until - MINUTE)[0] == "not-due"
    assert life.end(warned, runs_until).lease.state is State.ENDING


def test_a_decision_is_reminded_of_while_it_waits() -> None:
    lease = wishing()
    assert next_deadline(lease, NOW) == Deadline(Due.WISH, NOW + 15 * MINUTE)
    assert lease.wish is not None
    change = extension.staffed(lease, lease.wish.steps, NOW + 15 * MINUTE)
    assert [(e.type, e.data["of"], e.data["step"]) for e in change.events] == [("reminded", "extension", "manager")]
    assert next_deadline(change.lease, NOW + 15 * MINUTE) == Deadline(Due.WISH, NOW + 30 * MINUTE)


def test_the_same_end_is_asked_for_once_and_another_one_replaces_it() -> None:
    lease = wishing()
    asking = (LATER, REQUESTER, "", (a_step(),), WHY, NOW)
    assert refusal(extension.ask, lease, *asking)[0] == "already-asked"
    other = wishing(LATER + DAY, lease=lease, now=NOW + MINUTE)
    assert other.wish is not None
    assert other.wish.until == LATER + DAY


@pytest.mark.parametrize(
    ("until", "now", "code"),
    [
        (READY + 31 * DAY, NOW, "beyond-maximum"),
        (ENDS, NOW, "end-not-later"),
        (LATER, ENDS, "end-passed"),
        (ENDS + 10 * MINUTE, ENDS - MINUTE, "end-too-early"),
    ],
)
def test_what_is_not_even_asked(until: datetime, now: datetime, code: str) -> None:
    assert refusal(extension.ask, a_lease(), until, REQUESTER, "", (a_step(),), WHY, now)[0] == code


# --- deciding


def test_a_grant_moves_the_end() -> None:
    change = extension.grant(wishing(), MANAGER, NOW + HOUR, "go on")
    assert (change.lease.ends_at, change.lease.extensions, change.lease.wish) == (LATER, 1, None)
    assert (change.lease.end_set_at, change.lease.warned) == (NOW + HOUR, ())
    granted, extended = change.events
    assert granted == Event(
        "extension-granted", NOW + HOUR, MANAGER.id, {"step": "manager", "note": "go on", "open": ""}
    )
    data = {"from": ENDS.isoformat(), "to": LATER.isoformat(), "reason": "not done"}
    assert extended == Event("extended", NOW + HOUR, OWNER, data)
    assert change.lease.revision == wishing().revision + 2


def test_every_step_has_to_be_granted() -> None:
    lease = wishing(steps=(a_step(), a_step("finance", "group:finance")))
    first = extension.grant(lease, MANAGER, NOW)
    assert (first.lease.ends_at, first.events[0].data["open"]) == (ENDS, "finance")
    assert refusal(extension.grant, first.lease, STRANGER, NOW)[0] == "not-approver"
    assert extension.grant(first.lease, FINANCE, NOW).lease.ends_at == LATER


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (replace(REQUESTER, leads=("ml",)), "own-request"),
        (a_person("W0REQUESTER", leads=("ml",)), "own-request"),
        (STRANGER, "not-approver"),
        (replace(MANAGER, active=False), "inactive"),
    ],
)
def test_who_cannot_decide(person: Person, code: str) -> None:
    assert refusal(extension.grant, wishing(), person, NOW)[0] == code
    assert refusal(extension.reject, wishing(), person, "no", NOW)[0] == code


def test_whoever_asked_for_somebody_else_does_not_decide_it_either() -> None:
    lease = wishing(person=replace(ADMIN, leads=("ml",)))
    assert refusal(extension.grant, lease, replace(ADMIN, leads=("ml",)), NOW)[0] == "own-request"
    assert extension.grant(lease, MANAGER, NOW).lease.ends_at == LATER


def test_a_dear_extension_is_typed_out() -> None:
    lease = wishing(lease=a_lease(terms=Terms(step_up=usd("9000"))))
    code, words = refusal(extension.grant, lease, MANAGER, NOW)
    assert (code, words[:30]) == ("needs-confirmation", "gpu-7k3qxa2m costs 9,438.72 US")
    assert extension.grant(lease, MANAGER, NOW, "", lease.id).lease.ends_at == LATER
    cheap = wishing(ENDS + DAY, lease=a_lease(terms=Terms(step_up=usd("9000"))))
    assert extension.grant(cheap, MANAGER, NOW).lease.ends_at == ENDS + DAY
    unknown = wishing(lease=replace(a_lease(quote=a_quote(None)), terms=Terms(step_up=usd("9000"))))
    assert refusal(extension.grant, unknown, MANAGER, NOW)[0] == "needs-confirmation"


def test_a_rejection_brings_the_end_back_and_asking_again_does_not_put_it_off() -> None:
    assert refusal(extension.reject, wishing(), MANAGER, " ", NOW)[0] == "no-reason"
    change = extension.reject(wishing(), MANAGER, "too dear", NOW)
    assert (change.lease.ends_at, change.lease.runs_until, change.lease.wish) == (ENDS, ENDS, None)
    data = {"to": LATER.isoformat(), "reason": "too dear"}
    assert change.events == (Event("extension-rejected", NOW, MANAGER.id, data),)
    again = wishing(lease=change.lease, now=NOW + MINUTE)
    assert again.runs_until == ENDS
    assert next_deadline(again, ENDS) == Deadline(Due.WISH, NOW + 16 * MINUTE)
    granted = extension.grant(again, MANAGER, NOW + HOUR).lease
    assert (granted.ends_at, granted.hold_over) == (LATER, False)


def test_a_wish_is_taken_back_by_those_whose_it_is_and_by_nobody_else() -> None:
    assert refusal(extension.take_back, a_lease(), REQUESTER, NOW)[0] == "no-wish"
    assert refusal(extension.take_back, wishing(), MANAGER, NOW)[0] == "not-owner"
    change = extension.take_back(wishing(), REQUESTER, NOW)
    assert (change.lease.ends_at, change.lease.runs_until, change.lease.wish) == (ENDS, ENDS, None)
    assert change.events == (Event("extension-taken-back", NOW, OWNER, {"to": LATER.isoformat()}),)
    assert wishing(lease=change.lease, now=NOW + MINUTE).runs_until == min(ENDS + DAY, LATER)


def test_a_rejection_after_the_end_warns_before_it_stops() -> None:
    """Law 4: whoever was told that it runs on for a while is told that it does not."""
    now = ENDS + 3 * HOUR
    lease = extension.reject(wishing(), MANAGER, "no", now).lease
    assert refusal(life.end, lease, now)[0] == "not-due"
    assert next_deadline(lease, now) == Deadline(Due.WARN, ENDS, timedelta())
    warned = life.warned(lease, timedelta(), "slack:dm", now).lease
    assert next_deadline(warned, now) == Deadline(Due.END, now + 5 * MINUTE)


def test_a_wish_lapses_with_the_end_that_was_put_off() -> None:
    lease = wishing(lease=a_lease(terms=Terms(lapse_after=3 * DAY)))
    held = ENDS + DAY
    assert refusal(extension.lapse, lease, held - MINUTE)[0] == "not-due"
    warned = life.warned(lease, 5 * MINUTE, "slack:dm", held - 5 * MINUTE).lease
    change = extension.lapse(warned, held)
    assert change.events == (Event("extension-lapsed", held, "lessor", {"to": LATER.isoformat()}),)
    assert next_deadline(change.lease, held) == Deadline(Due.END, held)
    assert life.end(change.lease, held).lease.state is State.ENDING


def test_a_wish_lapses_with_the_time_of_those_who_decide_and_can_be_made_again() -> None:
    lease = wishing(lease=replace(a_lease(), ends_at=ENDS + 5 * DAY), until=ENDS + 6 * DAY)
    assert refusal(extension.lapse, lease, NOW + DAY - MINUTE)[0] == "not-due"
    back = extension.lapse(lease, NOW + DAY).lease
    assert (back.runs_until, back.hold_over, back.end_set_at) == (ENDS + 5 * DAY, False, NOW + DAY)
    assert wishing(lease=back, until=ENDS + 6 * DAY, now=NOW + 2 * DAY).runs_until == ENDS + 6 * DAY


def test_a_wish_that_nobody_can_decide_is_over() -> None:
    change = extension.undecidable(wishing(), "nobody is left", NOW)
    assert (change.lease.wish, change.lease.ends_at) == (None, ENDS)
    assert change.events[0].data == {"to": LATER.isoformat(), "why": "nobody is left"}


@pytest.mark.parametrize("act", [extension.grant, extension.reject])
def test_there_has_to_be_something_to_decide(act: Callable[..., object]) -> None:
    arguments = (MANAGER, "no", NOW) if act is extension.reject else (MANAGER, NOW)
    assert refusal(act, a_lease(), *arguments)[0] == "no-wish"
    assert refusal(act, a_lease(State.STOPPED), *arguments)[0] == "wrong-state"


def test_whoever_releases_it_takes_the_wish_back() -> None:
    assert life.release(wishing(), OWNER, NOW).lease.wish is None


def test_a_vote_of_before_does_not_cover_a_larger_quorum() -> None:
    voted = Step("manager", ("lead:ml",), votes=(Vote(MANAGER.id, APPROVED),))
    two = StepSpec("manager", ("lead:ml",), 2)
    lease = replace(a_lease(), steps=(voted,))
    assert extension.missing(lease, a_decision(steps=(two,)), REQUESTER) == (two,)
