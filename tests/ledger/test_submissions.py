"""Accepted requests: one interaction makes one lease, whatever is redelivered, and a collision swallows nobody's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.errors import Refused
from lessor.domain.records import Submission
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import LeaseIdTakenError
from tests.builders import ASKED, a_request


def a_submission(interaction: str = "slack:T1:C1:U1:1717.1", lease_id: str = "gpu-00000001") -> Submission:
    return Submission(interaction, lease_id, a_request(interaction=interaction), ASKED)


def test_a_submission_is_kept_until_it_is_started(ledger: SqlLedger) -> None:
    assert ledger.accept(a_submission()) == a_submission()
    assert ledger.unstarted() == (a_submission(),)
    ledger.started("gpu-00000001", "slack:T1:C1:U1:1717.1")
    ledger.started("gpu-00000001", "slack:T1:C1:U1:1717.1")
    assert ledger.unstarted() == ()


def test_only_the_submission_that_was_started_is_marked(ledger: SqlLedger) -> None:
    ledger.accept(a_submission())
    ledger.started("gpu-00000002", "slack:T1:C1:U1:1717.1")
    ledger.started("gpu-00000001", "slack:T1:C1:U1:9999.9")
    assert ledger.unstarted() == (a_submission(),)


def test_a02_a_delivery_is_remembered_over_a_restart_and_for_longer_than_any_retry(ledger_url: str) -> None:
    first = open_ledger(ledger_url)
    first.accept(a_submission())
    first.started("gpu-00000001", "slack:T1:C1:U1:1717.1")
    first.close()
    second = open_ledger(ledger_url)
    late = replace(a_submission(lease_id="gpu-00000002"), at=ASKED + timedelta(days=30))
    assert second.accept(late) == replace(a_submission(), started=True)
    assert second.unstarted() == ()
    second.close()


def test_a03_eleven_deliveries_of_one_message_make_one_submission(ledger: SqlLedger) -> None:
    kept = [ledger.accept(replace(a_submission(), at=ASKED + timedelta(seconds=n))) for n in range(11)]
    assert kept == [a_submission()] * 11
    assert ledger.unstarted() == (a_submission(),)


def test_a04_two_replicas_that_get_the_same_envelope_at_once_keep_one(ledger: SqlLedger, ledger_url: str) -> None:
    replica = open_ledger(ledger_url)

    def accept(number: int) -> Submission:
        mine = replace(a_submission(lease_id=f"gpu-{number:08}"), at=ASKED + timedelta(seconds=number))
        return (ledger, replica)[number % 2].accept(mine)

    with ThreadPoolExecutor(8) as pool:
        kept = set(pool.map(lambda n: accept(n).lease_id, range(20)))
    assert len(kept) == 1
    assert {s.lease_id for s in replica.unstarted()} == kept
    replica.close()


def test_a_lease_id_of_another_interaction_is_taken_and_nothing_is_stored(ledger: SqlLedger) -> None:
    ledger.accept(a_submission())
    with pytest.raises(LeaseIdTakenError, match="gpu-00000001 belongs to another request; nothing was stored"):
        ledger.accept(a_submission("slack:T1:C1:U2:1718.2"))
    assert ledger.unstarted() == (a_submission(),)
    salted = a_submission("slack:T1:C1:U2:1718.2", "gpu-00000002")
    assert ledger.accept(salted) == salted


def test_the_same_interaction_gets_its_first_lease_even_when_it_asks_with_a_taken_id(ledger: SqlLedger) -> None:
    ledger.accept(a_submission())
    mine = ledger.accept(a_submission("slack:T1:C1:U2:1718.2", "gpu-00000002"))
    assert ledger.accept(a_submission("slack:T1:C1:U2:1718.2", "gpu-00000001")) == mine


def test_a_kept_submission_gets_another_lease_id(ledger: SqlLedger) -> None:
    ledger.accept(a_submission())
    moved = ledger.reassign("slack:T1:C1:U1:1717.1", "gpu-00000009")
    assert moved == replace(a_submission(), lease_id="gpu-00000009")
    assert ledger.unstarted() == (moved,)
    assert ledger.reassign("slack:T1:C1:U1:1717.1", "gpu-00000009") == moved


def test_a_lease_id_that_is_taken_cannot_be_reassigned(ledger: SqlLedger) -> None:
    ledger.accept(a_submission())
    other = ledger.accept(a_submission("slack:T1:C1:U2:1718.2", "gpu-00000002"))
    with pytest.raises(LeaseIdTakenError, match="gpu-00000001 belongs to another request"):
        ledger.reassign("slack:T1:C1:U2:1718.2", "gpu-00000001")
    assert other in ledger.unstarted()
    with pytest.raises(LookupError, match="no submission of interaction nobody is on record"):
        ledger.reassign("nobody", "gpu-00000003")


def test_unstarted_submissions_come_oldest_first(ledger: SqlLedger) -> None:
    late = replace(a_submission("a", "gpu-00000001"), at=ASKED + timedelta(hours=1))
    early = a_submission("b", "gpu-00000002")
    ledger.accept(late)
    ledger.accept(early)
    assert ledger.unstarted() == (early, late)


def test_b18_the_wanted_end_is_the_same_instant_and_needs_a_zone(ledger: SqlLedger) -> None:
    ends = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    submission = replace(a_submission(), request=a_request(until=ends))
    assert ledger.accept(submission).request.until == ends
    with pytest.raises(Refused, match="has no time zone"):
        ledger.accept(replace(a_submission("other", "gpu-00000002"), at=datetime.fromisoformat("2026-11-01T05:30:00")))
    assert ledger.unstarted() == (submission,)
