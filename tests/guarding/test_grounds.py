"""The ledger as the guard reads it: never made, never brought up to date, and each lease by itself."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.domain.lease import Event
from lessor.domain.request import Place
from lessor.guarding.grounds import ConfiguredGrounds, Records
from lessor.guarding.outside import Outside, TooLongError
from lessor.ledger import open_ledger
from lessor.ports import LedgerUnavailableError
from tests.builders import a_story
from tests.guarding.scene import LEASE, NOW

OTHER = "gpu-00000001"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A ledger with two leases."""
    made = f"sqlite:///{tmp_path}/lessor.db"
    ledger = open_ledger(made)
    lease, events = a_story()
    for one in (LEASE, OTHER):
        ledger.record(replace(lease, id=one), events[-1:])
    ledger.close()
    return made


def test_leases_are_read_and_unknown_ones_are_none(url: str) -> None:
    records = Records(url)
    found = records.leases([LEASE, "gpu-00000009"])
    records.close()
    assert found["gpu-00000009"] is None
    assert found[LEASE] is not None
    assert found[LEASE].id == LEASE


def test_a_damaged_record_is_left_out_and_hides_no_other(url: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "lessor.db") as database:
        database.execute("UPDATE leases SET snapshot = '{}' WHERE id = ?", [LEASE])
    database.close()
    records = Records(url)
    found = records.leases([LEASE, OTHER])
    records.close()
    assert list(found) == [OTHER]


def test_a_ledger_that_is_not_there_is_not_made_and_is_found_once_it_is(tmp_path: Path) -> None:
    records = Records(f"sqlite:///{tmp_path}/lessor.db")
    with pytest.raises(LedgerUnavailableError, match="there is no ledger at"):
        records.leases([LEASE])
    assert list(tmp_path.iterdir()) == []
    open_ledger(f"sqlite:///{tmp_path}/lessor.db").close()
    assert records.leases([LEASE]) == {LEASE: None}
    records.close()


@pytest.mark.parametrize("url", ["mysql://host/x", "postgresql://lessor:secret@127.0.0.1:9/lessor"])
def test_a_ledger_that_cannot_be_used_is_silent_and_tells_no_password(url: str) -> None:
    with pytest.raises(LedgerUnavailableError) as caught:
        Records(url).leases([LEASE])
    assert "secret" not in str(caught.value)


def test_a_stop_is_noted_in_the_chain(url: str) -> None:
    records = Records(url)
    grounds = ConfiguredGrounds([], {}, lambda _: None, records)
    grounds.note(LEASE, Event("guard-stopped", NOW, "lessor", {"place": "aws/research"}))
    records.close()
    ledger = open_ledger(url)
    assert [one.event.type for one in ledger.events(LEASE)][-1] == "guard-stopped"
    assert ledger.verify().problems == ()
    ledger.close()


def test_a_place_without_a_provider_is_a_problem_of_its_own() -> None:
    grounds = ConfiguredGrounds([Place("aws", "research")], {}, lambda _: None, Records("sqlite:///none.db"))
    words = "no provider of kind aws is there for research"
    assert grounds.dated(Place("aws", "research")).problems == (words,)
    assert grounds.unleased(Place("aws", "research")).problems == (words,)


async def test_a_call_that_hangs_is_given_up_and_not_begun_again() -> None:
    outside, release, begun = Outside(), threading.Event(), []

    def hang() -> None:
        begun.append(1)
        release.wait(30)

    with pytest.raises(TooLongError, match="reading lab: no answer within 0 s"):
        await outside.call("reading lab", hang, timedelta(milliseconds=10))
    with pytest.raises(TooLongError, match="an earlier try has not come back yet"):
        await outside.call("reading lab", hang, timedelta(milliseconds=10))
    assert await outside.call("reading research", lambda: 7, timedelta(seconds=30)) == 7
    release.set()
    assert begun == [1]
