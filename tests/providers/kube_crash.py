"""A worker that is killed in the middle of what it does, again and again: a program for `test_kubernetes_crash`.

It forks before each attempt; the child takes its own life, by SIGKILL, right before its n-th external write.
What is left then is taken down by a provider that remembers nothing, as after a restart of the worker. Arguments are
the kubeconfigs of lessor and of an administrator, and the kind of lease. Prints one line of JSON for each death.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lessor.domain.request import LeaseKind
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, KubeWorld

CALLS = ("launch", "await_usable", "stop", "start", "delete")
MOST = 25


@dataclass
class Outside:
    """The way into a simulated cluster of another process, in real time; waiting only lets it work."""

    lessors: str
    admin: Cluster

    def cluster(self, place: KubernetesPlace) -> Cluster:
        return Cluster(place, self.now, self.lessors)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.02))


def main(lessors: str, admin: str, kind: str) -> None:
    ground = Outside(lessors, Cluster(KubernetesPlace("lab"), lambda: datetime.now(UTC), admin))
    world = KubeWorld(ground, LeaseKind(kind))  # type: ignore[arg-type]
    for death in deaths(world):
        sys.stdout.write(f"{json.dumps(death)}\n")


def deaths(world: KubeWorld) -> Iterator[dict[str, Any]]:
    """Each place at which a worker can die, in each call, and what there was of the lease then and after recovery."""
    for number, call in enumerate(CALLS):
        for at in range(MOST):
            lease = f"gpu-{number:04d}{at:04d}"
            if not died(world, lease, call, at):
                world.provider().delete(lease, PLACE, (), silent)
                break
            left = world.existing(lease)
            if call in ("launch", "await_usable"):
                live(world, lease, "await_usable", silent)
            world.provider().delete(lease, PLACE, (), silent)
            after = world.existing(lease)
            clean = world.provider().look(lease, PLACE).clean
            yield {"call": call, "at": at, "left": len(left), "after": after, "clean": clean}


def died(world: KubeWorld, lease: str, call: str, at: int) -> bool:
    """Run one attempt in a child that is killed; whether it was, before it came to its end."""
    child = os.fork()
    if child == 0:
        beats = 0

        def beat(what: str) -> None:
            nonlocal beats
            if what.startswith("waiting "):
                return
            if beats == at:
                os.kill(os.getpid(), signal.SIGKILL)
            beats += 1

        try:
            live(world, lease, call, beat)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"the attempt at {call} failed by itself")
    return os.WIFSIGNALED(status)


def live(world: KubeWorld, lease: str, watched: str, beat: Callable[[str], None]) -> None:
    """A lease from launch up to the watched call, which alone gets `beat`."""

    def of(call: str) -> Callable[[str], None]:
        return beat if call == watched else silent

    provider, order = world.provider(), world.order(lease)
    made = provider.launch(order, provider.candidates(order)[0], of("launch"))
    if watched == "launch":
        return
    provisioned = provider.await_usable(order, made, of("await_usable"))
    later = CALLS[2 : CALLS.index(watched) + 1]
    if "stop" in later:
        provider.stop(lease, PLACE, of("stop"))
    if "start" in later:
        provider.start(lease, PLACE, of("start"))
    if "delete" in later:
        provider.delete(lease, PLACE, provisioned.resources, of("delete"))


if __name__ == "__main__":
    main(*sys.argv[1:])
