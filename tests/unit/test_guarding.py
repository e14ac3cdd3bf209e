"""When the guard acts, as a table: nothing here reads or stops anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.domain.guarding import GuardTerms, Overdue, Said, Stand, Word, held_back, judge, said_of
from lessor.domain.lease import minute
from lessor.domain.pending import Wish
from lessor.domain.resource import Condition
from lessor.domain.states import State
from tests.builders import ENDS, a_lease
from tests.guarding.scene import HOUR, MINUTE, NOW, a_lease_there

TERMS = GuardTerms()
SILENT, OVER, NOT_OVER, NO_RECORD = (Said(word) for word in (Word.SILENT, Word.OVER, Word.NOT_OVER, Word.NO_RECORD))


@pytest.mark.parametrize(
    ("past", "known", "said", "stand"),
    [
        (-1 * MINUTE, None, SILENT, Stand.FINE),
        (14 * MINUTE, None, SILENT, Stand.FINE),
        (15 * MINUTE, None, SILENT, Stand.LATE),
        (119 * MINUTE, 100 * MINUTE, SILENT, Stand.LATE),
        (120 * MINUTE, 100 * MINUTE, SILENT, Stand.DUE),
        (120 * MINUTE, 100 * MINUTE, OVER, Stand.DUE),
        (120 * MINUTE, 29 * MINUTE, SILENT, Stand.LATE),
        (120 * MINUTE, 30 * MINUTE, SILENT, Stand.DUE),
        (72 * HOUR, None, SILENT, Stand.LATE),
        (72 * HOUR, 50 * HOUR, NOT_OVER, Stand.DISPUTED),
        (72 * HOUR, 50 * HOUR, NO_RECORD, Stand.DISPUTED),
        (72 * HOUR, 50 * HOUR, Said(Word.UNREADABLE), Stand.DISPUTED),
        (14 * MINUTE, None, NOT_OVER, Stand.FINE),
    ],
)
def test_a_lease_is_told_of_after_its_end_and_stopped_long_after(
    past: timedelta, known: timedelta | None, said: Said, stand: Stand
) -> None:
    """`known` is for how long people have known of it."""
    one = a_lease_there(ends=NOW - past)
    overdue = Overdue(NOW - past, NOW - known, NOW - known) if known is not None else None
    assert judge(one, said, overdue, TERMS, NOW).stand is stand


@pytest.mark.parametrize(("ago", "stand"), [(14, Stand.FINE), (15, Stand.LATE)])
def test_what_was_started_a_moment_ago_gets_time_until_its_end_is_written(ago: int, stand: Stand) -> None:
    """As when its owner asked for it back: it starts with the end that it had."""
    again = a_lease_there(ends=NOW - 30 * HOUR, since=NOW - ago * MINUTE)
    assert judge(again, NOT_OVER, None, TERMS, NOW).stand is (Stand.DISPUTED if stand is Stand.LATE else stand)
    assert judge(again, SILENT, None, TERMS, NOW).stand is stand


def test_where_nobody_could_be_told_the_first_sighting_counts() -> None:
    one = a_lease_there(ends=NOW - 3 * HOUR)
    assert judge(one, SILENT, Overdue(NOW - 3 * HOUR, NOW - 29 * MINUTE), TERMS, NOW).stand is Stand.LATE
    assert judge(one, SILENT, Overdue(NOW - 3 * HOUR, NOW - 30 * MINUTE), TERMS, NOW).stand is Stand.DUE


def test_a_notice_that_came_late_moves_the_stop() -> None:
    known = Overdue(NOW - 3 * HOUR, seen_at=NOW - 2 * HOUR, told_at=NOW - 10 * MINUTE)
    found = judge(a_lease_there(), SILENT, known, TERMS, NOW)
    assert (found.stand, found.stops_at) == (Stand.LATE, NOW + 20 * MINUTE)


def test_another_end_is_another_occasion() -> None:
    known = Overdue(NOW - 30 * HOUR, NOW - 29 * HOUR, NOW - 29 * HOUR)
    found = judge(a_lease_there(ends=NOW - 3 * HOUR), SILENT, known, TERMS, NOW)
    assert (found.stand, found.stops_at) == (Stand.LATE, NOW + 30 * MINUTE)


@pytest.mark.parametrize("condition", [Condition.STOPPING, Condition.STOPPED, Condition.DELETING, Condition.GONE])
def test_what_rests_is_left_alone(condition: Condition) -> None:
    assert judge(a_lease_there(condition=condition), SILENT, None, TERMS, NOW).stand is Stand.RESTING


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"condition": Condition.UNKNOWN}, "whether it runs could not be seen"),
        ({"ends": None, "written": "next friday"}, "its end cannot be read: 'next friday'"),
        ({"ends": None, "written": ""}, "no end stands on it"),
        ({"ends": None, "written": "", "since": None}, "no end stands on it"),
    ],
)
def test_what_is_unknown_is_never_late(changes: dict[str, object], why: str) -> None:
    known = Overdue(NOW - 30 * HOUR, NOW - 30 * HOUR, NOW - 30 * HOUR)
    found = judge(a_lease_there(**changes), SILENT, known, TERMS, NOW)
    assert (found.stand, found.why) == (Stand.UNKNOWN, why)


def test_what_is_being_made_has_no_end_yet() -> None:
    new = a_lease_there(ends=None, written="", since=NOW - 14 * MINUTE)
    assert judge(new, SILENT, None, TERMS, NOW).stand is Stand.FINE
    assert judge(replace(new, written="garbled"), SILENT, None, TERMS, NOW).stand is Stand.UNKNOWN


def test_what_cannot_be_stopped_is_told_and_no_more() -> None:
    spot = a_lease_there(fixed="i-1 is a spot machine, which cannot be stopped, only ended")
    known = Overdue(NOW - 3 * HOUR, NOW - 3 * HOUR, NOW - 3 * HOUR)
    assert judge(spot, SILENT, known, TERMS, NOW).stand is Stand.FIXED


# -- the ledger's word ------------------------------------------------------------------------------------------------


def test_a_lease_that_the_ledger_does_not_have_is_nobodys_to_stop() -> None:
    assert said_of(None, NOW).word is Word.NO_RECORD
    assert said_of(None, NOW).objection == (
        "the ledger does not know this lease: it may be that of another lessor, or its record was lost"
    )


@pytest.mark.parametrize(
    ("state", "ends", "word"),
    [
        (State.ACTIVE, ENDS, Word.NOT_OVER),
        (State.SUSPENDED, ENDS, Word.NOT_OVER),
        (State.PROVISIONING, None, Word.NOT_OVER),
        (State.ACTIVE, ENDS - HOUR, Word.OVER),
        (State.ENDING, ENDS, Word.OVER),
        (State.STOPPED, ENDS, Word.OVER),
        (State.DELETING, ENDS, Word.OVER),
        (State.BLOCKED, ENDS, Word.OVER),
        (State.CLOSED, ENDS, Word.OVER),
        (State.FAILED, None, Word.OVER),
    ],
)
def test_a_lease_is_over_by_its_record(state: State, ends: datetime | None, word: Word) -> None:
    lease = replace(a_lease(), state=state, ends_at=ends)
    assert said_of(lease, ENDS - MINUTE) == Said(word, ends, state.value)


def test_a_lease_that_has_not_ended_says_so_with_its_end() -> None:
    said = said_of(replace(a_lease(), ends_at=ENDS), ENDS - MINUTE)
    assert said.objection == f"the ledger says that it is active and ends {minute(ENDS)}"
    new = said_of(replace(a_lease(), state=State.PROVISIONING, ends_at=None), ENDS)
    assert new.objection == "the ledger says that it is provisioning and has no end yet"


def test_a_lease_whose_extension_waits_is_not_over() -> None:
    wish = Wish(until=ENDS + 8 * HOUR, by="U0REQUESTER", at=ENDS - HOUR)
    lease = replace(a_lease(), ends_at=ENDS, wish=wish)
    assert said_of(lease, ENDS + 3 * HOUR).word is Word.NOT_OVER
    assert said_of(replace(lease, wish=None), ENDS + 3 * HOUR).word is Word.OVER


# -- the brake --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("due", "running", "lately", "held"),
    [
        (1, 1, 0, False),
        (2, 2, 0, False),
        (3, 3, 0, True),
        (3, 6, 0, False),
        (4, 6, 0, True),
        (2, 4, 2, True),
        (1, 5, 2, False),
        (0, 3, 3, False),
    ],
)
def test_the_brake_lets_a_tiny_fleet_and_a_small_share_through(due: int, running: int, lately: int, held: bool) -> None:
    findings = [judge(a_lease_there(f"gpu-{n:08}"), SILENT, None, TERMS, NOW) for n in range(running)]
    why = held_back(due, findings, {f"gpu-9000000{n}": NOW for n in range(lately)}, TERMS)
    assert bool(why) is held
    if held:
        whole, most = running + lately, max((running + lately) // 2, 2)
        assert why == (
            f"{due + lately} of {whole} leases that run would be stopped within 1 h, and {most} at most may be; "
            "none was stopped"
        )
