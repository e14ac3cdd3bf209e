"""When stops for being idle are held back everywhere, and when not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import braking
from lessor.domain.braking import BrakeTerms
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.ladder import Brake, Consent, Pause, Snooze, Spared, Why
from lessor.domain.lease import Lease
from tests.builders import READY, a_lease

HOUR = timedelta(hours=1)
TERMS = IdleTerms()
IDLE = Standing("gpu-7k3qxa2m", READY + HOUR, Verdict.IDLE, READY)
FEW = BrakeTerms(share=0.2, least=5)
SNOOZED = Snooze(READY + timedelta(hours=9), "U0REQUESTER", READY, "training")


@pytest.mark.parametrize(
    "brake",
    [
        Brake(True, "U0ADMIN", READY, "racks, by lunch: at 12:00 UTC"),
        Brake(True, "lessor", READY, "12 of 40 leases\nfell idle"),
        Brake(True, "U0ADMIN", None, ""),
    ],
)
def test_what_the_brake_says_in_words_can_be_read_back(brake: Brake) -> None:
    assert braking.heard(braking.spelled(brake)) == brake


@pytest.mark.parametrize("words", ["", "prometheus does not answer", "the brake is on: 12 of 40 leases fell idle"])
def test_other_words_tell_of_no_brake(words: str) -> None:
    assert braking.heard(words) is None


@pytest.mark.parametrize(("fleet", "most"), [(0, 4), (10, 4), (24, 4), (25, 5), (50, 10), (54, 10), (2_000, 400)])
def test_the_share_of_the_fleet_may_stop_in_an_hour_and_always_fewer_than_the_least(fleet: int, most: int) -> None:
    assert FEW.most(fleet) == most


def test_an_idle_lease_would_stop_after_its_terms() -> None:
    assert braking.stops_at(a_lease(), IDLE, TERMS) == READY + timedelta(hours=2)
    held = replace(IDLE, verdict=Verdict.HELD)
    assert braking.stops_at(a_lease(), held, TERMS) == READY + timedelta(hours=24)
    assert braking.stops_at(replace(a_lease(), snooze=SNOOZED), IDLE, TERMS) == READY + timedelta(hours=9)


@pytest.mark.parametrize(
    "lease",
    [
        replace(a_lease(), spared=Spared("U0ADMIN", READY, "it serves")),
        replace(a_lease(), spared=Spared("U0ADMIN", READY, "it serves", IDLE.at + timedelta(seconds=1))),
        replace(a_lease(), pause=Pause(Why.ASKED, "U0REQUESTER", READY)),
        a_lease(stoppable=False),
        replace(a_lease(), volatile=True),
    ],
)
def test_what_is_never_stopped_does_not_count(lease: Lease) -> None:
    assert braking.stops_at(lease, IDLE, TERMS) is None


def test_only_idle_leases_that_are_stopped_by_their_terms_count() -> None:
    agreed = replace(a_lease(), volatile=True, consent=Consent("U0REQUESTER", READY))
    assert braking.stops_at(agreed, IDLE, TERMS) == READY + timedelta(hours=2)
    no_longer = replace(a_lease(), spared=Spared("U0ADMIN", READY, "it served", IDLE.at))
    assert braking.stops_at(no_longer, IDLE, TERMS) == READY + timedelta(hours=2)
    assert braking.stops_at(a_lease(), IDLE, replace(TERMS, stops=False)) is None
    for verdict in (Verdict.BUSY, Verdict.UNKNOWN, Verdict.WARMING_UP):
        assert braking.stops_at(a_lease(), replace(IDLE, verdict=verdict), TERMS) is None


def test_more_than_the_share_within_an_hour_is_too_much() -> None:
    soon, late = READY + HOUR, READY + HOUR + timedelta(seconds=1)
    assert braking.too_many([soon] * 5, 25, FEW, Brake(), READY) == ""
    assert braking.too_many([soon] * 5 + [late, None], 25, FEW, Brake(), READY) == ""
    assert braking.too_many([soon] * 6, 25, FEW, Brake(), READY) == (
        "6 of 25 leases would be stopped as idle within an hour; nothing is stopped, an administrator has to look at "
        "this; `lessor brake off REASON` takes it off"
    )
    assert braking.too_many([soon] * 4, 4, FEW, Brake(), READY) == ""


def test_a_person_who_took_the_brake_off_is_believed_for_a_day() -> None:
    off = Brake(False, "U0ADMIN", READY, "they are idle indeed")
    many = [READY] * 20
    assert braking.too_many(many, 20, FEW, off, READY + timedelta(hours=23)) == ""
    assert braking.too_many(many, 20, FEW, off, READY + timedelta(hours=24)) != ""
    assert braking.too_many(many, 20, FEW, Brake(True, "U0ADMIN", READY, "wait"), READY) != ""


def before(verdict: Verdict = Verdict.BUSY, count: int = 10) -> dict[str, Standing]:
    return {f"gpu-{n}": replace(IDLE, lease_id=f"gpu-{n}", verdict=verdict) for n in range(count)}


def after(*verdicts: Verdict) -> list[Standing]:
    return [replace(IDLE, lease_id=f"gpu-{n}", verdict=verdict) for n, verdict in enumerate(verdicts)]


def test_more_than_half_that_go_quiet_in_one_tick_are_not_believed() -> None:
    half = after(*[Verdict.IDLE] * 5, *[Verdict.BUSY] * 5)
    assert braking.all_at_once(before(), half, (), FEW) == ""
    most = after(*[Verdict.UNKNOWN] * 3, *[Verdict.IDLE] * 3, *[Verdict.BUSY] * 4)
    assert braking.all_at_once(before(), most, (), FEW) == (
        "6 of 10 leases that worked went quiet in one tick; nothing is stopped, an administrator has to look at this; "
        "`lessor brake off REASON` takes it off"
    )


def test_a_few_and_those_that_did_not_work_before_are_believed() -> None:
    assert braking.all_at_once(before(count=4), after(*[Verdict.IDLE] * 4), (), FEW) == ""
    assert braking.all_at_once(before(Verdict.WARMING_UP), after(*[Verdict.IDLE] * 10), (), FEW) == ""
    assert braking.all_at_once(before(Verdict.IDLE), after(*[Verdict.UNKNOWN] * 10), (), FEW) == ""
    assert braking.all_at_once({}, after(*[Verdict.IDLE] * 10), (), FEW) == ""


def test_leases_that_ended_and_leases_of_a_silent_source_are_left_out() -> None:
    assert braking.all_at_once(before(), after(*[Verdict.IDLE] * 4), (), FEW) == ""
    silenced = [f"gpu-{n}" for n in range(10)]
    assert braking.all_at_once(before(), after(*[Verdict.UNKNOWN] * 10), silenced, FEW) == ""
