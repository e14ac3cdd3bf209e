"""Acts on how long a lease lasts: what cannot even be tried, what people are told, and who hears of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Act, Notice, Verb
from lessor.domain import extension, suspension
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.people import Person
from lessor.domain.policy import Reason
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
    a_step,
)
from workflows import lasting
from workflows.acts import accepted, malformed, transition
from workflows.notices import notices

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LATER = ENDS + DAY
STEPS = (a_step(), a_step("finance", "group:finance"))


def wishing() -> Lease:
    reasons = (Reason("long", "more than a day"),)
    return extension.ask(a_lease(), LATER, REQUESTER, "not done", STEPS, reasons, READY).lease


def act(verb: Verb, **changes: object) -> Act:
    return Act("1", verb, REQUESTER.id, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verb", "problem"),
    [
        (Verb.EXTEND, "to extend a lease, say until when"),
        (Verb.SHORTEN, "to shorten a lease, say until when"),
        (Verb.EXEMPT, ""),
        (Verb.GRANT, ""),
        (Verb.REJECT, ""),
    ],
)
def test_what_cannot_even_be_tried(verb: Verb, problem: str) -> None:
    assert malformed(act(verb)) == problem
    assert malformed(act(verb, until=LATER)) == ""


@pytest.mark.parametrize("verb", [Verb.EXTEND, Verb.SHORTEN, Verb.EXEMPT])
@pytest.mark.parametrize(("person", "allowed"), [(REQUESTER, True), (MANAGER, True), (ADMIN, True), (STRANGER, False)])
def test_who_may_change_how_long_it_lasts(verb: Verb, person: Person, allowed: bool) -> None:
    until = {Verb.EXTEND: LATER, Verb.SHORTEN: ENDS - HOUR, Verb.EXEMPT: CLOSES}[verb]
    lease = a_lease(schedule=MORNINGS)
    wanted = act(verb, until=until, reason="a run")
    if allowed:
        assert transition(lease, wanted, person, READY).lease.revision > lease.revision
        return
    with pytest.raises(Refused) as refused:
        transition(lease, wanted, person, READY)
    assert refused.value.code == "not-owner"


def test_what_people_are_told() -> None:
    asked = accepted(wishing(), act(Verb.EXTEND, until=LATER), READY)
    assert (asked.ok, asked.ends_at) == (True, ENDS)
    assert asked.message == (
        f"{LEASE_ID}: not extended yet: manager (lead:ml), finance (group:finance) is asked to approve it, because of "
        "long: more than a day. It keeps its end, and runs until 2026-11-28 17:15 UTC at the longest meanwhile"
    )
    extended = extension.extend(a_lease(), LATER, REQUESTER.id, "", READY).lease
    assert accepted(extended, act(Verb.EXTEND, until=LATER), READY).message == f"{LEASE_ID}: extended"
    first = extension.grant(wishing(), MANAGER, READY).lease
    assert lasting.words(first, act(Verb.GRANT)) == "your approval of the later end is recorded; more are needed"
    both = extension.grant(first, FINANCE, READY).lease
    assert lasting.words(both, act(Verb.GRANT)) == "the later end is granted"
    assert lasting.words(a_lease(), act(Verb.REJECT)) == "the later end is rejected; it ends as it was"
    assert lasting.words(a_lease(), act(Verb.SHORTEN)).startswith("shortened; its warnings come anew")
    exempt = suspension.exempt(a_lease(schedule=MORNINGS), None, REQUESTER.id, "", READY).lease
    assert lasting.words(exempt, act(Verb.EXEMPT)) == "runs on outside its hours until 2026-11-28 09:00 UTC"


def told(lease: Lease, *types: str, of: str = "") -> tuple[Notice, ...]:
    return notices(lease, tuple(Event(one, READY, "lessor", {"of": of} if of else {}) for one in types))


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("extension-asked",), (Notice.EXTENSION_ASKED,)),
        (("extension-granted",), (Notice.EXTENSION_ASKED,)),
        (("reminded",), (Notice.REMINDER,)),
        (("asked",), (Notice.EXTENSION_ASKED,)),
        (("escalated",), (Notice.EXTENSION_ASKED,)),
    ],
)
def test_who_hears_of_a_wish_that_waits(types: tuple[str, ...], expected: tuple[Notice, ...]) -> None:
    assert told(wishing(), *types, of="extension") == expected


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("extension-granted", "extended"), (Notice.EXTENSION_DECIDED, Notice.EXTENDED)),
        (("extension-rejected",), (Notice.EXTENSION_DECIDED,)),
        (("extension-lapsed",), (Notice.EXTENSION_DECIDED,)),
        (("shortened",), (Notice.SHORTENED,)),
        (("approved", "reserved"), (Notice.DECIDED, Notice.RESERVED)),
        (("suspend-warned",), ()),
        (("suspending",), ()),
        (("suspended",), (Notice.SUSPENDED,)),
        (("resumed",), (Notice.RESUMED,)),
        (("resume-failed",), (Notice.RESUME_FAILED,)),
        (("exempted",), ()),
    ],
)
def test_who_hears_of_ends_and_hours(types: tuple[str, ...], expected: tuple[Notice, ...]) -> None:
    assert told(replace(a_lease(), state=State.ACTIVE), *types) == expected
