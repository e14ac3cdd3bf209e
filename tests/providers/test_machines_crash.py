"""A worker that dies at any step of a lease of a machine: nothing is taken twice, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from lessor.domain.bookings import TAKEN
from lessor.providers.machines import MachinesProvider
from tests.providers.attempts import Stopped, silent
from tests.providers.pool_fixtures import FULL, ONE
from tests.providers.pool_world import MACHINES, PLACE, PoolWorld

STEPS = 40
"""More than a whole life has."""


@dataclass
class Death:
    """Counts what reaches out of the worker, and lets it die before or after call number `at`."""

    at: int
    after: bool
    calls: list[str] = field(default_factory=list)

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*details: Any, **named: Any) -> Any:
            mine = len(self.calls) == self.at
            self.calls.append(name)
            if mine and not self.after:
                raise Stopped(f"before {name}")
            made = call(*details, **named)
            if mine:
                raise Stopped(f"after {name}")
            return made

        return counted


class MortalBook:
    """The ledger's book, every call of which may be the last."""

    def __init__(self, book: Any, death: Death) -> None:
        self._book, self._death = book, death

    def __getattr__(self, name: str) -> Any:
        return self._death.around(name, getattr(self._book, name))


def mortal(pool: PoolWorld, death: Death) -> MachinesProvider:
    provider = pool.provider()
    provider._diary._book = MortalBook(pool.ledger, death)  # type: ignore[assignment]
    hooks = provider._letting._hooks
    hooks._run = death.around("hook", hooks._run)
    return provider


def lives(after: bool) -> Iterator[Death]:
    for at in range(STEPS):
        yield Death(at, after)
    raise AssertionError(f"a life has more than {STEPS} steps")


def live(provider: MachinesProvider, pool: PoolWorld, order: Any) -> None:
    """From the launch to the end; each call does what an earlier attempt has not."""
    candidate = provider.candidates(order)[0]
    made = provider.await_usable(order, provider.launch(order, candidate, silent), silent)
    provider.stop(ONE, PLACE, silent)
    provider.start(ONE, PLACE, silent)
    provider.delete(ONE, PLACE, made.resources, silent)


def nobody_in(pool: PoolWorld) -> bool:
    return all(pool.open_to(one.name) == {} for one in MACHINES)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_lease_whose_worker_died_is_taken_down_whole(pool: PoolWorld, after: bool) -> None:
    pool.quick = True
    order = pool.order(ONE, FULL)
    for death in lives(after):
        died = False
        try:
            live(mortal(pool, death), pool, order)
        except Stopped:
            died = True
        pool.provider().delete(ONE, PLACE, (), silent)
        assert pool.existing(ONE) == [], death.calls
        assert nobody_in(pool), death.calls
        assert pool.provider().look(ONE, PLACE).clean, death.calls
        pool.advance(pool.pool().clean_up)
        if not died:
            assert death.at > 10
            return


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_attempt_after_a_dead_one_has_the_same_machine_and_no_second(pool: PoolWorld, after: bool) -> None:
    pool.quick = True
    order = pool.order(ONE, FULL)
    for death in lives(after):
        died = False
        provider = mortal(pool, death)
        try:
            provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)
        except Stopped:
            died = True
        again = pool.provider()
        made = again.await_usable(order, again.launch(order, again.candidates(order)[0], silent), silent)
        assert [one.machine for one in pool.bookings(ONE) if one.phase in TAKEN] == [one.id for one in made.resources]
        assert pool.existing(ONE) == [one.id for one in made.resources], death.calls
        again.delete(ONE, PLACE, made.resources, silent)
        assert nobody_in(pool), death.calls
        pool.advance(pool.pool().clean_up)
        if not died:
            assert death.at > 4
            return
