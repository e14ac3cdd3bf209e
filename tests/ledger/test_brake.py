"""The brake is on record in the chain, and of many that want to stop at once no more than may do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import text

from lessor.domain.ladder import Brake
from lessor.domain.lease import Event
from lessor.domain.records import FLEET
from lessor.ledger import SqlLedger
from lessor.ledger.database import Database
from tests.builders import ASKED, a_lease
from tests.ledger.test_audit import unprotected

HOUR = timedelta(hours=1)
ON = Brake(True, "U0ADMIN", ASKED, "the numbers look wrong")
OFF = Brake(False, "U0ADMIN", ASKED + HOUR, "looked at, all is well")


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    opened = Database(ledger_url)
    yield opened
    opened.close()


def test_the_brake_is_off_until_somebody_puts_it_on(ledger: SqlLedger) -> None:
    assert ledger.brake() == Brake()
    ledger.set_brake(ON)
    assert ledger.brake() == ON
    ledger.set_brake(OFF)
    assert ledger.brake() == OFF


def test_each_change_is_an_entry_of_the_chain_between_those_of_leases(ledger: SqlLedger) -> None:
    ledger.record(a_lease(), [Event("approved", ASKED, "U0MANAGER", {})])
    ledger.set_brake(ON)
    ledger.set_brake(OFF)
    assert [(one.seq, one.revision, one.event) for one in ledger.events(FLEET)] == [
        (2, 1, Event("brake-on", ASKED, "U0ADMIN", {"reason": "the numbers look wrong"})),
        (3, 2, Event("brake-off", ASKED + HOUR, "U0ADMIN", {"reason": "looked at, all is well"})),
    ]
    report = ledger.verify()
    assert (report.events, report.problems) == (3, ())


def test_a_brake_without_a_time_is_refused(ledger: SqlLedger) -> None:
    with pytest.raises(ValueError, match="at a time"):
        ledger.set_brake(Brake(True, "U0ADMIN", None, "now"))
    assert ledger.verify().events == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE brakes SET reason = 'nothing'", "the brake is not as it was recorded: it was changed"),
        ("UPDATE brakes SET actor = 'U0EVIL'", "the brake is not as it was recorded: it was changed"),
        ("UPDATE brakes SET revision = 1", "the brake stands at revision 1, although the chain has revision 2"),
        ("DELETE FROM brakes", "the brake is missing, although the chain speaks of it"),
    ],
)
def test_an_edit_of_the_brake_is_found(ledger: SqlLedger, database: Database, change: str, problem: str) -> None:
    ledger.set_brake(ON)
    ledger.set_brake(OFF)
    with unprotected(database) as connection:
        connection.execute(change)
        connection.commit()
    assert ledger.verify().problems == (problem,)


def test_an_edit_of_an_entry_of_the_fleet_is_found(ledger: SqlLedger, database: Database) -> None:
    ledger.set_brake(ON)
    with unprotected(database) as connection:
        connection.execute("UPDATE events SET actor = 'U0EVIL'")
        connection.commit()
    assert ledger.verify().problems == ("entry 1 (fleet, brake-on) was changed after it was written",)


def test_a_cut_entry_of_the_fleet_with_a_fitting_head_is_found(ledger: SqlLedger, database: Database) -> None:
    ledger.set_brake(ON)
    ledger.set_brake(OFF)
    kept = ledger.events(FLEET)[0].hash
    with unprotected(database) as connection:
        connection.execute("DELETE FROM events WHERE seq = 2")
        connection.execute(f"UPDATE chain_head SET entries = 1, hash = '{kept}'")
        connection.commit()
    assert ledger.verify().problems == ("the brake stands at revision 2, although the chain has revision 1",)


def test_a_lease_that_is_gone_is_still_found_without_a_foreign_key(ledger: SqlLedger, database: Database) -> None:
    ledger.record(a_lease(), [Event("approved", ASKED, "U0MANAGER", {})])
    with database.write() as connection:
        connection.execute(text("DELETE FROM leases"))
    assert ledger.verify().problems == ("lease gpu-7k3qxa2m is missing, although the chain speaks of it",)


def test_nothing_may_stop_while_the_brake_is_on(ledger: SqlLedger) -> None:
    ledger.set_brake(ON)
    why = ledger.claim_stop("gpu-00000001", ASKED, ASKED - HOUR, 10)
    assert why == "the brake is on since 2026-11-27 09:00 UTC, by U0ADMIN: the numbers look wrong"
    ledger.set_brake(OFF)
    assert ledger.claim_stop("gpu-00000001", ASKED, ASKED - HOUR, 10) == ""


def test_a_lease_takes_one_slot_however_often_it_asks(ledger: SqlLedger) -> None:
    for minutes in range(5):
        at = ASKED + timedelta(minutes=minutes)
        assert ledger.claim_stop("gpu-00000001", at, at - HOUR, 2) == ""
    assert ledger.claim_stop("gpu-00000002", ASKED, ASKED - HOUR, 2) == ""
    why = ledger.claim_stop("gpu-00000003", ASKED, ASKED - HOUR, 2)
    assert why == "2 leases were stopped since 2026-11-27 08:00 UTC, and no more than 2 may be"


def test_slots_come_free_with_time(ledger: SqlLedger) -> None:
    assert ledger.claim_stop("gpu-00000001", ASKED, ASKED - HOUR, 1) == ""
    assert ledger.claim_stop("gpu-00000002", ASKED + HOUR, ASKED, 1) != ""
    later = ASKED + HOUR + timedelta(seconds=1)
    assert ledger.claim_stop("gpu-00000002", later, later - HOUR, 1) == ""
    assert ledger.claim_stop("gpu-00000001", later, later - HOUR, 1) != ""


def test_of_fifty_at_once_no_more_than_the_share_may_stop(ledger: SqlLedger) -> None:
    leases = [f"gpu-{number:08d}" for number in range(50)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda one: ledger.claim_stop(one, ASKED, ASKED - HOUR, 10), leases))
    assert answers.count("") == 10
    assert len(set(answers)) == 2


def test_a_brake_that_comes_meanwhile_lets_nobody_through_after_it(ledger: SqlLedger) -> None:
    leases = [f"gpu-{number:08d}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        claims = [pool.submit(ledger.claim_stop, one, ASKED, ASKED - HOUR, 50) for one in leases[:10]]
        braked = pool.submit(ledger.set_brake, ON)
        braked.result()
        after = [ledger.claim_stop(one, ASKED, ASKED - HOUR, 50) for one in leases[10:]]
    assert all(after)
    assert all(claim.result() == "" or "the brake is on" in claim.result() for claim in claims)
