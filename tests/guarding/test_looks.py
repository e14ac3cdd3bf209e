"""What the guard does in one look and over several: told first, looked at again, stopped, told after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lessor.domain.lease import Event
from lessor.domain.resource import Condition
from lessor.domain.states import State
from tests.builders import a_lease
from tests.guarding.scene import (
    DOWN,
    HOUR,
    LEASE,
    MINUTE,
    NOW,
    FakeChannel,
    Scene,
    a_lease_there,
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


# -- law 4: told first, with the time ---------------------------------------------------------------------------------


async def test_it_is_told_then_stopped_then_told_again(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    first = await scene.look()
    assert scene.told() == [f"late {LEASE}"]
    warning = scene.channels[0].got[0]
    assert (warning.stops_at, warning.ends, warning.owner) == (NOW + 30 * MINUTE, NOW - 3 * HOUR, "U0REQUESTER")
    assert (scene.grounds.stopped, first.acted, first.trouble) == ([], (), False)

    scene.pass_time(29 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == []

    scene.pass_time(1 * MINUTE)
    last = await scene.look()
    assert scene.grounds.stopped == [LEASE]
    assert last.acted[0].words == (
        "its end has passed by 3 h 30 min; it was stopped at 2026-11-28 12:30 UTC and seen stopped"
    )
    assert scene.told() == [f"late {LEASE}", f"stopped {LEASE}"]
    assert not last.trouble


async def test_a_machine_that_is_late_by_little_is_told_of_early(scene: Scene) -> None:
    scene.grounds.put(a_lease_there(ends=NOW - 15 * MINUTE))
    await scene.look()
    assert scene.channels[0].got[0].stops_at == NOW + 105 * MINUTE


async def test_where_every_channel_is_down_it_is_stopped_all_the_same_and_told_later(scene: Scene) -> None:
    scene.channels[0].works = False
    scene.grounds.put(a_lease_there())
    first = await scene.look()
    assert first.untold == (f"late {LEASE}: slack: down",)
    assert first.trouble
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]
    assert scene.told() == []

    scene.restart()
    scene.channels[0].works = True
    scene.pass_time(5 * MINUTE)
    await scene.look()
    assert scene.told() == [f"stopped {LEASE}"]
    assert scene.channels[0].got[0].why == (
        "its end has passed by 3 h 30 min; it was stopped at 2026-11-28 12:30 UTC and seen stopped"
    )


async def test_a_channel_that_comes_back_at_the_last_moment_gives_people_their_notice(scene: Scene) -> None:
    scene.channels[0].works = False
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(30 * MINUTE)
    scene.channels[0].works = True
    await scene.look()
    assert scene.grounds.stopped == []
    assert scene.channels[0].got[0].stops_at == NOW + 60 * MINUTE
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_every_channel_is_tried_and_a_broken_one_stops_no_other(scene: Scene) -> None:
    scene.channels = (FakeChannel(broken=True), FakeChannel("email"), FakeChannel("webhook", works=False))
    scene.grounds.put(a_lease_there())
    report = await scene.look()
    assert scene.told(1) == [f"late {LEASE}"]
    assert report.untold == ()
    scene.channels[2].works = True
    scene.pass_time(5 * MINUTE)
    await scene.look()
    assert scene.told(2) == [f"late {LEASE}"]
    assert scene.channels[2].got[0].stops_at == NOW + 30 * MINUTE


async def test_whoever_starts_it_again_is_told_again_before_the_next_stop(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(30 * MINUTE)
    await scene.look()
    scene.grounds.put(a_lease_there())
    scene.pass_time(5 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]
    assert scene.told() == [f"late {LEASE}", f"stopped {LEASE}", f"late {LEASE}"]


# -- law 2: looked at again, before and after -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (a_lease_there(ends=NOW + 5 * HOUR), "a second look found it fine; nothing was done"),
        (a_lease_there(condition=Condition.STOPPED), "a second look found it resting; nothing was done"),
        (
            a_lease_there(ends=None, written="soon"),
            "a second look found it unknown: its end cannot be read: 'soon'; nothing was done",
        ),
    ],
)
async def test_what_changed_meanwhile_is_left_alone(scene: Scene, now: object, words: str) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(30 * MINUTE)
    scene.grounds.before_stop = [now]  # type: ignore[list-item]
    report = await scene.look()
    assert scene.grounds.stopped == []
    assert [(one.spared, one.words) for one in report.acted] == [(True, words)]
    assert scene.told() == [f"late {LEASE}"]


async def test_a_stop_is_believed_only_when_it_is_seen(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    scene.grounds.stubborn.add(LEASE)
    await scene.look()
    scene.pass_time(30 * MINUTE)
    report = await scene.look()
    assert [(one.stopped, one.words) for one in report.acted] == [
        (False, "its place said that it was stopped, and shows it running still")
    ]
    assert scene.told() == [f"late {LEASE}", f"stop-failed {LEASE}"]
    assert report.trouble
    scene.pass_time(5 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE, LEASE]
    assert scene.told() == [f"late {LEASE}", f"stop-failed {LEASE}"]


# -- the ledger, if it answers ----------------------------------------------------------------------------------------


async def test_what_the_ledger_says_is_not_over_is_told_each_day_and_never_stopped(scene: Scene) -> None:
    later = replace(a_lease(), id=LEASE, ends_at=NOW + 100 * HOUR)
    scene.grounds.ledger = {LEASE: later}
    scene.grounds.put(a_lease_there())
    for _ in range(3):
        report = await scene.look()
        scene.pass_time(8 * HOUR)
    assert scene.grounds.stopped == []
    assert scene.told() == [f"disputed {LEASE}", f"disputed {LEASE}"]
    assert report.findings[0].why == "the ledger says that it is active and ends 2026-12-02 16:00 UTC"


async def test_a_ledger_that_falls_silent_is_believed_what_it_said_before(scene: Scene) -> None:
    scene.grounds.ledger = {LEASE: replace(a_lease(), id=LEASE, ends_at=NOW + 2 * HOUR)}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.grounds.ledger = None
    scene.restart()
    scene.pass_time(HOUR)
    report = await scene.look()
    assert report.findings[0].why == "the ledger is silent, and said before that it ends 2026-11-28 14:00 UTC"
    scene.pass_time(2 * HOUR)
    await scene.look()
    assert scene.grounds.stopped == []
    assert scene.told() == [f"disputed {LEASE}", f"late {LEASE}"]
    scene.pass_time(HOUR)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_what_a_ledger_said_before_holds_nothing_back_once_it_has_said_otherwise(scene: Scene) -> None:
    runs_on = replace(a_lease(), id=LEASE, ends_at=NOW + 20 * HOUR)
    scene.grounds.ledger = {LEASE: runs_on}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.grounds.ledger = {LEASE: replace(runs_on, state=State.ENDING)}
    await scene.look()
    scene.grounds.ledger = None
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_a_lease_that_the_ledger_does_not_know_is_never_stopped(scene: Scene) -> None:
    scene.grounds.ledger = {}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(HOUR)
    await scene.look()
    assert (scene.grounds.stopped, scene.told()) == ([], [f"disputed {LEASE}"])


async def test_a_lease_that_the_ledger_did_not_know_is_not_stopped_once_it_falls_silent(scene: Scene) -> None:
    scene.grounds.ledger = {}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.grounds.ledger = None
    scene.restart()
    for _ in range(3):
        scene.pass_time(HOUR)
        report = await scene.look()
    assert report.findings[0].why == "the ledger is silent, and did not know this lease before"
    assert (scene.grounds.stopped, scene.told()) == ([], [f"disputed {LEASE}"])
    scene.grounds.ledger = {LEASE: replace(a_lease(), id=LEASE, ends_at=NOW - 3 * HOUR)}
    await scene.look()
    scene.grounds.ledger = None
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_the_ledger_is_asked_again_right_before_the_stop(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(30 * MINUTE)
    over = replace(a_lease(), id=LEASE, ends_at=NOW - 3 * HOUR)
    answers = [{LEASE: over}, {LEASE: replace(over, ends_at=NOW + HOUR)}]
    scene.grounds.leases = lambda ids: answers.pop(0)  # type: ignore[method-assign]
    report = await scene.look()
    assert scene.grounds.stopped == []
    assert report.acted[0].words.startswith("a second look found it disputed")


async def test_a_damaged_record_holds_back_its_own_lease_and_no_other(scene: Scene) -> None:
    over = replace(a_lease(), ends_at=NOW - 3 * HOUR)
    scene.grounds.ledger = {LEASE: replace(over, id=LEASE), "gpu-00000001": replace(over, id="gpu-00000001")}
    scene.grounds.damaged = {LEASE}
    scene.grounds.put(a_lease_there(), a_lease_there("gpu-00000001"))
    await scene.look()
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == ["gpu-00000001"]
    assert f"disputed {LEASE}" in scene.told()


async def test_a_stop_goes_on_record_where_the_ledger_answers(scene: Scene) -> None:
    scene.grounds.ledger = {LEASE: replace(a_lease(), id=LEASE, ends_at=NOW - 3 * HOUR)}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(30 * MINUTE)
    await scene.look()
    data = {"place": "aws/research/us-east-1", "ends": "2026-11-28T09:00:00+00:00"}
    assert scene.grounds.noted == [(LEASE, Event("guard-stopped", NOW + 30 * MINUTE, "lessor", data))]


async def test_a_ledger_that_is_down_is_said_and_holds_nothing_up(scene: Scene) -> None:
    scene.grounds.put(a_lease_there(), a_lease_there("gpu-00000001", ends=NOW + HOUR))
    report = await scene.look()
    assert report.ledger == DOWN
    assert scene.grounds.asked == [(LEASE,)]
    assert not report.trouble
