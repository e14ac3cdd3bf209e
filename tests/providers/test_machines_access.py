"""Machines while they are leased: what is offered, and who gets in when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.domain.bookings import SLACK
from lessor.domain.request import Market, Need
from lessor.domain.resource import Condition, Kind
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import NoCapacityError, PermanentError
from lessor.providers.machines.running import Ran
from tests.builders import LENGTH
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import FULL, HOUR, L4, ONE, THREE, TWO, conditions, create
from tests.providers.pool_world import MACHINES, PLACE, START, PoolWorld


def test_what_is_offered_is_whole_machines_or_gpus_with_the_price_of_all_of_them(pool: PoolWorld) -> None:
    quote = pool.provider().quote(Need("", 2), PLACE, Market.ON_DEMAND, START)
    offers = [(one.instance_type, one.gpu_count, str(one.hourly)) for one in (quote.offer, *quote.alternatives)]
    assert offers == [("gpu/L4", 2, "1.20 USD"), ("8xA100-80GB", 8, "20.00 USD"), ("gpu/V100-16GB", 2, "None")]
    assert quote.alternatives[0].note == "the whole machine with 8 GPUs, 2 were asked for"
    assert quote.price_list == "rates of pool 2026-11-28"


@pytest.mark.parametrize("need", [Need(instance_type="dgx-3", count=8), Need("dgx-3", 8), Need("DGX-3", 1)])
def test_a_machine_can_be_asked_for_by_its_name(pool: PoolWorld, need: Need) -> None:
    made = create(pool, ONE, need)
    assert [one.id for one in made.resources] == ["dgx-3"]
    with pytest.raises(NoCapacityError):
        create(pool, TWO, Need(instance_type="dgx-3", count=8))


def test_prices_hold_from_their_day_on_and_are_unknown_before(pool: PoolWorld) -> None:
    pool.machines = [replace(MACHINES[0], since=START + HOUR)]
    assert pool.provider().offers(FULL, PLACE, Market.ON_DEMAND)[0].hourly is None
    pool.advance(HOUR)
    assert str(pool.provider().offers(FULL, PLACE, Market.ON_DEMAND)[0].hourly) == "20.00 USD"


def test_spot_is_not_sold_and_a_withdrawn_machine_is_not_offered(pool: PoolWorld) -> None:
    assert pool.provider().offers(FULL, PLACE, Market.SPOT) == ()
    pool.withdraw_all()
    with pytest.raises(PermanentError, match="no machine that may be leased now"):
        pool.provider().quote(FULL, PLACE, Market.ON_DEMAND, START)


@pytest.mark.parametrize(
    ("need", "largest"),
    [
        (Need("A100-80GB", 16), "8 GPUs: dgx-1, dgx-2, dgx-3. Ask for 8 at most, or send 2 requests. "),
        (Need("A100-80GB", 17), "8 GPUs: dgx-1, dgx-2, dgx-3. Ask for 8 at most, or send 3 requests. "),
        (Need("dgx-2", 9), "8 GPUs: dgx-2. Ask for 8 at most, or send 2 requests. "),
        (Need("V100-16GB", 3), "1 GPU: old-1. Ask for 1 at most, or send 3 requests. "),
        (Need("H100", 1), ""),
    ],
)
def test_what_no_one_machine_has_is_refused_with_what_is_possible(pool: PoolWorld, need: Need, largest: str) -> None:
    pool.machines[-1] = replace(pool.machines[-1], gpus=1)
    with pytest.raises(PermanentError) as caught:
        pool.provider().quote(need, PLACE, Market.ON_DEMAND, START)
    said = f"One lease is one machine, and the largest that would do has {largest}" if largest else ""
    assert str(caught.value) == (
        f"nothing in pool fits {need} (on-demand); nothing was requested. {said}"
        "There are: A100-80GB x8, L4 x4, V100-16GB x1."
    )


def test_what_costs_much_more_than_was_approved_is_no_candidate(pool: PoolWorld) -> None:
    order = pool.order(ONE, Need("", 2))
    assert [one.instance_type for one in pool.provider().candidates(order)] == ["gpu/L4"]


def test_the_owner_gets_in_until_the_end_of_the_lease_and_the_machine_knows_it(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    assert (made.access, str(made.hourly), made.stoppable) == ("ssh dgx-1.example.test", "20.00 USD", True)
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test"]}
    ends = START + LENGTH + SLACK
    text = (pool.root / "dgx-1" / "authorized_keys").read_text()
    assert text.startswith(f'expiry-time="{ends:%Y%m%d%H%M%S}Z" ssh-ed25519 ')
    pool.provider().set_end(ONE, PLACE, START + 3 * HOUR)
    assert 'expiry-time="20261128120000Z"' in (pool.root / "dgx-1" / "authorized_keys").read_text()


def test_gpus_of_one_machine_go_to_several_who_are_told_which(pool: PoolWorld) -> None:
    first, second = create(pool, ONE, L4), create(pool, TWO, L4)
    assert first.access == "ssh -t lab-1 'CUDA_VISIBLE_DEVICES=0,1 exec $SHELL -l'"
    assert second.access == "ssh -t lab-1 'CUDA_VISIBLE_DEVICES=2,3 exec $SHELL -l'"
    with pytest.raises(NoCapacityError, match="lab-1 by gpu-00000001 until 2026-11-28 18:15 UTC"):
        create(pool, THREE, Need("L4", 1))
    pool.provider().delete(ONE, PLACE, first.resources, silent)
    assert pool.open_to("lab-1") == {TWO: ["requester@example.test"]}
    pool.advance(timedelta(minutes=10))
    assert create(pool, THREE, Need("L4", 1)).access.startswith("ssh -t lab-1 'CUDA_VISIBLE_DEVICES=0 ")


def test_whoever_shares_a_lease_gets_in_with_the_next_look_and_out_again(pool: PoolWorld) -> None:
    create(pool, ONE)
    pool.sharers[ONE] = ["U0SECOND"]
    assert [one.id for one in pool.provider().attribute(PLACE, silent)] == ["dgx-1"]
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test", "U0SECOND"]}
    assert pool.provider().attribute(PLACE, silent) == ()
    pool.sharers.clear()
    pool.provider().attribute(PLACE, silent)
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test"]}


def test_one_lease_whose_people_have_no_key_keeps_no_other_from_being_mended(pool: PoolWorld) -> None:
    """Law 11."""
    create(pool, ONE), create(pool, TWO)
    pool.sharers |= {ONE: ["nobody@example.test"], TWO: ["U0SECOND"]}
    assert [one.id for one in pool.provider().attribute(PLACE, silent)] == ["dgx-2"]
    assert pool.open_to("dgx-2") == {TWO: ["requester@example.test", "U0SECOND"]}
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test"]}


def test_a_new_owner_gets_in_and_the_old_one_does_not(pool: PoolWorld) -> None:
    create(pool, ONE)
    pool.provider().set_owner(ONE, PLACE, "U0SECOND", "vision", "1")
    assert pool.open_to("dgx-1") == {ONE: ["U0SECOND"]}


def test_a_stopped_lease_lets_nobody_in_and_keeps_its_machine(pool: PoolWorld) -> None:
    create(pool, ONE, Need(instance_type="dgx-1", count=8))
    stopped = pool.provider().stop(ONE, PLACE, silent)
    assert (pool.open_to("dgx-1"), conditions(pool, ONE)) == ({}, [("dgx-1", Condition.STOPPED)])
    with pytest.raises(NoCapacityError):
        create(pool, TWO, Need(instance_type="dgx-1", count=8))
    for change in (
        lambda p: p.set_owner(ONE, PLACE, "U0SECOND", "ml", ""),
        lambda p: p.set_end(ONE, PLACE, START + HOUR),
    ):
        change(pool.provider())
        assert pool.open_to("dgx-1") == {}
    assert pool.provider().attribute(PLACE, silent) == ()
    pool.advance(HOUR)
    started = pool.provider().start(ONE, PLACE, silent)
    assert (stopped, started) == (START, START + HOUR)
    assert pool.open_to("dgx-1") == {ONE: ["U0SECOND"]}


def test_nobody_is_let_in_who_has_no_key_and_the_words_say_what_to_do(pool: PoolWorld) -> None:
    (pool.keys / "requester@example.test.pub").unlink()
    with pytest.raises(PermanentError) as caught:
        create(pool, ONE)
    assert "there is no public key of requester@example.test: put it into requester@example.test.pub" in str(
        caught.value
    )
    pool.provider().delete(ONE, PLACE, (), silent)
    assert pool.existing(ONE) == []


def test_a_pool_without_hooks_keeps_the_record_and_says_whom_to_ask(sqlite_url: str, tmp_path: Path) -> None:
    ledger: SqlLedger = open_ledger(sqlite_url)
    pool = PoolWorld(tmp_path, ledger, hooks=False)
    made = create(pool, ONE)
    assert (made.access, made.stoppable) == ("dgx-1.example.test (ask whoever looks after it to let you in)", False)
    assert conditions(pool, ONE) == [("dgx-1", Condition.RUNNING)]
    assert [(one.kind, one.lease) for one in pool.provider().conditions(PLACE)] == [(Kind.MACHINE, ONE)]
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean
    assert pool.calls == []
    ledger.close()


def test_what_people_write_reaches_hooks_as_json_only(pool: PoolWorld) -> None:
    hostile = '$(reboot) "; rm -rf / #\n\x1b]0;x\x07'
    asked: list[str] = []
    order = replace(pool.order(ONE), team=hostile, cost_center=hostile)
    provider = pool.provider()
    real = pool.run

    def watch(command: object, request: object, *rest: object) -> Ran:
        assert hostile not in str(command)
        asked.append(json.dumps(request))
        return real(command, request, *rest)  # type: ignore[arg-type]

    provider._letting._hooks._run = watch
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    provider.await_usable(order, launched, silent)
    assert json.dumps(hostile) in next(one for one in asked if '"grant"' in one)
    assert pool.open_to("dgx-1") == {ONE: ["requester@example.test"]}
