"""What happened around a lease and did not change it: in the chain behind the lease's revision, once, and proven."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.lease import Event
from lessor.ledger import SqlLedger
from tests.builders import ASKED, LEASE_ID, a_lease

LEASE = replace(a_lease(), revision=3)
RECORDED = (Event("recorded", ASKED, "lessor", {}), Event("told", ASKED, "lessor", {}))


def noted(number: int = 1) -> Event:
    return Event("access-given", ASKED + timedelta(minutes=number), "U0REQUESTER", {"number": str(number)})


def chain(ledger: SqlLedger) -> list[tuple[int, int, int, str]]:
    return [(one.seq, one.revision, one.position, one.event.type) for one in ledger.events(LEASE_ID)]


def test_a_note_stands_behind_the_revision_and_changes_nothing_of_the_lease(ledger: SqlLedger) -> None:
    ledger.record(LEASE, RECORDED)
    ledger.note(LEASE_ID, noted())
    assert chain(ledger) == [(1, 3, 0, "recorded"), (2, 3, 1, "told"), (3, 3, 2, "access-given")]
    assert ledger.events(LEASE_ID)[-1].event == noted()
    assert ledger.lease(LEASE_ID) == LEASE
    assert ledger.verify().problems == ()


def test_what_is_recorded_again_or_later_is_neither_lost_nor_doubled(ledger: SqlLedger) -> None:
    ledger.record(LEASE, RECORDED)
    ledger.note(LEASE_ID, noted())
    ledger.record(LEASE, RECORDED)
    ledger.record(replace(LEASE, revision=4), RECORDED)
    ledger.note(LEASE_ID, noted(2))
    assert [(revision, position) for _, revision, position, _ in chain(ledger)] == [
        (3, 0),
        (3, 1),
        (3, 2),
        (4, 0),
        (4, 1),
        (4, 2),
    ]
    assert ledger.verify().problems == ()


def test_notes_at_the_same_time_all_stand_there(ledger: SqlLedger) -> None:
    ledger.record(LEASE, RECORDED)
    with ThreadPoolExecutor(4) as threads:
        notes = [threads.submit(ledger.note, LEASE_ID, noted(number)) for number in range(8)]
        later = [threads.submit(ledger.record, replace(LEASE, revision=number), RECORDED) for number in range(4, 8)]
        for one in (*notes, *later):
            one.result(30)
    found = chain(ledger)
    assert [kind for *_, kind in found].count("access-given") == 8
    assert [kind for *_, kind in found].count("recorded") == 5
    assert ledger.verify().problems == ()


def test_nothing_happens_to_what_is_not_on_record(ledger: SqlLedger) -> None:
    with pytest.raises(ValueError, match="not on record"):
        ledger.note("gpu-00000009", noted())
    assert ledger.verify().events == 0
