"""Leases and their events: once each, never backwards, exactly as they were."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from lessor.domain.billing import Span
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.money import Money
from lessor.domain.records import LeaseQuery
from lessor.ledger import SqlLedger
from lessor.ledger.database import Database
from lessor.ledger.snapshots import UnreadableSnapshotError
from tests.builders import ASKED, READY, a_lease, a_place, a_request, a_story, usd

NOTE = Event("note", ASKED, "lessor", {"text": "hello"})


def numbered(number: int, state: State = State.ACTIVE) -> Lease:
    return a_lease(state, id=f"gpu-0000000{number}")


def test_an_unknown_lease_is_none_and_has_no_events(ledger: SqlLedger) -> None:
    assert ledger.lease("gpu-00000000") is None
    assert ledger.events("gpu-00000000") == ()
    assert ledger.leases(LeaseQuery()) == ()


@pytest.mark.parametrize("state", [State.REQUESTED, State.ACTIVE, State.CLOSED])
def test_a_lease_and_its_events_come_back_as_they_were_recorded(ledger: SqlLedger, state: State) -> None:
    lease, events = a_story(state)
    ledger.record(lease, events)
    assert ledger.lease(lease.id) == lease
    stored = ledger.events(lease.id)
    assert tuple(s.event for s in stored) == events
    assert [s.seq for s in stored] == list(range(1, len(events) + 1))
    assert [(s.revision, s.position) for s in stored] == [(lease.revision, i) for i in range(len(events))]


def test_b12_a_repeated_record_changes_nothing(ledger: SqlLedger) -> None:
    lease, events = a_story()
    ledger.record(lease, events)
    before = (ledger.events(lease.id), ledger.verify())
    for _ in range(20):
        ledger.record(lease, events)
    assert (ledger.events(lease.id), ledger.verify()) == before
    assert before[1].problems == ()


def test_b12_attempts_that_overlap_record_once(ledger: SqlLedger) -> None:
    lease, events = a_story()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ledger.record(lease, events), range(40)))
    assert tuple(s.event for s in ledger.events(lease.id)) == events
    assert ledger.verify().problems == ()


def test_events_that_came_short_the_first_time_are_added(ledger: SqlLedger) -> None:
    lease = a_lease()
    second = replace(NOTE, type="second")
    ledger.record(lease, [NOTE])
    ledger.record(lease, [NOTE, second])
    assert [s.event for s in ledger.events(lease.id)] == [NOTE, second]
    assert ledger.verify().problems == ()


def test_a_later_revision_is_never_overwritten_but_its_past_is_still_recorded(ledger: SqlLedger) -> None:
    early, late = a_lease(State.ACTIVE), a_lease(State.CLOSED)
    ledger.record(late, [NOTE])
    ledger.record(early, [replace(NOTE, type="late-arrival")])
    assert ledger.lease(late.id) == late
    assert [(s.event.type, s.revision) for s in ledger.events(late.id)] == [
        ("note", late.revision),
        ("late-arrival", early.revision),
    ]
    assert ledger.verify().problems == ()


def test_f19_the_decision_on_record_stays_when_it_is_recorded_again(ledger: SqlLedger) -> None:
    lease, events = a_story(State.APPROVED)
    ledger.record(lease, events)
    ledger.record(replace(lease, decided_by="U0SOMEBODYELSE"), events)
    assert ledger.lease(lease.id) == lease


def test_a_lease_is_not_recorded_without_an_event(ledger: SqlLedger) -> None:
    with pytest.raises(ValueError, match="gpu-7k3qxa2m: a lease is recorded together with at least one event"):
        ledger.record(a_lease(), [])
    assert ledger.lease("gpu-7k3qxa2m") is None


def test_b18_the_end_is_the_same_instant_after_the_ledger(ledger: SqlLedger) -> None:
    ends = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    local = datetime(2026, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York"))
    ledger.record(replace(a_lease(), ends_at=local), [replace(NOTE, at=local)])
    read = ledger.lease("gpu-7k3qxa2m")
    assert read is not None
    assert read.ends_at == ends
    assert read.ends_at.utcoffset() == timedelta()
    at = ledger.events("gpu-7k3qxa2m")[0].event.at
    assert (at, at.tzinfo) == (ends, UTC)


def test_b18_an_instant_without_a_zone_is_refused_and_nothing_is_kept(ledger: SqlLedger) -> None:
    naive = datetime.fromisoformat("2026-11-01T05:30:00")
    with pytest.raises(Refused, match="the time of an event has no time zone"):
        ledger.record(a_lease(), [replace(NOTE, at=naive)])
    with pytest.raises(Refused, match="has no time zone"):
        ledger.record(replace(a_lease(), ends_at=naive), [NOTE])
    assert ledger.lease("gpu-7k3qxa2m") is None
    assert ledger.verify().events == 0


def test_times_keep_their_microseconds(ledger: SqlLedger) -> None:
    at = datetime(2026, 3, 29, 0, 59, 59, 999_999, tzinfo=UTC)
    ledger.record(a_lease(), [replace(NOTE, at=at)])
    assert ledger.events("gpu-7k3qxa2m")[0].event.at == at


def test_f28_the_price_of_each_stretch_stays_as_it_was_stored(ledger: SqlLedger) -> None:
    change = datetime(2026, 12, 15, tzinfo=UTC)
    spans = (Span(READY, change, usd("98.320000000000000001")), Span(change, None, Money(Decimal("1E+2"), "USD")))
    ledger.record(replace(a_lease(), spans=spans), [NOTE])
    read = ledger.lease("gpu-7k3qxa2m")
    assert read is not None
    assert read.spans == spans
    assert [str(s.hourly.amount) for s in read.spans if s.hourly] == ["98.320000000000000001", "1E+2"]


def test_any_text_comes_back(ledger: SqlLedger) -> None:
    odd = "\x00 <!channel> 🚀 {{ 7*7 }} '; DROP TABLE leases; --  \u202e"
    lease = replace(a_lease(), request=a_request(purpose=odd), problem=odd)
    ledger.record(lease, [replace(NOTE, data={odd: odd, "lone": "\ud83d"})])
    assert ledger.lease(lease.id) == lease
    assert ledger.events(lease.id)[0].event.data == {odd: odd, "lone": "\ud83d"}
    assert ledger.verify().problems == ()


def test_leases_are_found_by_owner_team_and_state(ledger: SqlLedger) -> None:
    mine, old = numbered(1), numbered(2, State.CLOSED)
    other = replace(numbered(3), owner="U0OTHER", request=a_request(team="vision"))
    for lease in (other, old, mine):
        ledger.record(lease, [NOTE])
    assert ledger.leases(LeaseQuery()) == (mine, old, other)
    assert ledger.leases(LeaseQuery(owner_ids=("W0X", mine.owner))) == (mine, old)
    assert ledger.leases(LeaseQuery(teams=("vision",))) == (other,)
    assert ledger.leases(LeaseQuery(owner_ids=(mine.owner,), but=mine.id)) == (old,)
    assert ledger.leases(LeaseQuery(states=("active",))) == (mine, other)
    assert ledger.leases(LeaseQuery(owner_ids=(mine.owner,), states=("active", "stopped"))) == (mine,)
    assert ledger.leases(LeaseQuery(owner_ids=("' OR 1=1 --",))) == ()


def test_a_lease_is_found_by_what_it_is_now(ledger: SqlLedger) -> None:
    ledger.record(a_lease(State.ACTIVE), [NOTE])
    moved = replace(a_lease(State.CLOSED), owner="U0NEW")
    ledger.record(moved, [NOTE])
    assert ledger.leases(LeaseQuery(states=("active",))) == ()
    assert ledger.leases(LeaseQuery(states=("closed",), owner_ids=("U0NEW",))) == (moved,)


def test_pages_follow_one_another_without_gap_or_overlap(ledger: SqlLedger) -> None:
    for number in range(7):
        ledger.record(numbered(number), [NOTE])
    pages, after = [], ""
    while page := ledger.leases(LeaseQuery(limit=3, after=after)):
        pages.append([lease.id[-1] for lease in page])
        after = page[-1].id
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert ledger.leases(LeaseQuery(limit=0)) == ()


def test_leases_of_one_place_fill_whole_pages_among_those_of_others(ledger: SqlLedger) -> None:
    made = []
    for number in range(12):
        place = a_place(name="research" if number % 3 else "lab")
        lease, events = a_story(id=f"gpu-{number:08d}", request=a_request(place=place, interaction=f"c:{number}"))
        ledger.record(lease, events)
        made.append(lease)
    lab = tuple(made[::3])
    assert ledger.leases(LeaseQuery(places=("lab",), limit=3)) == lab[:3]
    assert ledger.leases(LeaseQuery(places=("lab",), limit=3, after=lab[2].id)) == lab[3:]
    assert ledger.leases(LeaseQuery(places=("lab", "research"))) == tuple(made)
    assert ledger.leases(LeaseQuery(places=("nowhere",), limit=5)) == ()


def test_one_lease_that_cannot_be_read_does_not_hide_the_others(
    ledger: SqlLedger, ledger_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(4):
        ledger.record(numbered(number), [NOTE])
    database = Database(ledger_url)
    with database.write() as connection:
        connection.execute(text("UPDATE leases SET snapshot = '{}' WHERE id = 'gpu-00000001'"))
    database.close()
    with caplog.at_level(logging.ERROR):
        assert [lease.id[-1] for lease in ledger.leases(LeaseQuery(limit=2))] == ["0", "2"]
    assert "gpu-00000001 is left out of a list: the stored lease cannot be read (id: Field required)" in caplog.text
    with pytest.raises(UnreadableSnapshotError, match="it was kept"):
        ledger.lease("gpu-00000001")


def test_many_threads_record_many_leases(ledger: SqlLedger) -> None:
    def live(number: int) -> None:
        lease, events = a_story(id=f"gpu-{number:08}")
        for revision, event in enumerate(events):
            ledger.record(replace(lease, revision=revision), [event])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(live, range(32)))
    length = len(a_story()[1])
    report = ledger.verify()
    assert (report.events, report.problems) == (32 * length, ())
    assert [s.revision for s in ledger.events("gpu-00000031")] == list(range(length))
