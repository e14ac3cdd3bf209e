"""Signs of life of a blocking activity that waits for something which gives none itself."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from temporalio.testing import ActivityEnvironment

from activities import beating
from activities.beating import alive, beating_beside, blocking
from activities.provisioning import ProvisioningActivities
from lessor.contracts import LeaseRef
from lessor.domain.lease import State
from lessor.ledger import open_ledger
from tests.builders import READY, a_story
from tests.fakes import FakeCloud
from workflows.calls import HEARTBEAT


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
            assert twice.wait(60), "no second sign of life"
        return beats

    env = ActivityEnvironment()
    env.on_heartbeat = heard
    with ThreadPoolExecutor(1) as threads:
        ended_at = threads.submit(env.run, waits).result()
    assert not [thread for thread in threading.enumerate() if thread.name == "beats"]
    assert beats == ended_at >= 2


def test_beats_repeat_what_was_said_last_so_that_it_stays_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beating, "BEAT", 0.005)
    heard: list[tuple[object, ...]] = []
    repeated = threading.Event()

    def hear(*words: object) -> None:
        heard.append(words)
        if heard[-2:] == [("stopping i-1",)] * 2:
            repeated.set()

    @blocking
    def waits() -> None:
        with beating_beside():
            alive("stopping i-1")
            assert repeated.wait(60), "the beats say something else"

    env = ActivityEnvironment()
    env.on_heartbeat = hear
    with ThreadPoolExecutor(1) as threads:
        threads.submit(env.run, waits).result()
    assert set(heard) <= {(), ("stopping i-1",)}


@pytest.mark.parametrize(
    ("method", "call", "state"),
    [
        ("provision", "await_usable", State.PROVISIONING),
        ("stop", "stop", State.ENDING),
        ("start", "start", State.PROVISIONING),
        ("take_down", "look", State.DELETING),
    ],
)
def test_a_place_that_takes_its_time_is_no_dead_worker(
    monkeypatch: pytest.MonkeyPatch, method: str, call: str, state: State
) -> None:
    """A worker that died is noticed by the silence alone, so one that only waits for its place is never silent."""
    monkeypatch.setattr(beating, "BEAT", 0.005)
    ledger = open_ledger("sqlite://")
    lease, events = a_story(state)
    ledger.record(lease, events)
    cloud, beats, called = FakeCloud(), threading.Semaphore(0), threading.Event()

    def waits() -> None:
        called.set()
        assert all(beats.acquire(timeout=60) for _ in range(3)), "no sign of life while the place was waited for"

    cloud.before[call] = waits
    env = ActivityEnvironment()
    env.on_heartbeat = lambda *_: beats.release() if called.is_set() else None
    work = getattr(ProvisioningActivities({"aws": cloud}, ledger, lambda: READY), method)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(env.run, work, LeaseRef(lease.id, lease.revision)).result()
    assert called.is_set()
    ledger.close()


def test_a_dead_worker_is_noticed_within_half_a_minute_and_a_slow_one_is_not_taken_for_dead() -> None:
    assert 3 * beating.BEAT <= HEARTBEAT.total_seconds() <= 30
