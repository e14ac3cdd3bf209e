"""Where messages stand: one place each, and an intention never forgets a message that was posted."""

from __future__ import annotations

from lessor.domain.records import MessageRef
from lessor.ledger import SqlLedger

KEY = "gpu-00000001/request/U0MANAGER"
INTENDED = MessageRef(KEY, "gpu-00000001")
POSTED = MessageRef(KEY, "gpu-00000001", "C0APPROVALS", "1717.000100")


def test_an_unknown_message_is_none(ledger: SqlLedger) -> None:
    assert ledger.message(KEY) is None
    assert ledger.messages("gpu-00000001") == ()


def test_a_message_is_intended_and_then_stands_where_it_was_posted(ledger: SqlLedger) -> None:
    ledger.save_message(INTENDED)
    assert ledger.message(KEY) == INTENDED
    ledger.save_message(POSTED)
    assert ledger.message(KEY) == POSTED


def test_an_intention_that_comes_late_does_not_forget_the_posted_message(ledger: SqlLedger) -> None:
    ledger.save_message(POSTED)
    ledger.save_message(INTENDED)
    assert ledger.message(KEY) == POSTED


def test_a_message_that_was_posted_anew_moves(ledger: SqlLedger) -> None:
    ledger.save_message(POSTED)
    moved = MessageRef(KEY, "gpu-00000001", "C0OTHER", "1718.000200")
    ledger.save_message(moved)
    assert ledger.message(KEY) == moved


def test_the_messages_of_a_lease_come_by_key(ledger: SqlLedger) -> None:
    second = MessageRef("gpu-00000001/closed/U0OWNER", "gpu-00000001", "D0OWNER", "1719.0")
    other = MessageRef("gpu-00000002/closed/U0OWNER", "gpu-00000002", "D0OWNER", "1720.0")
    for ref in (POSTED, second, other):
        ledger.save_message(ref)
    assert ledger.messages("gpu-00000001") == (second, POSTED)
