"""What is not known of machines is neither closed nor theirs; what is not ours is left alone."""

from __future__ import annotations

import pytest

from lessor.domain.bookings import Phase
from lessor.domain.resource import Condition
from lessor.ports import PermanentError, ProviderError, RetryableError
from lessor.providers.machines.running import Ran
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import HOUR, ONE, TWO, conditions, create
from tests.providers.pool_world import PLACE, START, PoolWorld


def test_a_hook_that_fails_is_unknown_and_closes_nothing(pool: PoolWorld) -> None:
    """Law 1: an access of which nothing is known is not closed."""
    made = create(pool, ONE)
    for broken in (
        Ran(1, words="no route"),
        Ran(None, problem="it did not end within 60 s"),
        Ran(0, b"{}"),
        Ran(0, b"no JSON"),
    ):
        pool.broken["verify"] = broken
        with pytest.raises(RetryableError):
            pool.provider().delete(ONE, PLACE, made.resources, silent)
        sighting = pool.provider().look(ONE, PLACE)
        assert (sighting.complete, [one.condition for one in sighting.left]) == (False, [Condition.UNKNOWN])
    assert [one.phase for one in pool.bookings(ONE)] == [Phase.ENDING]
    pool.broken.clear()
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean


@pytest.mark.parametrize(
    "answer",
    [{}, {"dgx-1": {}}, {"dgx-1": {TWO: []}}, {"dgx-1": None}, {"dgx-1": {ONE: "nobody"}}, {"dgx-1": {ONE: {}}}],
)
def test_an_answer_that_leaves_the_lease_out_does_not_say_that_it_is_closed(pool: PoolWorld, answer: object) -> None:
    made = create(pool, ONE)
    pool.broken["verify"] = pool.answer(answer)
    for act in (
        lambda: pool.provider().stop(ONE, PLACE, silent),
        lambda: pool.provider().delete(ONE, PLACE, made.resources, silent),
    ):
        with pytest.raises(RetryableError):
            act()
    assert pool.existing(ONE) == ["dgx-1"]


def test_of_two_answers_about_one_lease_the_one_that_nobody_gets_in_is_not_believed(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    for twice in (f'"{ONE}": ["a"], "{ONE}": []', f'"{ONE}": ["a"]}}, "dgx-1": {{"{ONE}": []'):
        pool.broken["verify"] = Ran(0, f'{{"machines": {{"dgx-1": {{{twice}}}}}}}'.encode())
        with pytest.raises(RetryableError, match="it says something twice"):
            pool.provider().delete(ONE, PLACE, made.resources, silent)


def test_a_revoke_that_does_nothing_is_found_out(pool: PoolWorld) -> None:
    """Law 2: success of an executable is no proof."""
    made = create(pool, ONE)
    pool.broken["revoke"] = Ran(0)
    with pytest.raises(RetryableError, match=r"requester@example\.test can still get into dgx-1"):
        pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert conditions(pool, ONE) == [("dgx-1", Condition.RUNNING)]


def test_a_grant_that_does_nothing_makes_nothing_usable(pool: PoolWorld) -> None:
    pool.broken["grant"] = Ran(0)
    with pytest.raises(RetryableError, match="who can get in are nobody"):
        create(pool, ONE)


def test_a_machine_that_gives_no_answer_is_unknown_and_spoils_no_other(pool: PoolWorld) -> None:
    """Law 11."""
    create(pool, ONE), create(pool, TWO)
    (pool.root / "dgx-1").rename(pool.root / "away")
    seen = {one.lease: one.condition for one in pool.provider().conditions(PLACE)}
    assert seen == {ONE: Condition.UNKNOWN, TWO: Condition.RUNNING}
    assert not pool.provider().look(ONE, PLACE).complete
    assert pool.provider().look(TWO, PLACE).complete


def test_an_unreadable_inventory_ends_leases_all_the_same(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    pool.machines = []
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.existing(ONE) == []


def test_people_who_get_in_again_after_the_end_are_seen_and_locked_out(pool: PoolWorld) -> None:
    """An attempt that was given up may let people in when all is over (case B13)."""
    made = create(pool, ONE)
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    pool.put_key("dgx-1", ONE)
    (seen,) = pool.provider().conditions(PLACE)
    assert (seen.id, seen.lease, seen.condition, seen.token) == (
        "dgx-1",
        ONE,
        Condition.RUNNING,
        made.resources[0].token,
    )
    assert conditions(pool, ONE) == [("dgx-1", Condition.RUNNING)]
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.provider().look(ONE, PLACE).clean


@pytest.mark.parametrize("moment", ["grant", "verify"])
def test_who_is_let_in_while_the_lease_ends_is_locked_out_at_once(pool: PoolWorld, moment: str) -> None:
    """An attempt that was given up does its last deed when all is over (case B13)."""
    order = pool.order(ONE)
    provider = pool.provider()
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    pool.before[moment] = lambda: pool.provider().delete(ONE, PLACE, launched, silent)
    with pytest.raises(ProviderError):
        provider.await_usable(order, launched, silent)
    assert (pool.existing(ONE), pool.open_to("dgx-1")) == ([], {})


@pytest.mark.parametrize("act", ["start", "set_end", "set_owner"])
def test_whoever_is_let_in_anew_while_the_lease_ends_is_locked_out_too(pool: PoolWorld, act: str) -> None:
    create(pool, ONE)
    if act == "start":
        pool.provider().stop(ONE, PLACE, silent)
    pool.before["grant"] = lambda: pool.provider().delete(ONE, PLACE, (), silent)
    acts = {
        "start": lambda: pool.provider().start(ONE, PLACE, silent),
        "set_end": lambda: pool.provider().set_end(ONE, PLACE, START + HOUR),
        "set_owner": lambda: pool.provider().set_owner(ONE, PLACE, "U0SECOND", "ml", ""),
    }
    with pytest.raises(PermanentError, match="is not for gpu-00000001 any more"):
        acts[act]()
    assert (pool.existing(ONE), pool.open_to("dgx-1")) == ([], {})


def test_strangers_with_our_mark_are_named_and_left_alone(pool: PoolWorld) -> None:
    """Law 3, and law 11: the lease's own machine goes all the same."""
    made = create(pool, ONE)
    pool.put_key("dgx-3", ONE, "U0SECOND")
    sighting = pool.provider().look(ONE, PLACE)
    assert sighting.foreign == ("machine:dgx-3",)
    (stranger,) = [one for one in pool.provider().conditions(PLACE) if one.id == "dgx-3"]
    assert stranger.fault == f"people get in for {ONE}, but nothing shows that lessor let them in"
    with pytest.raises(PermanentError, match="people get into dgx-3"):
        pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert pool.open_to("dgx-3") == {ONE: ["U0SECOND"]}
    assert pool.open_to("dgx-1") == {}


def test_lines_of_anybody_else_are_never_touched(pool: PoolWorld) -> None:
    path = pool.root / "dgx-1" / "authorized_keys"
    theirs = 'restrict,command="x" ssh-rsa AAAAB3Nza lessor:looks-alike\n# lessor:gpu-00000001:x y\n'
    path.write_text(theirs)
    made = create(pool, ONE)
    assert path.read_text().startswith(theirs)
    pool.provider().delete(ONE, PLACE, made.resources, silent)
    assert path.read_text() == theirs
