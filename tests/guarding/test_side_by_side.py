"""Several stops at once, each with the ledger's own word and on record; and one that takes its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier
from threading import Event as Signal

import pytest

from lessor.domain.guarding import GuardTerms
from lessor.domain.lease import Event, Lease
from lessor.domain.request import Place
from lessor.domain.resource import Condition
from lessor.guarding import stopping
from lessor.ports import Heartbeat
from tests.builders import a_lease
from tests.guarding.scene import HOUR, LAB, LEASE, MINUTE, NOW, Scene, a_lease_there

OTHER = "gpu-00000001"
SECONDS = 10
"""How long one waits for the other; nothing waits so long unless the other never comes."""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Two leases that are late, and told of."""
    made = Scene(tmp_path)
    over = replace(a_lease(), ends_at=NOW - 3 * HOUR)
    made.grounds.ledger = {one: replace(over, id=one) for one in (LEASE, OTHER)}
    made.grounds.put(a_lease_there(), a_lease_there(OTHER))
    return made


async def test_what_was_extended_at_the_last_moment_is_left_alone_however_many_are_asked_about(scene: Scene) -> None:
    await scene.look()
    scene.pass_time(30 * MINUTE)
    meet, together = Barrier(2), scene.grounds.leases
    extended = {one: replace(a_lease(), id=one, ends_at=NOW + 9 * HOUR) for one in (LEASE, OTHER)}

    def leases(ids: Sequence[str]) -> Mapping[str, Lease | None]:
        if len(ids) > 1:
            return together(ids)
        meet.wait(SECONDS)
        return {one: extended[one] for one in ids}

    scene.grounds.leases = leases  # type: ignore[method-assign]
    report = await scene.look()
    assert scene.grounds.stopped == []
    assert all(one.spared for one in report.acted)


async def test_each_of_several_stops_goes_on_record(scene: Scene) -> None:
    await scene.look()
    scene.pass_time(30 * MINUTE)
    meet, note = Barrier(2), scene.grounds.note

    def noted(lease_id: str, event: Event) -> None:
        meet.wait(SECONDS)
        note(lease_id, event)

    scene.grounds.note = noted  # type: ignore[method-assign]
    await scene.look()
    assert sorted(lease for lease, _ in scene.grounds.noted) == [OTHER, LEASE]


async def test_a_stop_that_takes_long_is_told_once_it_is_seen(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.grounds.ledger = None
    scene.grounds.put(a_lease_there(OTHER, ends=NOW + 9 * HOUR))
    await scene.look()
    scene.pass_time(30 * MINUTE)
    through = Signal()

    def slow(lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        through.wait(SECONDS)
        return scene.now

    monkeypatch.setattr(scene.grounds, "stop", slow)
    monkeypatch.setattr(stopping, "STOP_WITHIN", timedelta(milliseconds=20))
    report = await scene.look()
    through.set()
    assert [one.stopped for one in report.acted] == [False]
    scene.restart()
    scene.grounds.put(a_lease_there(condition=Condition.STOPPING))
    scene.pass_time(5 * MINUTE)
    await scene.look()
    assert f"stopped {LEASE}" not in scene.told()
    scene.grounds.put(a_lease_there(condition=Condition.STOPPED))
    for _ in range(2):
        scene.pass_time(5 * MINUTE)
        await scene.look()
    assert scene.told() == [f"late {LEASE}", f"stop-failed {LEASE}", f"stopped {LEASE}"]
    assert "took long; it was seen stopped" in scene.channels[0].got[-1].why


async def test_a_place_in_which_stops_hang_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path, terms=GuardTerms(share=1.0))
    scene.grounds.put(*(a_lease_there(f"gpu-0000000{number}") for number in range(1, 9)), a_lease_there(place=LAB))
    await scene.look()
    scene.pass_time(30 * MINUTE)
    stop, elsewhere, waited = scene.grounds.stop, Signal(), list[bool]()

    def hang(lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        if place == LAB:
            elsewhere.set()
        else:
            waited.append(elsewhere.wait(SECONDS))
        return stop(lease_id, place, heartbeat)

    monkeypatch.setattr(scene.grounds, "stop", hang)
    await scene.look()
    assert waited == [True] * 8
