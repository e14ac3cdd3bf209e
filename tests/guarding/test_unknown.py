"""What is unknown, not ours or in the way of others is left alone and told; and the brake."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessor.domain.guarding import Dated
from lessor.domain.resource import Condition
from lessor.ports import ProviderError
from tests.guarding.scene import (
    HOUR,
    LAB,
    LEASE,
    MINUTE,
    NOW,
    Scene,
    a_lease_there,
    refusal,
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


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


def fine(number: int) -> Dated:
    return a_lease_there(f"gpu-1000000{number}", ends=NOW + 100 * HOUR)
