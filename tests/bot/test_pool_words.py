"""What is said of a stop where a machine of a pool is only locked: nothing of disks that are kept and charged."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.facts import facts
from bot.notices import needs_hands
from lessor.contracts import Answer, Notice
from lessor.domain.fleet import Line, PlaceFleet
from lessor.domain.fleet_words import body, figures
from lessor.domain.ladder import Pause, Why
from lessor.domain.lease import Lease, State, Unfit
from lessor.domain.request import Place
from lessor.rendering import Renderer, slack_renderer
from tests.builders import ASKED, a_lease, a_request

NOW = ASKED + timedelta(hours=1)
CHARGED = ("kept", "charged", "price", "computing costs nothing")


@pytest.fixture
def locked() -> Lease:
    return a_lease(State.SUSPENDED, request=a_request(place=Place("machines", "pool", "", "")))


def test_before_and_after_a_stop_in_a_pool_it_is_said_that_people_are_locked_out(locked: Lease) -> None:
    values = {**facts(locked, NOW), "zone": "", "verb": "stop", "lease": locked}
    asked = slack_renderer().parts("confirm.j2", **values)
    assert asked["title"] == f"Stop `{locked.id}` ({locked.request.need}) and let nobody in meanwhile?"
    assert asked["body"] == (
        "Nobody gets in any more; what runs on the machine and its disks are left alone, and it stays yours until its "
        f"end. `/gpu start {locked.id}` lets people in again. Nothing happens unless you press the button."
    )
    answer = Answer(True, "stop", "", locked.id, locked.state.value)
    told = slack_renderer().render("idle_answer.j2", **values, answer=answer)
    locked_out = "people are locked out, and what is on the machine is left alone."
    assert f"`{locked.id}` is being stopped; {locked_out} `/gpu start {locked.id}` starts it again." in told


def test_the_notice_of_a_stop_in_a_pool_says_the_same(locked: Lease) -> None:
    pause = Pause(Why.ASKED, "U0REQUESTER", NOW)
    values = {**facts(locked, NOW), "zone": "", "lease": locked, "pause": pause, "pause_words": ""}
    left_alone = "People are locked out; what is on the machine is left alone, and it stays this lease's. Nothing "
    slack = slack_renderer().parts("paused.j2", **values)["body_kept"]
    mail = Renderer("mail", escape=str).parts("paused.j2", **values, named=str)["body"]
    for text in (slack, mail):
        assert text.startswith(left_alone)
        assert [word for word in CHARGED if word in text] == []


def test_what_does_not_run_in_a_cluster_is_told_with_the_clusters_words_and_what_it_costs() -> None:
    why = "gpu-aaaaaaaa: pod train finds no node: 1 Insufficient nvidia.com/gpu"
    here = a_request(place=Place("kubernetes", "lab", "", ""))
    lease = replace(a_lease(State.ACTIVE, request=here), unfit=Unfit(("namespace:gpu-aaaaaaaa@1",), why, NOW))
    values = {**facts(lease, NOW), "zone": "", "lease": lease}
    slack = slack_renderer().parts("unfit.j2", **values)
    mail = Renderer("mail", escape=str).parts("unfit.j2", **values, named=str)
    assert slack["title"] == f"*Not as it should be:* something that was started in `{lease.id}` ({here.need})"
    assert mail["subject"] == f"Not as it should be: {lease.id}"
    kept = f"{why}. The GPUs are kept for you and cost the same meanwhile: correct it, or release the lease."
    assert slack["body"] == mail["body"] == kept
    well = {**values, "lease": replace(lease, unfit=Unfit((), "", NOW))}
    again = f"All that was started in `{lease.id}` ({here.need}) is as it should be again"
    assert slack_renderer().parts("unfit.j2", **well) == {"title": again}
    assert not needs_hands(lease, Notice.UNFIT)
    assert needs_hands(a_lease(State.ACTIVE), Notice.UNFIT)


def test_machines_of_the_organisation_s_own_are_no_nodes() -> None:
    pool = Place("machines", "pool")
    line = Line("L4", total=8, leased=2, ownerless=0, free=4, unhealthy=0, unknown=0, reserved=2, largest=3)
    for place, words in (
        (
            pool,
            "free *4* of 8, at most 3 on one machine; leased 2, without a lease 0, unhealthy 0, unaccounted for 0, "
            "kept for the next lease 2",
        ),
        (
            Place("kubernetes", "lab"),
            "free *4* of 8, at most 3 on one node; leased 2, without a lease 0, unhealthy 0, unaccounted for 0, "
            "kept by a queue 2",
        ),
    ):
        values = {"lines": [{"model": "L4", "on_demand": False, **figures(line), "unit": ""}], "body": body(place)}
        found = PlaceFleet(place, NOW, (line,))
        said = slack_renderer().parts("fleet_place.j2", place=found, label="x", more=0, empty="", zone="UTC", **values)
        assert said["title"].endswith(f"\n• L4: {words}")
