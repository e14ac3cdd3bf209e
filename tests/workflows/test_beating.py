"""Signs of life of a blocking activity that waits for something which gives none itself."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from temporalio.testing import ActivityEnvironment

from activities import beating
from activities.beating import beating_beside, blocking


def test_it_beats_from_beside_for_as_long_as_the_block_lasts_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beating, "BEAT", 0.005)
    twice, beats = threading.Event(), 0

    def heard(*_: object) -> None:
        nonlocal beats
        beats += 1
        if beats == 2:
            twice.set()

    @blocking
    def waits() -> int:
        with beating_beside():
            assert twice.wait(10), "no second sign of life"
        return beats

    env = ActivityEnvironment()
    env.on_heartbeat = heard
    with ThreadPoolExecutor(1) as threads:
        ended_at = threads.submit(env.run, waits).result()
    assert not [thread for thread in threading.enumerate() if thread.name == "beats"]
    assert beats == ended_at >= 2
