"""Whatever was read of a cluster in any order: idle only after a whole window of whole looks that found nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.judging import advance
from lessor.domain.usage import Observation, Subject
from tests.unit.judged import MINUTE, START, at

GPUS, WINDOW = 3, 4
TERMS = IdleTerms(window=WINDOW * MINUTE, warm_up=timedelta())
SUBJECT = Subject("gpu-7k3qxa2m", GPUS, namespace="gpu-7k3qxa2m", ready_at=START)

looks = st.one_of(st.none(), st.tuples(st.integers(0, GPUS), st.integers(0, 1)))
"""One look: not whole, or what pods hold and wait for; no GPU has any series."""


def observed(number: int, look: tuple[int, int] | None) -> Observation:
    seen = Observation(SUBJECT.lease_id, at(number))
    return replace(seen, uncounted="no answer") if look is None else replace(seen, held=look[0], awaited=look[1])


@settings(max_examples=300, deadline=None)
@given(st.lists(looks, min_size=1, max_size=16))
def test_idle_is_exactly_a_window_of_whole_looks_in_which_nothing_was_held_or_awaited(
    seen: list[tuple[int, int] | None],
) -> None:
    standing = None
    for number, look in enumerate(seen, start=1):
        standing = advance(standing, observed(number, look), TERMS, SUBJECT, MINUTE)
        if standing.verdict is Verdict.IDLE:
            assert seen[max(number - WINDOW, 0) : number] == [(0, 0)] * WINDOW
            assert standing.idle_gpus == standing.gpus == GPUS
        assert standing.verdict is not Verdict.HELD
    if seen[-WINDOW - 1 :] == [(0, 0)] * (WINDOW + 1):
        assert standing is not None
        assert standing.verdict is Verdict.IDLE


@settings(max_examples=300, deadline=None)
@given(st.lists(looks, min_size=1, max_size=16))
def test_free_for_a_window_are_as_many_as_no_look_of_it_found_in_use(seen: list[tuple[int, int] | None]) -> None:
    standing = None
    for number, look in enumerate(seen, start=1):
        standing = advance(standing, observed(number, look), TERMS, SUBJECT, MINUTE)
    assert standing is not None
    last = seen[-WINDOW - 1 :]
    used = [GPUS if one is None else min(sum(one), GPUS) for one in last]
    whole = len(last) == WINDOW + 1
    assert standing.idle_gpus >= (GPUS - max(used) if whole else 0)
    recent = seen[-WINDOW:]
    most = max(GPUS if one is None else min(sum(one), GPUS) for one in recent)
    assert standing.idle_gpus <= (GPUS - most if len(recent) == WINDOW else 0)
