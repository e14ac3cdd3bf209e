"""Absences on record: one of a person holds at a time, on both kinds of database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from lessor.domain.absence import Absence
from lessor.ledger import SqlLedger

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)
WEEK = timedelta(days=7)


def test_an_absence_holds_from_its_beginning_up_to_its_end(ledger: SqlLedger) -> None:
    absence = Absence("U0MANAGER", NOW, NOW + WEEK, "U0DEPUTY")
    ledger.go_away(absence)
    moments = [NOW - timedelta(microseconds=1), NOW, NOW + WEEK - timedelta(microseconds=1), NOW + WEEK]
    assert [ledger.absences(at) for at in moments] == [(), (absence,), (absence,), ()]


def test_a_new_word_replaces_the_one_before(ledger: SqlLedger) -> None:
    ledger.go_away(Absence("U0MANAGER", NOW, NOW + WEEK, "U0DEPUTY"))
    again = Absence("U0MANAGER", NOW + timedelta(hours=1), NOW + timedelta(days=1))
    ledger.go_away(again)
    assert ledger.absences(NOW + timedelta(hours=2)) == (again,)
    assert ledger.absences(NOW + timedelta(days=3)) == ()
    corrected = Absence("U0MANAGER", again.since, NOW + timedelta(days=2), "U0OTHER")
    ledger.go_away(corrected)
    ledger.go_away(corrected)
    assert ledger.absences(NOW + timedelta(days=1, hours=1)) == (corrected,)


def test_coming_back_ends_only_ones_own_absence_and_may_be_said_twice(ledger: SqlLedger) -> None:
    for person in ("U0MANAGER", "U0OTHER"):
        ledger.go_away(Absence(person, NOW, NOW + WEEK))
    back = NOW + timedelta(days=1)
    ledger.come_back("U0MANAGER", back)
    ledger.come_back("U0MANAGER", back + timedelta(days=1))
    ledger.come_back("U0NOBODY", back)
    assert [a.person for a in ledger.absences(back)] == ["U0OTHER"]
    assert [a.until for a in ledger.absences(NOW)] == [back, NOW + WEEK]


def test_instants_of_any_zone_are_the_same_instants(ledger: SqlLedger) -> None:
    there = timezone(timedelta(hours=-7))
    ledger.go_away(Absence("U0MANAGER", NOW.astimezone(there), (NOW + WEEK).astimezone(there)))
    [found] = ledger.absences(NOW)
    assert (found.since, found.until, found.until.tzinfo) == (NOW, NOW + WEEK, UTC)
