"""What the guard does in one look and over several, law by law, with everything around it in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lessor.domain.guarding import Stand
from lessor.domain.resource import Condition
from lessor.guarding.notebook import BusyError, Notebook
from lessor.ports import ProviderError
from tests.builders import a_lease
from tests.guarding.scene import (
    DOWN,
    HOUR,
    LAB,
    LEASE,
    MINUTE,
    NOW,
    RESEARCH,
    FakeChannel,
    Scene,
    a_lease_there,
    a_stray,
    refusal,
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


async def test_a_lease_that_the_ledger_does_not_know_is_never_stopped(scene: Scene) -> None:
    scene.grounds.ledger = {}
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.pass_time(HOUR)
    await scene.look()
    assert (scene.grounds.stopped, scene.told()) == ([], [f"disputed {LEASE}"])


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


async def test_a_ledger_that_is_down_is_said_and_holds_nothing_up(scene: Scene) -> None:
    scene.grounds.put(a_lease_there(), a_lease_there("gpu-00000001", ends=NOW + HOUR))
    report = await scene.look()
    assert report.ledger == DOWN
    assert scene.grounds.asked == [(LEASE,)]
    assert not report.trouble


# -- law 1, 3 and 11: unknown, not ours, and one bad member -----------------------------------------------------------


async def test_what_is_unknown_is_told_by_place_and_never_stopped(scene: Scene) -> None:
    scene.grounds.put(
        a_lease_there(ends=None, written="31.12."),
        a_lease_there("gpu-00000001", ends=None),
        a_lease_there("gpu-00000002", condition=Condition.UNKNOWN),
    )
    for _ in range(4):
        await scene.look()
        scene.pass_time(HOUR)
    assert (scene.grounds.stopped, scene.told()) == ([], ["unknown research"])
    assert scene.channels[0].got[0].lines == (
        f"{LEASE} (g5.xlarge in us-east-1): its end cannot be read: '31.12.'",
        "gpu-00000001 (g5.xlarge in us-east-1): no end stands on it",
    )


async def test_a_spot_machine_is_told_of_each_day_and_never_touched(scene: Scene) -> None:
    scene.grounds.put(a_lease_there(fixed="i-1 is a spot machine, which cannot be stopped, only ended"))
    for _ in range(5):
        await scene.look()
        scene.pass_time(12 * HOUR)
    assert (scene.grounds.stopped, scene.told()) == ([], [f"fixed {LEASE}"] * 3)


async def test_one_that_fails_holds_up_no_other(scene: Scene) -> None:
    scene.grounds.put(a_lease_there(), a_lease_there("gpu-00000001"), *map(fine, range(4)))
    scene.grounds.refusals[LEASE] = refusal("EC2 denied it")
    scene.grounds.problems["lab"] = ("cluster lab does not answer",)
    await scene.look()
    scene.pass_time(30 * MINUTE)
    report = await scene.look()
    assert {one.finding.dated.lease: (one.stopped, one.words) for one in report.acted} == {
        LEASE: (False, "EC2 denied it"),
        "gpu-00000001": (
            True,
            "its end has passed by 3 h 30 min; it was stopped at 2026-11-28 12:30 UTC and seen stopped",
        ),
    }
    assert report.trouble


async def test_a_place_that_raises_what_nobody_thought_of_is_unread(scene: Scene) -> None:
    def broken(place: object) -> object:
        raise KeyError("instances") if place == LAB else ProviderError("never raised")

    scene.grounds.dated = broken  # type: ignore[method-assign, assignment]
    report = await scene.look()
    assert [one.problems for one in report.places] == [
        ("reading aws/research failed (ProviderError)",),
        ("reading kubernetes/lab failed (KeyError)",),
    ]


async def test_a_place_that_stays_unread_is_told_of_and_what_is_known_of_it_is_kept(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.grounds.problems["research"] = ("us-east-1 is throttled",)
    for _ in range(2):
        scene.pass_time(5 * MINUTE)
        await scene.look()
    assert scene.told() == [f"late {LEASE}"]
    scene.pass_time(20 * MINUTE)
    await scene.look()
    assert scene.told() == [f"late {LEASE}", "unread research"]
    del scene.grounds.problems["research"]
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


# -- law 5: the brake -------------------------------------------------------------------------------------------------


async def test_the_brake_holds_all_of_them_until_somebody_says_so(scene: Scene) -> None:
    scene.grounds.put(*(a_lease_there(f"gpu-0000000{n}") for n in range(4)))
    await scene.look()
    scene.pass_time(30 * MINUTE)
    report = await scene.look()
    assert report.brake == (
        "4 of 4 leases that run would be stopped within 1 h, and 2 at most may be; none was stopped"
    )
    assert (scene.grounds.stopped, report.trouble) == ([], True)
    assert scene.told()[-1] == "brake guard"
    assert scene.channels[0].got[-1].lines[0] == "gpu-00000000 (g5.xlarge in us-east-1), ended 2026-11-28 09:00 UTC"
    await scene.look(despite_brake=True)
    assert sorted(scene.grounds.stopped) == [f"gpu-0000000{n}" for n in range(4)]


async def test_a_few_at_a_time_do_not_get_round_the_brake(scene: Scene) -> None:
    for pair in range(3):
        scene.grounds.put(*(a_lease_there(f"gpu-0000000{2 * pair + n}") for n in range(2)))
        await scene.look()
        scene.pass_time(30 * MINUTE)
    assert scene.grounds.stopped == ["gpu-00000000", "gpu-00000001"]


def fine(number: int) -> object:
    return a_lease_there(f"gpu-1000000{number}", ends=NOW + 100 * HOUR)


# -- what nobody asked for --------------------------------------------------------------------------------------------


async def test_what_has_no_lease_is_told_once_a_day_for_each_place_and_never_stopped(scene: Scene) -> None:
    scene.grounds.strays = {"research": (a_stray(), a_stray("i-8")), "lab": (a_stray("default/notebook", LAB),)}
    for _ in range(5):
        await scene.look()
        scene.pass_time(6 * HOUR)
    assert scene.told() == ["unleased research", "unleased lab"] * 2
    assert scene.channels[0].got[0].lines[0] == (
        "i-9: p4d.24xlarge (8 x A100-40GB) in us-east-1a, since 2026-11-27 10:00 UTC (1 d 2 h), alex, 32.77 USD an hour"
    )
    assert scene.grounds.stopped == []


async def test_what_nobody_knows_of_it_is_said(scene: Scene) -> None:
    scene.grounds.strays = {"research": (replace(a_stray(), since=None, who="", hourly=None),)}
    await scene.look()
    assert scene.channels[0].got[0].lines == (
        "i-9: p4d.24xlarge (8 x A100-40GB) in us-east-1a, nobody knows since when, nobody knows whose, "
        "at an unknown price",
    )


async def test_a_place_that_was_not_counted_is_counted_again_the_same_day(scene: Scene) -> None:
    scene.grounds.problems["research"] = ("throttled",)
    await scene.look()
    del scene.grounds.problems["research"]
    scene.grounds.strays = {"research": (a_stray(),)}
    await scene.look()
    assert scene.told() == ["unleased research"]


# -- what it remembers ------------------------------------------------------------------------------------------------


async def test_a_restart_neither_repeats_nor_forgets(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    scene.grounds.strays = {"research": (a_stray(),)}
    await scene.look()
    heard = scene.told()
    scene.channels = (FakeChannel(),)
    scene.restart()
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert heard == ["unleased research", f"late {LEASE}"]
    assert scene.grounds.stopped == [LEASE]
    assert "unleased research" not in scene.told()


@pytest.mark.parametrize("content", ["{half", "[]", '{"version": 9}', json.dumps({"version": 1, "overdue": 7})])
async def test_a_broken_file_is_moved_aside_and_said_and_everybody_gets_their_notice_again(
    scene: Scene, content: str
) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    scene.notebook.path.write_text(content)
    scene.restart()
    scene.pass_time(30 * MINUTE)
    report = await scene.look()
    assert scene.grounds.stopped == []
    aside = "guard.json.broken-20261128T123000"
    assert (scene.folder / aside).read_text() == content
    assert f"was moved to {aside}" in report.memory
    assert "forgotten guard" in scene.told()
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_a_folder_that_cannot_be_written_is_said_and_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    scene = Scene(tmp_path / "data")
    scene.grounds.put(a_lease_there())
    report = await scene.look()
    assert "cannot be written" in report.memory
    scene.pass_time(30 * MINUTE)
    await scene.look()
    assert scene.grounds.stopped == [LEASE]


async def test_a_dry_run_says_what_would_be_done_and_changes_nothing(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    await scene.look()
    before = scene.notebook.path.read_text()
    scene.pass_time(30 * MINUTE)
    report = await scene.look(dry=True)
    assert [one.stand for one in report.findings] == [Stand.DUE]
    assert (scene.grounds.stopped, scene.told()) == ([], [f"late {LEASE}"])
    assert scene.notebook.path.read_text() == before


async def test_two_guards_do_not_work_with_the_same_file_at_once(scene: Scene) -> None:
    other = Notebook(scene.notebook.path, lambda: NOW)
    with other.held(), pytest.raises(BusyError, match="another guard is looking right now"):
        await scene.look()
    assert RESEARCH in scene.grounds.places
    await scene.look()
