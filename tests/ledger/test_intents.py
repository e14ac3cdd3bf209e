"""Intents and resources: stored before the call, completed after it, never removed, never made to look gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.records import Intent
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ledger import SqlLedger
from tests.builders import ASKED, a_place, a_volume, an_instance

LEASE = "gpu-00000001"
CREATED = datetime(2026, 11, 27, 9, 12, 0, 5, tzinfo=UTC)


def an_intent(token: str = "token-1", minutes: int = 0) -> Intent:
    return Intent(LEASE, token, a_place(zone="us-east-1a"), "p4de.24xlarge", ASKED + timedelta(minutes=minutes))


def test_an_intent_is_on_record_before_anything_came_of_it(ledger: SqlLedger) -> None:
    ledger.intend(an_intent())
    assert ledger.intents(LEASE) == (an_intent(),)
    assert ledger.resources(LEASE) == ()
    assert ledger.intents("gpu-00000002") == ()


def test_a_confirmed_intent_names_what_came_of_it(ledger: SqlLedger) -> None:
    made = (an_instance(created_at=CREATED, token="token-1", zone="us-east-1a"), a_volume())
    ledger.intend(an_intent())
    ledger.confirm(LEASE, "token-1", made)
    assert ledger.intents(LEASE) == (replace(an_intent(), resources=made, confirmed=True),)
    assert ledger.resources(LEASE) == made


def test_b12_repeated_intents_and_confirmations_leave_one_of_each(ledger: SqlLedger) -> None:
    for minute in range(20):
        ledger.intend(an_intent(minutes=minute))
        ledger.confirm(LEASE, "token-1", [an_instance()])
    latest = replace(an_intent(minutes=19), resources=(an_instance(),), confirmed=True)
    assert ledger.intents(LEASE) == (latest,)
    assert ledger.resources(LEASE) == (an_instance(),)


def test_a_new_try_with_the_same_token_is_open_again_until_it_is_answered(ledger: SqlLedger) -> None:
    ledger.intend(an_intent())
    ledger.confirm(LEASE, "token-1", [])
    ledger.intend(an_intent(minutes=5))
    assert ledger.intents(LEASE) == (an_intent(minutes=5),)


def test_a_second_answer_adds_to_the_first(ledger: SqlLedger) -> None:
    ledger.intend(an_intent())
    ledger.confirm(LEASE, "token-1", [an_instance("i-1")])
    ledger.confirm(LEASE, "token-1", [an_instance("i-2")])
    ledger.confirm(LEASE, "token-1", [])
    assert ledger.intents(LEASE)[0].resources == (an_instance("i-1"), an_instance("i-2"))


def test_each_intent_has_its_own_resources(ledger: SqlLedger) -> None:
    ledger.intend(an_intent("b", minutes=1))
    ledger.intend(an_intent("a"))
    ledger.intend(replace(an_intent("a"), lease_id="gpu-00000002"))
    ledger.confirm(LEASE, "a", [an_instance("i-1")])
    ledger.confirm(LEASE, "b", [an_instance("i-2"), an_instance("i-1")])
    ledger.seen(LEASE, [a_volume()])
    assert [(i.token, [r.id for r in i.resources]) for i in ledger.intents(LEASE)] == [("a", ["i-1"]), ("b", ["i-2"])]
    assert [r.id for r in ledger.resources(LEASE)] == ["i-1", "i-2", "vol-0aaa"]
    assert [i.confirmed for i in ledger.intents("gpu-00000002")] == [False]


def test_what_was_created_without_an_intent_is_kept_and_said(ledger: SqlLedger) -> None:
    with pytest.raises(LookupError, match="gpu-00000001 has no intent token-9; the 1 resources were recorded"):
        ledger.confirm(LEASE, "token-9", [an_instance()])
    assert ledger.resources(LEASE) == (an_instance(),)


def test_the_last_seen_condition_is_stored_and_nothing_is_removed(ledger: SqlLedger) -> None:
    ledger.seen(LEASE, [an_instance(condition=Condition.PENDING), a_volume()])
    ledger.seen(LEASE, [an_instance(condition=Condition.GONE, reason="User initiated")])
    ledger.seen(LEASE, [])
    assert ledger.resources(LEASE) == (an_instance(condition=Condition.GONE, reason="User initiated"), a_volume())


def test_unknown_is_not_a_sight(ledger: SqlLedger) -> None:
    ledger.seen(LEASE, [an_instance(condition=Condition.RUNNING, reason="ok")])
    ledger.seen(LEASE, [an_instance(condition=Condition.UNKNOWN, reason="UnauthorizedOperation")])
    ledger.seen(LEASE, [a_volume(condition=Condition.UNKNOWN)])
    assert ledger.resources(LEASE) == (
        an_instance(condition=Condition.RUNNING, reason="ok"),
        a_volume(condition=Condition.UNKNOWN),
    )


def test_what_a_later_look_does_not_say_is_kept(ledger: SqlLedger) -> None:
    full = an_instance(zone="us-east-1a", created_at=CREATED, token="token-1")
    ledger.seen(LEASE, [full])
    ledger.seen(LEASE, [Resource(Kind.INSTANCE, full.id, Condition.STOPPED)])
    assert ledger.resources(LEASE) == (replace(full, condition=Condition.STOPPED),)
    ledger.seen(LEASE, [replace(full, zone="us-east-1b", type="p5.48xlarge")])
    assert ledger.resources(LEASE) == (replace(full, zone="us-east-1b", type="p5.48xlarge"),)


def test_the_same_id_of_another_kind_or_lease_is_another_resource(ledger: SqlLedger) -> None:
    ledger.seen(LEASE, [Resource(Kind.NAMESPACE, "x"), Resource(Kind.CLAIM, "x")])
    ledger.seen("gpu-00000002", [Resource(Kind.CLAIM, "x", Condition.GONE)])
    assert ledger.resources(LEASE) == (Resource(Kind.CLAIM, "x"), Resource(Kind.NAMESPACE, "x"))
    assert ledger.resources("gpu-00000002") == (Resource(Kind.CLAIM, "x", Condition.GONE),)


def test_one_resource_twice_in_a_batch_is_stored_as_seen_last(ledger: SqlLedger) -> None:
    ledger.seen(LEASE, [an_instance(condition=Condition.STOPPING), an_instance(condition=Condition.STOPPED)])
    assert ledger.resources(LEASE) == (an_instance(condition=Condition.STOPPED),)


def test_looks_that_overlap_in_another_order_do_not_lock_each_other_out(ledger: SqlLedger) -> None:
    batch = [an_instance(f"i-{number:02}") for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ledger.seen(LEASE, batch if n % 2 else batch[::-1]), range(40)))
    assert ledger.resources(LEASE) == tuple(batch)
