"""Hooks that are taken out of the configuration while people are in a machine: nothing is believed to be closed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lessor.domain.bookings import Phase
from lessor.domain.checkup import Checkup
from lessor.domain.resource import Condition
from lessor.ledger import open_ledger
from lessor.ports import PermanentError, RetryableError
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.running import Ran
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import HOUR, ONE, conditions, create
from tests.providers.pool_world import PLACE, START, PoolWorld

WORDS = (
    f"people were let into dgx-1 for {ONE} at 2026-11-28 09:00 UTC, and lessor.yaml has no hooks of pool any more, so "
    "it is not known whether they get in still. Put grant, revoke and verify back; or lock them out by hand, and then "
    f"an administrator confirms that with lessor places confirm-closed {ONE} REASON"
)


def test_a_lease_whose_hooks_are_gone_is_neither_stopped_nor_closed(pool: PoolWorld) -> None:
    """Laws 1 and 12: nobody can see whether its people get in still."""
    made = create(pool, ONE)
    pool.hooks = False
    with pytest.raises(PermanentError, match=re.escape(WORDS)):
        pool.provider().stop(ONE, PLACE, silent)
    with pytest.raises(PermanentError, match=re.escape(WORDS)):
        pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert [one.phase for one in pool.bookings(ONE)] == [Phase.ENDING]
    sighting = pool.provider().look(ONE, PLACE)
    assert (sighting.complete, sighting.problem) == (False, WORDS)
    assert [(one.condition, one.reason) for one in sighting.left] == [(Condition.UNKNOWN, WORDS)]
    (seen,) = pool.provider().conditions(PLACE)
    assert (seen.lease, seen.condition) == (ONE, Condition.UNKNOWN)
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test"]}
    assert pool.provider().checkup(PLACE) == Checkup("pool", problem=WORDS, urgent=True)


def test_a_ledger_that_is_away_hides_nothing_else_that_is_wrong(pool: PoolWorld) -> None:
    pool.broken["verify"] = Ran(1)
    pool.book.refuse = 9
    found = pool.provider().checkup(PLACE)
    assert "who has which machine cannot be read or stored now: the ledger is locked; " in found.problem
    assert "who can get into machines of pool could not be seen" in found.problem
    assert "the hook health cannot be started" in found.problem


def test_with_its_hooks_back_it_ends_as_ever(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    pool.hooks = False
    with pytest.raises(PermanentError):
        pool.provider().delete(ONE, PLACE, made.resources, silent)
    pool.hooks = True
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert (pool.open_to("dgx-1"), pool.provider().look(ONE, PLACE).clean) == ({}, True)


def test_it_ends_once_an_administrator_says_that_nobody_gets_in(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    provider = pool.provider()
    assert provider.unseen(ONE, PLACE) == ()
    provider.confirm_closed(ONE, PLACE)
    assert pool.bookings(ONE)[0].let_in_at == START, "while hooks can see it nobody's word is taken"
    pool.hooks = False
    assert pool.provider().unseen(ONE, PLACE) == ("dgx-1",)
    pool.provider().confirm_closed(ONE, PLACE)
    assert pool.provider().unseen(ONE, PLACE) == ()
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean


def test_that_nobody_gets_in_is_not_believed_of_people_who_are_let_in_meanwhile(
    pool: PoolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 1: another process has the hooks back already, and lets people in after the administrator has looked."""
    create(pool, ONE)
    pool.hooks = False
    stale, change = pool.provider(), Diary.change

    def overtaken(*args: Any) -> Any:
        monkeypatch.setattr(Diary, "change", change)
        pool.hooks = True
        pool.now_at += HOUR
        pool.provider().set_end(ONE, PLACE, START + 3 * HOUR)
        return change(*args)

    monkeypatch.setattr(Diary, "change", overtaken)
    stale.confirm_closed(ONE, PLACE)
    assert pool.bookings(ONE)[0].let_in_at == START + HOUR


def test_what_was_seen_closed_before_the_hooks_went_away_ends(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    pool.provider().stop(ONE, PLACE, silent)
    assert pool.bookings(ONE)[0].let_in_at is None
    pool.hooks = False
    assert conditions(pool, ONE) == [("dgx-1", Condition.STOPPED)]
    with pytest.raises(PermanentError, match="no hooks of pool any more to let them in again; they stay locked out"):
        pool.provider().start(ONE, PLACE, silent)
    assert [one.phase for one in pool.bookings(ONE)] == [Phase.STOPPED]
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean


@pytest.mark.parametrize("moment", ["grant", "verify"])
def test_a_worker_that_dies_while_people_are_let_in_has_it_on_record(pool: PoolWorld, moment: str) -> None:
    """The executable may have done its work though nobody heard of it (case B13)."""
    pool.broken[moment] = Ran(1)
    with pytest.raises(RetryableError):
        create(pool, ONE)
    assert pool.bookings(ONE)[0].let_in_at == START
    pool.hooks = False
    with pytest.raises(PermanentError, match="no hooks of pool any more"):
        pool.provider().delete(ONE, PLACE, (), silent)


def test_what_does_not_prove_that_nobody_gets_in_leaves_it_on_record(pool: PoolWorld) -> None:
    create(pool, ONE)
    pool.broken["revoke"] = Ran(0)
    with pytest.raises(RetryableError):
        pool.provider().stop(ONE, PLACE, silent)
    assert pool.bookings(ONE)[0].let_in_at == START


def test_without_hooks_nobody_else_is_let_in_and_that_is_said(pool: PoolWorld) -> None:
    create(pool, ONE)
    pool.hooks = False
    with pytest.raises(PermanentError, match="no hooks of pool any more"):
        pool.provider().set_owner(ONE, PLACE, "U0SECOND", "ml", "")
    with pytest.raises(PermanentError, match="no hooks of pool any more"):
        pool.provider().set_end(ONE, PLACE, START + HOUR)


def test_a_pool_that_never_had_hooks_stops_and_ends_by_its_record(sqlite_url: str, tmp_path: Path) -> None:
    ledger = open_ledger(sqlite_url)
    pool = PoolWorld(tmp_path, ledger, hooks=False)
    made = create(pool, ONE)
    assert (pool.bookings(ONE)[0].let_in_at, pool.provider().unseen(ONE, PLACE)) == (None, ())
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean
    ledger.close()
