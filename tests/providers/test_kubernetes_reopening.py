"""Leases in a cluster that start again while others start or are launched: no GPU is promised to two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.domain.request import Need
from lessor.ports import NoCapacityError
from lessor.providers.kubernetes import lifecycle
from lessor.providers.kubernetes.api import DEPLOYMENT, NAMESPACE, RESOURCE_QUOTA
from tests.providers.attempts import silent
from tests.providers.aws_world import together
from tests.providers.kube_ends import LEASE, Leased
from tests.providers.kube_nodes import lease
from tests.providers.kube_world import PLACE, KubeWorld, SimulatedGround, simulated_ground

EARLIER, LATER = "gpu-00000001", "gpu-zzzzzzzz"
KEY = "requests.nvidia.com/gpu"


class Meanwhile(Leased):
    """While one write of the lease is announced, or while somebody sleeps, something else happens once."""

    at: str = ""
    happens: Callable[[], None] | None = None

    def beat(self, what: str) -> None:
        super().beat(what)
        if self.at in what and self.happens is not None:
            happens, self.happens = self.happens, None
            happens()

    def during(self, at: str, happens: Callable[[], None]) -> None:
        self.at, self.happens = at, happens

    def launched(self, name: str, gpus: int = 6) -> None:
        self.now += timedelta(seconds=1)
        lease(self.api, name, gpus)

    def starting(self, name: str, gpus: int = 6) -> None:
        """Another lease that was stopped, and whose quota is open again."""
        self.launched(name, gpus)
        self.api.objects[(NAMESPACE, "", name)]["metadata"]["annotations"]["lessor.dev/stopped-at"] = "2026-11-28"

    def gives_way(self, name: str) -> None:
        self.api.objects[(RESOURCE_QUOTA, name, "gpus")]["spec"]["hard"] = {KEY: "0"}


@pytest.fixture
def stopped() -> Meanwhile:
    """A lease of four GPUs, stopped, where there are eight."""
    made = Meanwhile()
    made.run(DEPLOYMENT, "train", replicas=3)
    lifecycle.stop(made.site, LEASE, made.beat)
    made.told.clear()
    return made


def test_a_start_gives_way_to_a_launch_that_came_between_its_look_and_its_promise(stopped: Meanwhile) -> None:
    stopped.during("opening quota", lambda: stopped.launched(LATER))
    with pytest.raises(NoCapacityError, match=r"has 2 A100-80GB free; 4 are needed.*gpu-7k3qxa2m stays stopped"):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert (stopped.hard()[KEY], stopped.pods(), stopped.note("started-at")) == ("0", [], None)
    assert stopped.told == ["opening quota lessor", "closing quota lessor"]


def test_what_slipped_in_while_the_quota_was_open_is_ended_again(stopped: Meanwhile) -> None:
    def happens() -> None:
        stopped.launched(LATER)
        stopped.run(DEPLOYMENT, "quick", replicas=1)

    stopped.during("opening quota", happens)
    with pytest.raises(NoCapacityError):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert stopped.pods() == []


def test_of_two_that_start_the_later_by_name_gives_way(stopped: Meanwhile) -> None:
    stopped.during("opening quota", lambda: stopped.starting(EARLIER))
    with pytest.raises(NoCapacityError, match="stays stopped"):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert stopped.hard()[KEY] == "0"


def test_the_earlier_one_waits_until_it_has(stopped: Meanwhile) -> None:
    def happens() -> None:
        stopped.starting(LATER)
        stopped.during("waiting until", lambda: stopped.gives_way(LATER))

    stopped.during("opening quota", happens)
    lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert (stopped.hard()[KEY], len(stopped.pods())) == ("4", 3)
    assert f"waiting until {LATER} has given way, or has what it needs" in stopped.told


def test_it_gives_up_when_the_other_keeps_what_it_has(stopped: Meanwhile) -> None:
    stopped.during("opening quota", lambda: stopped.starting(LATER))
    begun = stopped.now
    with pytest.raises(NoCapacityError, match="stays stopped"):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert stopped.now - begun == timedelta(seconds=31), "half a minute, and the second in which the other came"
    assert stopped.hard()[KEY] == "0"


def test_what_runs_already_is_not_stopped_for_want_of_room(stopped: Meanwhile) -> None:
    """An attempt that died after its second look had its room; a node that is gone since takes it from nobody."""

    def dies() -> None:
        raise RuntimeError("the worker died")

    stopped.during("noting stopped-at", dies)
    with pytest.raises(RuntimeError):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    stopped.launched(LATER, 8)
    lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert (stopped.hard()[KEY], len(stopped.pods())) == ("4", 3)


def test_a_start_that_was_given_up_halfway_leaves_no_way_in_once_it_is_stopped_again(stopped: Meanwhile) -> None:
    def dies() -> None:
        raise RuntimeError("the worker died")

    noted = stopped.note("stopped-at")
    stopped.during("starting", dies)
    with pytest.raises(RuntimeError):
        lifecycle.start(stopped.site, LEASE, stopped.beat)
    assert (stopped.hard()[KEY], stopped.pods()) == ("4", [])
    lifecycle.stop(stopped.site, LEASE, stopped.beat)
    assert (stopped.hard()[KEY], stopped.note("stopped-at")) == ("0", noted)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[SimulatedGround]:
    with simulated_ground(tmp_path) as ground:
        yield ground


def test_B13_of_starts_and_launches_at_the_same_time_no_more_get_through_than_fit(ground: SimulatedGround) -> None:
    """Eight GPUs: two leases of five that start, and a third that is launched, each by a worker of its own."""
    world, five = KubeWorld(ground), Need("A100-80GB", 5)
    provider, names = world.provider(), [f"gpu-0000000{n}" for n in (1, 2, 3)]
    for name in names[:2]:
        order = world.order(name, five)
        provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)
        provider.stop(name, PLACE, silent)

    def launch() -> object:
        order, mine = world.order(names[2], five), world.provider()
        return mine.launch(order, mine.candidates(order)[0], silent)

    starts = [lambda name=name: world.provider().start(name, PLACE, silent) for name in names[:2]]
    for _ in range(3):
        found = together(*starts, launch)
        refused = [one for one in found if isinstance(one, NoCapacityError)]
        assert len(refused) >= 2, found
        assert [one for one in found if isinstance(one, Exception)] == refused
        (pool,) = [one for one in provider.census(PLACE).pools if one.model == "A100-80GB"]
        assert pool.promised == 5 * (3 - len(refused))
        for name in names[:2]:
            provider.stop(name, PLACE, silent)
        provider.delete(names[2], PLACE, (), silent)
