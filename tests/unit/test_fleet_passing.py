"""While a lease comes or goes, the numbers of its place add up all the same: no GPU is free and leased at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.fleet import place_fleet
from lessor.domain.lease import State
from tests.unit.fleets import census, held, leased, only_line, pool, record

NAME = "gpu-aaaaaaaa"
PASSING = [State.PROVISIONING, State.ENDING, State.DELETING, State.BLOCKED]


@pytest.mark.parametrize("state", PASSING)
def test_what_the_place_has_given_back_already_is_free_and_no_longer_leased(state: State) -> None:
    mine = leased(NAME, gpus=4, state=state)
    line = only_line(place_fleet(census(pool(total=8, free=8, held=0, promised=0, unhealthy=0)), record(mine)))
    assert (line.total, line.leased, line.free, line.unknown) == (8, 0, 8, 0)


@pytest.mark.parametrize("state", PASSING)
def test_what_the_place_still_keeps_for_it_is_leased_and_not_unaccounted_for(state: State) -> None:
    mine = leased(NAME, gpus=4, state=state)
    kept = pool(total=8, free=4, held=1, promised=3, unhealthy=0)
    line = only_line(place_fleet(census(kept, holders=(held(1, NAME),)), record(mine)))
    assert (line.total, line.leased, line.free, line.unknown) == (8, 4, 4, 0)


def test_what_is_promised_to_those_in_use_is_not_counted_for_those_that_go() -> None:
    stays, goes = leased("gpu-bbbbbbbb", gpus=3), leased(NAME, gpus=4, state=State.ENDING)
    read = pool(total=8, free=5, held=1, promised=2, unhealthy=0)
    line = only_line(place_fleet(census(read, holders=(held(1, "gpu-bbbbbbbb"),)), record(stays, goes)))
    assert (line.leased, line.free, line.unknown) == (3, 5, 0)


@pytest.mark.parametrize("changes", [{"promised": None}, {"problem": "lab: 403 Forbidden"}])
def test_where_nobody_knows_what_is_promised_the_record_holds(changes: dict[str, object]) -> None:
    problem = str(changes.pop("problem", ""))
    going = leased(NAME, gpus=4, state=State.ENDING)
    line = only_line(place_fleet(census(pool(total=8, free=4, unhealthy=0, **changes), problem=problem), record(going)))
    assert line.leased == 4


@given(
    state=st.sampled_from(PASSING),
    gpus=st.integers(1, 8),
    got=st.integers(0, 8),
    promised=st.integers(0, 8),
    free=st.integers(0, 8),
)
def test_they_add_up_at_every_moment_of_coming_and_going(
    state: State, gpus: int, got: int, promised: int, free: int
) -> None:
    got = min(got, gpus)
    promised = min(promised, gpus - got)
    read = pool(total=free + got + promised, free=free, held=got, promised=promised, unhealthy=0)
    holders = (held(got, NAME),) if got else ()
    line = only_line(place_fleet(census(read, holders=holders), record(leased(NAME, gpus=gpus, state=state))))
    assert (line.leased, line.free, line.unknown) == (got + promised, free, 0)
