"""Acts on a lease that does nothing: who may do them, what is told, and who hears of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from lessor.contracts import Act, Notice, Verb
from lessor.domain import extension, pausing, suspension
from lessor.domain.errors import Refused
from lessor.domain.ladder import Why
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pending import Wish
from lessor.domain.people import Person
from tests.builders import (
    ADMIN,
    CLOSES,
    ENDS,
    FINANCE,
    LEASE_ID,
    MANAGER,
    MORNINGS,
    READY,
    REQUESTER,
    STRANGER,
    a_lease,
    a_person,
)
from tests.idleness import DAY, HOUR, after, told_idle, twice_warned
from workflows import idling
from workflows.acts import accepted, malformed, transition
from workflows.notices import notices

NOW = after(HOUR)
OWNER_OF_THE_BUDGET = a_person("U0BUDGET", teams=("ml",), budgets=("ml",))


def act(verb: Verb, **changes: Any) -> Act:
    return Act("1", verb, REQUESTER.id, **changes)


def done(lease: Lease, wanted: Act, person: Person = REQUESTER, at: datetime = NOW) -> Lease:
    return transition(lease, wanted, person, at).lease


def refusal(lease: Lease, wanted: Act, person: Person, at: datetime = NOW) -> str:
    with pytest.raises(Refused) as refused:
        transition(lease, wanted, person, at)
    return refused.value.code


def test_a_snooze_without_an_end_cannot_even_be_tried() -> None:
    assert malformed(act(Verb.SNOOZE)) == "to snooze a lease, say until when"
    assert [malformed(act(verb)) for verb in idling.VERBS - {Verb.SNOOZE}] == [""] * 5


@pytest.mark.parametrize("verb", sorted(idling.VERBS))
def test_only_those_whose_it_is_answer_for_it(verb: Verb) -> None:
    wanted = act(verb, until=after(2 * HOUR), reason="it is used")
    assert refusal(told_idle(), wanted, STRANGER) == "not-owner"
    assert refusal(told_idle(), wanted, FINANCE) == "not-owner"


def test_only_an_administrator_spares() -> None:
    wanted = act(Verb.SPARE, reason="a demonstration")
    assert refusal(told_idle(), wanted, REQUESTER) == refusal(told_idle(), wanted, MANAGER) == "not-admin"
    assert done(told_idle(), wanted, ADMIN).spared


@pytest.mark.parametrize("person", [MANAGER, OWNER_OF_THE_BUDGET, ADMIN])
def test_who_pays_starts_what_was_stopped_for_want_of_money(person: Person) -> None:
    lease = pausing.pause(a_lease(State.ACTIVE), Why.BUDGET, "lessor", "its cap is used up", NOW).lease
    assert done(lease, act(Verb.START), person).pause is None
    assert refusal(lease, act(Verb.START), replace(person, active=False)) == "inactive"
    assert refusal(lease, act(Verb.START), REQUESTER) == "over-budget"
    assert refusal(lease, act(Verb.START), STRANGER) == "not-owner"


def test_who_owns_the_budget_starts_nothing_else() -> None:
    lease = pausing.ask_stop(a_lease(State.ACTIVE), REQUESTER.id, "", NOW).lease
    assert refusal(lease, act(Verb.START), OWNER_OF_THE_BUDGET) == "not-owner"
    assert done(lease, act(Verb.START), REQUESTER).pause is None


@pytest.mark.parametrize(
    ("verb", "changes", "words"),
    [
        (
            Verb.SNOOZE,
            {"until": after(2 * HOUR), "reason": "it is used"},
            "nothing is said or done about its being idle until 2026-11-27 12:15 UTC; then it is warned anew",
        ),
        (
            Verb.DISPUTE,
            {"reason": "it waits"},
            "noted, thank you; it is taken as busy for a day, and whoever tunes the thresholds reads why",
        ),
        (
            Verb.STOP,
            {"confirmation": LEASE_ID},
            "is being stopped; its disks are kept and still cost money, and its end date stays 2026-12-01 09:15 UTC. "
            "Start it again whenever you need it",
        ),
        (
            Verb.CONSENT,
            {},
            "agreed; it is warned before it is stopped, and a stop loses what is on its local disks",
        ),
        (
            Verb.SPARE,
            {"reason": "a demo"},
            "is not stopped for being idle until its end; its people are still told once a day when it is",
        ),
        (
            Verb.SPARE,
            {"reason": "a demo", "until": after(DAY)},
            "is not stopped for being idle until 2026-11-28 10:15 UTC; its people are still told once a day when it is",
        ),
    ],
)
def test_who_acts_is_told_what_follows(verb: Verb, changes: dict[str, Any], words: str) -> None:
    wanted = act(verb, **changes)
    lease = done(replace(told_idle(), volatile=True), wanted, replace(ADMIN, ids=REQUESTER.ids))
    assert accepted(lease, wanted, NOW).message == f"{LEASE_ID}: {words}"


def test_who_takes_back_that_it_is_spared_is_told_so() -> None:
    spared = done(told_idle(), act(Verb.SPARE, reason="a demo"), ADMIN)
    wanted = act(Verb.SPARE, until=NOW)
    assert accepted(done(spared, wanted, ADMIN), wanted, NOW).message == (
        f"{LEASE_ID}: is not spared any more; if it is idle, its people are warned before it is stopped"
    )


def test_who_starts_it_outside_its_hours_is_told_when_they_open() -> None:
    stopped = done(a_lease(State.ACTIVE, schedule=MORNINGS), act(Verb.STOP), at=READY)
    started = done(stopped, act(Verb.START), at=READY + HOUR)
    assert accepted(started, act(Verb.START), READY + HOUR).message == f"{LEASE_ID}: is being started again"
    later = accepted(started, act(Verb.START), CLOSES + HOUR).message
    assert later == f"{LEASE_ID}: starts again with its working hours, at 2026-11-28 09:00 UTC"


def told(lease: Lease, *types: str, **data: str) -> Sequence[Notice]:
    return notices(lease, tuple(Event(one, NOW, "lessor", data) for one in types))


@pytest.mark.parametrize("event", ["idle-cleared", "idle-unknown", "snoozed", "verdict-disputed", "spared"])
def test_that_it_is_over_is_told_to_those_who_were_warned(event: str) -> None:
    assert told(told_idle(), event, told="2") == (Notice.IDLE_OVER,)
    assert told(told_idle(), event, told="0") == told(told_idle(), event) == ()


@pytest.mark.parametrize(
    ("event", "notice"),
    [
        ("idle-held-back", Notice.IDLE_HELD_BACK),
        ("partly-idle", Notice.PARTLY_IDLE),
        ("over-budget", Notice.OVER_BUDGET),
    ],
)
def test_what_else_people_are_told(event: str, notice: Notice) -> None:
    assert told(told_idle(), event) == (notice,)


@pytest.mark.parametrize("event", ["idle-seen", "idle-warned", "idle-final-warned", "idle-warning-undelivered"])
def test_a_warning_is_told_by_itself_and_its_record_is_not_told_again(event: str) -> None:
    assert told(told_idle(), event, told="1") == ()


@pytest.mark.parametrize("why", list(Why))
def test_a_stop_is_told_once_it_was_seen(why: Why) -> None:
    change = pausing.pause(twice_warned(), why, "lessor", "idle", NOW)
    assert notices(change.lease, change.events) == ()
    seen = suspension.suspended(change.lease, NOW, NOW)
    assert notices(seen.lease, seen.events) == (Notice.PAUSED,)
    night = pausing.pause(a_lease(State.SUSPENDED), why, "lessor", "idle", NOW)
    assert notices(night.lease, night.events) == (Notice.PAUSED,)
    started = suspension.suspended(pausing.start(change.lease, "U0", NOW).lease, NOW, NOW)
    assert notices(started.lease, started.events) == (Notice.SUSPENDED,)


def test_a_lease_whose_money_is_gone_ends_in_two_hours_with_its_warnings() -> None:
    lease = replace(a_lease(), wish=Wish(ENDS + DAY, "U0", READY))
    change = extension.cut_short(lease, "team:ml", "1,000 of 1,000 USD are used", NOW)
    assert (change.lease.ends_at, change.lease.wish, change.lease.warned) == (NOW + 2 * HOUR, None, ())
    (event,) = change.events
    assert (event.type, event.actor) == ("over-budget", "lessor")
    assert event.data == {
        "scope": "team:ml",
        "why": "1,000 of 1,000 USD are used",
        "from": ENDS.isoformat(),
        "to": (NOW + 2 * HOUR).isoformat(),
    }
    again = extension.cut_short(change.lease, "team:ml", "more", NOW + HOUR)
    assert again.events == ()


@pytest.mark.parametrize("state", [s for s in State if s not in (State.ACTIVE, State.SUSPENDED)])
def test_money_that_is_gone_ends_nothing_that_is_not_in_use(state: State) -> None:
    lease = a_lease(state)
    assert extension.cut_short(lease, "team:ml", "gone", NOW).lease is lease
