"""Over random days of a lease: idle is never said without proof, always said with it, and replaying gives the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.idle import Standing, Verdict
from lessor.domain.judging import QUIET, advance
from tests.unit.judged import MINUTE, Judged, at, gpus, of, replayed

WINDOW = 20


@dataclass(frozen=True)
class Look:
    """One tick: what each of two GPUs did, or `None` without samples; `late` by how many seconds they are older."""

    engines: tuple[float, float] | None
    late: int = 0
    restarted: bool = False


QUIET_LOOK = Look((0.0, 0.0))
SHARES = st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.5])
LOOKS = st.one_of(
    st.just(QUIET_LOOK),
    st.builds(Look, st.tuples(SHARES, SHARES), st.integers(0, 59)),
    st.just(Look(None)),
    st.builds(Look, st.just((0.0, 0.0)), restarted=st.just(True)),
)
FLICKERING = st.integers(2, 12).map(lambda gap: [*([QUIET_LOOK] * (gap - 1)), Look(None)] * (40 // gap))
STRETCHES = st.one_of(st.tuples(LOOKS, st.integers(1, 30)).map(lambda one: [one[0]] * one[1]), FLICKERING)
DAYS = st.lists(STRETCHES, min_size=1, max_size=12).map(lambda many: [look for one in many for look in one])


@settings(max_examples=150, deadline=None)
@given(DAYS)
def test_idle_is_said_with_proof_and_only_with_it(day: list[Look]) -> None:
    judged, standings = lived(day)
    for index, standing in enumerate(standings):
        past = day[max(index + 1 - WINDOW, 0) : index + 1]
        if standing.verdict in QUIET:
            assert index + 1 >= WINDOW
            assert not any(works(look) for look in past)
            assert sum(look.engines is not None for look in past) >= 0.9 * WINDOW
            assert not any(look.restarted for look in past)
            assert standing.since <= standing.at - judged.terms.window
            since = (standing.since - at(0)) // MINUTE
            assert not any(works(look) or look.restarted for look in day[since : index + 1])
        if works(day[index]):
            assert standing.verdict is Verdict.BUSY
        if index + 1 >= 2 * WINDOW and all(quiet(look) for look in day[index + 1 - 2 * WINDOW : index + 1]):
            assert standing.verdict is Verdict.IDLE
        if [look.engines for look in day[max(index - 2, 0) : index + 1]] == [None] * 3:
            assert standing.verdict in (Verdict.UNKNOWN, Verdict.WARMING_UP)


@settings(max_examples=60, deadline=None)
@given(DAYS, st.data())
def test_replaying_gives_the_same_with_ticks_that_come_twice_and_too_late(day: list[Look], data: st.DataObject) -> None:
    judged, standings = lived(day)
    standing: Standing | None = None
    for index, observation in enumerate(judged.seen):
        standing = advance(standing, observation, judged.terms, judged.subject, MINUTE)
        again = judged.seen[data.draw(st.integers(0, index))]
        assert advance(standing, again, judged.terms, judged.subject, MINUTE) is standing
        assert standing == standings[index]
    assert replayed(judged, judged.seen) == standings


@settings(max_examples=60, deadline=None)
@given(DAYS)
def test_ticks_without_samples_may_be_left_out(day: list[Look]) -> None:
    judged, standings = lived([*day, QUIET_LOOK])
    standing: Standing | None = None
    for observation in judged.seen:
        if observation.newest is not None:
            standing = advance(standing, observation, judged.terms, judged.subject, MINUTE)
    assert standing is not None
    assert (standing.verdict in QUIET, standing.tracks) == (standings[-1].verdict in QUIET, standings[-1].tracks)


def lived(day: list[Look]) -> tuple[Judged, list[Standing]]:
    """A lease that lived through a day, and where it stood after each tick."""
    judged = of(2, window=WINDOW * MINUTE, warm_up=timedelta(minutes=5))
    standings = []
    for look in day:
        if look.engines is None:
            standings.append(judged.silence())
        else:
            newest = judged.now + MINUTE - timedelta(seconds=look.late)
            standings.append(judged.tick(*gpus(*look.engines), newest=newest, restarted=look.restarted))
    return judged, standings


def works(look: Look) -> bool:
    return look.engines is not None and max(look.engines) > 0.02


def quiet(look: Look) -> bool:
    return look.engines is not None and not works(look) and not look.restarted
