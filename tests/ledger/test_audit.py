"""The chain is proven, and whatever is done to it behind the ledger's back is found and said in words."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from lessor.domain.lease import Event, State
from lessor.domain.records import AuditReport
from lessor.ledger import SqlLedger
from lessor.ledger.chain import Entry, entry_hash
from lessor.ledger.database import Database
from tests.builders import ASKED, a_lease, a_story

EVENTS = [Event(f"event-{number}", ASKED, "U0MANAGER", {"number": str(number)}) for number in range(1, 6)]
Tamper = Callable[..., AuditReport]


@pytest.fixture
def five(ledger: SqlLedger) -> SqlLedger:
    """A ledger with five events of one lease, in revisions 1 to 5."""
    for revision, event in enumerate(EVENTS, 1):
        ledger.record(replace(a_lease(), revision=revision), [event])
    return ledger


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    opened = Database(ledger_url)
    yield opened
    opened.close()


@pytest.fixture
def tamper(five: SqlLedger, database: Database) -> Tamper:
    """Change the database with all protection switched off, and verify."""

    def act(*statements: str) -> AuditReport:
        with closing(unprotected(database)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        return five.verify()

    return act


def unprotected(database: Database) -> Any:
    """A connection past all protection: what somebody with full rights on the database can do."""
    if not database.is_sqlite:
        host = str(database.url.query["host"])
        options = "-c session_replication_role=replica"
        return psycopg.connect(host=host, user="postgres", dbname=database.url.database, options=options)
    connection = sqlite3.connect(str(database.url.database))
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


def test_an_empty_ledger_is_proven(ledger: SqlLedger) -> None:
    assert ledger.verify() == AuditReport(0, "0" * 64)


def test_what_was_recorded_is_proven_and_its_head_is_the_last_hash(five: SqlLedger) -> None:
    stored = five.events("gpu-7k3qxa2m")
    assert five.verify() == AuditReport(5, stored[-1].hash)
    assert [s.prev_hash for s in stored] == ["0" * 64, *(s.hash for s in stored[:-1])]


def test_anybody_can_repeat_the_hashes_from_an_export(five: SqlLedger) -> None:
    last = "0" * 64
    for stored in five.export():
        content = {
            "seq": stored.seq,
            "lease_id": stored.lease_id,
            "revision": stored.revision,
            "position": stored.position,
            "type": stored.event.type,
            "at": stored.event.at.isoformat(timespec="microseconds"),
            "actor": stored.event.actor,
            "data": json.dumps(stored.event.data, sort_keys=True, separators=(",", ":")),
            "snapshot_hash": stored.snapshot_hash,
            "prev_hash": last,
        }
        last = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        assert stored.hash == last
    assert last == five.verify().head


def test_export_gives_every_event_in_order_of_the_chain(ledger: SqlLedger) -> None:
    first, second = a_story(id="gpu-0000000b"), a_story(State.CLOSED, id="gpu-0000000a")
    ledger.record(*first)
    ledger.record(*second)
    exported = list(ledger.export())
    assert [s.seq for s in exported] == list(range(1, len(first[1]) + len(second[1]) + 1))
    assert [s.event for s in exported] == [*first[1], *second[1]]


def test_export_is_a_stream_that_ends_where_it_began(five: SqlLedger) -> None:
    stream = iter(five.export())
    assert next(stream).seq == 1
    five.record(replace(a_lease(), revision=6), [EVENTS[0]])
    assert [s.seq for s in stream] == [2, 3, 4, 5]


def test_a_long_chain_is_read_in_pages_with_progress(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [Event("tick", ASKED, "lessor", {"n": str(n)}) for n in range(2_500)]
    ledger.record(a_lease(), events)
    seen: list[tuple[int, int]] = []
    assert ledger.verify(lambda done, total: seen.append((done, total))).events == 2_500
    assert seen == [(1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]
    assert [s.event.data["n"] for s in ledger.export()] == [str(n) for n in range(2_500)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET actor = 'U0EVIL' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 5",
        "DELETE FROM chain_head",
        "UPDATE chain_head SET entries = 4",
    ],
)
def test_the_database_itself_refuses_to_change_the_past(five: SqlLedger, database: Database, statement: str) -> None:
    with pytest.raises(DBAPIError, match=r"append-only|stays|only grows"), database.engine.begin() as connection:
        connection.execute(text(statement))
    assert five.verify().problems == ()


@pytest.mark.postgres
def test_postgresql_refuses_to_empty_the_chain(postgres_url: str) -> None:
    database = Database(postgres_url)
    for table in ("events", "chain_head"):
        with pytest.raises(DBAPIError, match="is append-only"), database.engine.begin() as connection:
            connection.execute(text(f"TRUNCATE {table}"))
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "actor = 'U0EVIL'",
        "type = 'approved'",
        'data = \'{"number":"33"}\'',
        "at = '2026-11-27 09:00:00.000001'",
        "lease_id = 'gpu-00000000'",
        "revision = 33",
        "position = 1",
        "snapshot_hash = 'ff'",
        "hash = 'ff'",
    ],
)
def test_an_edit_of_any_column_is_found(tamper: Tamper, change: str) -> None:
    problems = tamper(f"UPDATE events SET {change} WHERE seq = 3").problems
    assert problems[0].startswith("entry 3 (")
    assert problems[0].endswith("was changed after it was written")


def test_an_edit_with_a_fitting_hash_breaks_the_next_entry(five: SqlLedger, tamper: Tamper) -> None:
    third = five.events("gpu-7k3qxa2m")[2]
    forged = Entry(
        3, third.lease_id, 3, 0, "event-3", ASKED, "U0EVIL", '{"number":"3"}', third.snapshot_hash, third.prev_hash
    )
    problems = tamper(f"UPDATE events SET actor = 'U0EVIL', hash = '{entry_hash(forged)}' WHERE seq = 3").problems
    assert problems == (
        "entry 4 (gpu-7k3qxa2m, event-4) does not follow the entry before it: one of the two was put in or replaced",
    )


def test_a_deleted_entry_is_found(tamper: Tamper) -> None:
    assert tamper("DELETE FROM events WHERE seq = 3").problems == ("entry 3 is missing",)


def test_deleted_entries_in_the_middle_and_at_the_start_are_found(tamper: Tamper) -> None:
    problems = tamper("DELETE FROM events WHERE seq IN (1, 3, 4)").problems
    assert problems == ("entry 1 is missing", "entries 3 to 4 are missing")


def test_a_cut_tail_is_found(tamper: Tamper) -> None:
    report = tamper("DELETE FROM events WHERE seq > 3")
    assert report.events == 3
    assert report.problems[0] == "entries 4 to 5 are missing at the end: 5 were written"
    assert report.problems[1] == "lease gpu-7k3qxa2m stands at revision 5, which the chain knows nothing of"


def test_a_cut_tail_with_a_fitting_head_is_found_by_the_lease(five: SqlLedger, tamper: Tamper) -> None:
    kept = five.events("gpu-7k3qxa2m")[3].hash
    report = tamper("DELETE FROM events WHERE seq = 5", f"UPDATE chain_head SET entries = 4, hash = '{kept}'")
    assert report.problems == ("lease gpu-7k3qxa2m stands at revision 5, which the chain knows nothing of",)


def test_an_emptied_chain_is_found(tamper: Tamper) -> None:
    report = tamper("DELETE FROM events")
    assert report.events == 0
    assert report.problems[0] == "entries 1 to 5 are missing at the end: 5 were written"


def test_an_entry_put_in_at_the_end_is_found(tamper: Tamper) -> None:
    problems = tamper(
        "INSERT INTO events SELECT 6, lease_id, 6, 0, 'approved', at, actor, data, snapshot_hash, hash, 'ff' "
        "FROM events WHERE seq = 5"
    ).problems
    assert problems[0] == "entry 6 (gpu-7k3qxa2m, approved) was changed after it was written"
    assert problems[1] == "1 more at the end than the 5 entries that were written"


def test_an_entry_put_in_before_the_start_is_found(tamper: Tamper) -> None:
    problems = tamper(
        "INSERT INTO events SELECT 0, lease_id, 0, 0, type, at, actor, data, snapshot_hash, prev_hash, hash "
        "FROM events WHERE seq = 1"
    ).problems
    assert "entry 0 (gpu-7k3qxa2m, event-1) stands before the first place of the chain" in problems


def test_two_entries_that_changed_places_are_found(tamper: Tamper) -> None:
    problems = tamper(
        "UPDATE events SET seq = -1 WHERE seq = 2",
        "UPDATE events SET seq = 2 WHERE seq = 4",
        "UPDATE events SET seq = 4 WHERE seq = -1",
    ).problems
    assert (
        problems[0] == "entry 2 (gpu-7k3qxa2m, event-4) is not the one that was written here: it was moved or replaced"
    )
    assert (
        problems[2] == "entry 4 (gpu-7k3qxa2m, event-2) is not the one that was written here: it was moved or replaced"
    )


def test_a_missing_or_wrong_head_is_found(tamper: Tamper, five: SqlLedger) -> None:
    assert tamper("UPDATE chain_head SET hash = 'ff'").problems == (
        "the last entry, 5, is not the one that the head of the chain names",
    )
    assert tamper("DELETE FROM chain_head").problems == (
        "the head of the chain is missing, so that nobody can say how many entries were written",
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("snapshot = replace(snapshot, 'ml', 'xx')", "is not as it was recorded at revision 5: it was changed"),
        ("state = 'closed'", "has a changed state, which is not what its record says"),
        ("owner = 'U0EVIL', team = 'x'", "has a changed owner and team, which is not what its record says"),
        ("ends_at = NULL", "has a changed ends_at, which is not what its record says"),
        ("revision = 4", "stands at revision 4, although the chain has revision 5: it was put back"),
        ("revision = 9", "stands at revision 9, which the chain knows nothing of"),
    ],
)
def test_a_lease_that_was_changed_behind_the_chain_is_found(tamper: Tamper, change: str, problem: str) -> None:
    assert tamper(f"UPDATE leases SET {change}").problems == (f"lease gpu-7k3qxa2m {problem}",)


def test_a_lease_that_was_removed_is_found(tamper: Tamper) -> None:
    problem = "lease gpu-7k3qxa2m is missing, although the chain speaks of it"
    assert tamper("DELETE FROM leases").problems == (problem,)


def test_only_the_first_problems_are_reported(tamper: Tamper, five: SqlLedger) -> None:
    five.record(replace(a_lease(), revision=6), [EVENTS[0]] * 100)
    report = tamper("UPDATE events SET actor = 'U0EVIL'")
    assert report.events == 105
    assert len(report.problems) == 20
    assert report.problems[0] == "entry 1 (gpu-7k3qxa2m, event-1) was changed after it was written"
