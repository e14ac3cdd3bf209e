"""GPUs that are promised to a namespace and held by no pod: idle once a whole window of whole looks says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import idling, unheld
from lessor.domain.figures import figures
from lessor.domain.idle import Evidence, IdleTerms, Standing, Verdict
from lessor.domain.judging import certain, changed, partly_idle
from lessor.domain.usage import Held, Observation, Subject
from tests.builders import a_lease
from tests.unit.judged import START, Judged, at, gpu, gpus, replayed, verdict

LEASE = "gpu-7k3qxa2m"
UNREAD = "cluster lab gave no answer"


def promised(count: int, **terms: object) -> Judged:
    """A namespace lease of so many GPUs, past its warm-up from the beginning."""
    terms = {"warm_up": timedelta()} | terms
    return Judged(IdleTerms(**terms), Subject(LEASE, count, namespace=LEASE, ready_at=START))  # type: ignore[arg-type]


def looks(judged: Judged, count: int, held: int, *engines: float, **changes: object) -> Standing:
    """So many ticks in which pods hold `held` GPUs, and these GPUs have series; the last standing."""
    return judged.ticks(count, *gpus(*engines), host=None, held=held, newest=None, **changes)


def test_promised_gpus_that_no_pod_holds_are_idle_after_a_whole_window() -> None:
    judged = promised(4)
    now = looks(judged, 60, 0)
    assert verdict(now) == (Verdict.UNKNOWN, at(1))
    now = looks(judged, 1, 0)
    assert verdict(now) == (Verdict.IDLE, at(1))
    assert certain(now)
    found = judged.evidence
    assert (found.gpus, found.idle_gpus, found.unheld, found.unheld_since) == (4, 4, 4, at(1))
    assert (found.covered, found.peak_engine, found.problem) == (1.0, None, "")
    assert unheld.words(found, "08:01") == "0 of 4 promised GPUs held by any pod since 08:01"
    recorded, since = figures(found), "2026-11-27T08:01:00+00:00"
    assert (recorded["unheld"], recorded["unheld_since"]) == ("4", since)
    assert recorded["pods"] == f"0 of 4 promised GPUs held by any pod since {since}"


def test_where_nobody_counts_what_pods_hold_nothing_is_known_and_nothing_idle() -> None:
    judged = promised(4)
    now = judged.ticks(300, host=None)
    assert now.verdict is Verdict.UNKNOWN
    assert (now.missed, now.problem, judged.evidence.unheld) == (300, "no samples of this time", 0)


def test_one_look_that_is_not_whole_begins_the_window_anew_and_says_why() -> None:
    judged = promised(4)
    now = looks(judged, 59, 0)
    now = judged.tick(host=None, uncounted=UNREAD)
    assert now.problem == f"no samples of this time, and what pods hold is unknown: {UNREAD}"
    now = looks(judged, 60, 0)
    assert now.verdict is Verdict.UNKNOWN
    now = looks(judged, 1, 0)
    assert verdict(now) == (Verdict.IDLE, at(61))


def test_an_idle_lease_that_is_not_read_any_more_is_unknown_at_once() -> None:
    judged = promised(4)
    now = looks(judged, 90, 0)
    now = judged.tick(host=None, uncounted=UNREAD)
    assert now.verdict is Verdict.UNKNOWN
    assert (now.idle_gpus, judged.evidence.unheld) == (0, 0)


def test_ticks_that_were_left_out_are_no_looks_beyond_a_short_gap() -> None:
    judged = promised(4)
    now = looks(judged, 59, 0)
    judged.now += timedelta(minutes=3)
    now = looks(judged, 60, 0)
    assert now.verdict is Verdict.UNKNOWN
    now = looks(judged, 1, 0)
    assert verdict(now) == (Verdict.IDLE, at(63))


def test_a_silent_source_may_know_of_work_that_the_cluster_does_not() -> None:
    judged = promised(4)
    now = looks(judged, 200, 0, silent=("prometheus",), problems=("prometheus gave no answer",))
    assert now.verdict is Verdict.UNKNOWN
    assert now.missed == 200


def test_a_new_lease_has_its_warm_up() -> None:
    judged = promised(4, warm_up=timedelta(minutes=90))
    now = looks(judged, 89, 0)
    assert now.verdict is Verdict.WARMING_UP
    now = looks(judged, 1, 0)
    assert now.verdict is Verdict.IDLE


def test_pods_that_come_and_go_are_a_sign_of_life_for_a_window() -> None:
    judged = promised(4)
    now = looks(judged, 100, 0)
    now = looks(judged, 1, 2)
    assert now.verdict is Verdict.UNKNOWN
    assert now.problem == "no samples of this time"
    now = looks(judged, 59, 0)
    assert now.verdict is Verdict.BUSY
    assert (now.active_at, now.active_kind) == (at(101), "pod")
    now = looks(judged, 1, 0)
    assert verdict(now) == (Verdict.IDLE, at(101))


def test_work_that_ended_with_its_pods_leaves_no_gpus_that_are_missed() -> None:
    judged = promised(4)
    now = looks(judged, 30, 4, 0.9, 0.9, 0.9, 0.9)
    now = looks(judged, 1, 0)
    assert now.problem == ""
    assert (now.verdict, now.gpus, now.tracks) == (Verdict.BUSY, 4, ())
    now = looks(judged, 59, 0)
    assert verdict(now) == (Verdict.IDLE, at(30))


def test_held_gpus_without_series_are_unknown_and_the_others_are_not_held_either() -> None:
    judged = promised(4)
    now = looks(judged, 100, 3)
    assert now.verdict is Verdict.UNKNOWN
    assert (now.idle_gpus, judged.evidence.unheld) == (1, 1)


def test_partial_use_is_told_as_partial_and_stops_nothing() -> None:
    judged = promised(4)
    now = looks(judged, 100, 1, 0.9)
    assert now.verdict is Verdict.BUSY
    assert (now.problem, partly_idle(now), now.gpus) == ("", 3, 4)
    assert unheld.words(judged.evidence, "08:01") == "1 of 4 promised GPUs held by any pod since 08:01"


def test_partial_use_of_which_nothing_else_is_known_is_told_too_and_stops_nothing() -> None:
    judged = promised(4)
    before = looks(judged, 60, 1)
    after = looks(judged, 1, 1)
    assert (after.verdict, partly_idle(before), partly_idle(after)) == (Verdict.UNKNOWN, 0, 3)
    assert changed(before, after)
    told = idling.metered(a_lease(), judged.evidence, judged.terms, judged.now)
    assert ([event.type for event in told.events], told.lease.idle) == (["partly-idle"], None)
    assert told.events[0].data["pods"].startswith("1 of 4 promised GPUs held by any pod since ")


def test_of_gpus_that_pods_wait_for_no_part_is_called_idle() -> None:
    judged = promised(4)
    assert partly_idle(looks(judged, 100, 0, awaited=1)) == 0
    assert idling.metered(a_lease(), judged.evidence, judged.terms, judged.now).events == ()


def test_a_part_that_was_told_is_told_again_only_after_all_were_used() -> None:
    judged = promised(4)
    told = looks(judged, 100, 1, 0.9)
    assert partly_idle(told) == 3
    lost = judged.tick(*gpus(0.9), host=None, uncounted=UNREAD)
    assert (partly_idle(lost), changed(told, lost)) == (0, False)
    again = looks(judged, 61, 1, 0.9)
    assert (partly_idle(again), changed(told, again)) == (3, False)
    used = looks(judged, 1, 4, 0.9, 0.9, 0.9, 0.9)
    assert (partly_idle(used), changed(told, used)) == (0, True)


def test_what_is_held_and_does_nothing_is_idle_together_with_what_is_not_held() -> None:
    judged = promised(4)
    now = looks(judged, 100, 1, 0.0)
    assert verdict(now) == (Verdict.IDLE, at(1))
    found = judged.evidence
    assert (found.idle_gpus, found.unheld, found.peak_engine) == (4, 3, 0.0)


def test_gpus_that_pods_wait_for_are_no_waste_of_the_owners() -> None:
    judged = promised(4)
    now = looks(judged, 300, 0, awaited=1)
    assert now.verdict is Verdict.UNKNOWN
    assert (now.problem, now.missed) == ("", 0)
    said = unheld.words(judged.evidence, "08:01")
    assert said == "1 of 4 promised GPUs held or waited for by any pod since 08:01; pods wait for 1 now"


def test_more_gpus_with_series_than_pods_hold_are_no_free_ones() -> None:
    """Pods end between the look and the query; what was seen then is there."""
    judged = promised(4)
    now = looks(judged, 100, 0, 0.9, 0.9)
    assert now.verdict is Verdict.BUSY
    assert judged.evidence.unheld == 2


def test_the_share_that_has_to_work_counts_those_that_are_not_held() -> None:
    judged = promised(4, fraction=0.5)
    now = looks(judged, 100, 1, 0.9)
    assert verdict(now) == (Verdict.IDLE, at(1))


def test_the_record_replays_to_the_same() -> None:
    judged = promised(4)
    now = looks(judged, 70, 2, 0.9, 0.0)
    now = judged.tick(host=None, uncounted=UNREAD)
    now = looks(judged, 70, 0)
    assert replayed(judged, judged.seen)[-1] == now


@pytest.mark.parametrize(
    ("held", "seen"),
    [
        (None, Observation(LEASE, START)),
        (Held(2, 1), Observation(LEASE, START, held=2, awaited=1)),
        (Held(problem=UNREAD), Observation(LEASE, START, uncounted=UNREAD)),
    ],
)
def test_what_the_place_says_becomes_part_of_what_was_seen(held: Held | None, seen: Observation) -> None:
    assert unheld.counted(Observation(LEASE, START), held) == seen


def test_of_gpus_that_are_all_held_there_is_nothing_to_say() -> None:
    whole = Evidence(Verdict.BUSY, START, at(60), gpus=4)
    assert (unheld.held_most(whole), unheld.words(whole, "08:00"), figures(whole).get("unheld")) == ("", "", None)
    assert unheld.held_most(replace(whole, unheld=3, unheld_since=START)) == "1 of 4"


def test_one_gpu_of_a_namespace_that_works_is_busy() -> None:
    judged = promised(1)
    now = judged.ticks(100, gpu(0.9), host=None, held=1)
    assert now.verdict is Verdict.BUSY
