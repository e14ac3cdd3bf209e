"""What has no lease is told once a day; and what the guard remembers of what it told."""

from __future__ import annotations

import errno
import fcntl
import json
from dataclasses import replace
from pathlib import Path

import pytest

from lessor.domain.guarding import Stand, Strays
from lessor.guarding.notebook import BusyError, Notebook
from tests.guarding.scene import (
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
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


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


async def test_what_turns_up_later_in_the_day_is_told_the_same_day(scene: Scene) -> None:
    await scene.look()
    scene.grounds.strays = {"research": (a_stray(),)}
    scene.pass_time(5 * MINUTE)
    await scene.look()
    await scene.look()
    assert scene.told() == ["unleased research"]


async def test_a_place_that_was_not_counted_is_counted_again_the_same_day(scene: Scene) -> None:
    scene.grounds.problems["research"] = ("throttled",)
    await scene.look()
    del scene.grounds.problems["research"]
    scene.grounds.strays = {"research": (a_stray(),)}
    await scene.look()
    assert scene.told() == ["unleased research"]


async def test_a_place_that_never_lets_itself_be_counted_is_told_of_as_unread(scene: Scene) -> None:
    forbidden = Strays(problems=("pods is forbidden",))
    scene.grounds.unleased = lambda place: forbidden if place == LAB else Strays()  # type: ignore[method-assign]
    for _ in range(3):
        report = await scene.look()
        scene.pass_time(5 * MINUTE)
        assert report.trouble
    assert scene.told() == ["unread lab"]
    assert scene.channels[0].got[0].lines == ("what has no lease there is not known: pods is forbidden",)


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


async def test_what_was_forgotten_is_told_and_then_over(scene: Scene) -> None:
    await scene.look()
    scene.notebook.path.write_text("{")
    scene.channels[0].works = False
    await scene.look()
    scene.channels[0].works = True
    scene.pass_time(5 * MINUTE)
    assert (await scene.look()).memory
    scene.pass_time(24 * HOUR)
    assert ((await scene.look()).memory, scene.told()) == ("", ["forgotten guard"])


async def test_a_disk_that_was_full_is_no_problem_any_more_once_it_takes_what_is_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, __: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        assert "No space left on device" in (await scene.look()).memory
    await scene.look()
    scene.pass_time(24 * HOUR)
    assert ((await scene.look()).memory, scene.told()) == ("", ["forgotten guard"])


async def test_a_file_system_without_locks_keeps_nobody_from_looking(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_: int, __: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    scene.grounds.put(a_lease_there())
    await scene.look()
    assert scene.told() == [f"late {LEASE}"]


async def test_what_was_seen_by_a_clock_that_ran_ahead_holds_nothing_up(scene: Scene) -> None:
    scene.grounds.put(a_lease_there())
    scene.pass_time(24 * 365 * HOUR)
    await scene.look()
    scene.pass_time(-24 * 365 * HOUR)
    await scene.look()
    assert (scene.told(), scene.grounds.stopped) == ([f"late {LEASE}"] * 2, [])
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
