"""How a pod stands, in the few words in which `kubectl get pods` says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.tables.columns import NONE, Obj, found, since

_LOST = "NodeLost"


@dataclass(frozen=True)
class Standing:
    """`word` is what it does or why it does not; `running` of `containers` are ready."""

    word: str
    running: int
    containers: int
    restarts: int = 0
    last_restart: str = ""
    gates: str = NONE

    @property
    def ready(self) -> str:
        return f"{self.running}/{self.containers}"

    def restarted(self, now: datetime) -> str:
        """How often, and when last."""
        ago = f" ({since(self.last_restart, now)} ago)" if self.restarts and self.last_restart else ""
        return f"{self.restarts}{ago}"

    @classmethod
    def of(cls, pod: Obj) -> Standing:
        status, spec = pod.get("status", {}), pod["spec"]
        first, main = status.get("initContainerStatuses") or [], status.get("containerStatuses") or []
        sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
        beside = [one for one in first if one["name"] in sidecars]
        held = _held_up(first, sidecars, len(spec.get("initContainers") or ()))
        begun = not held or pods.condition(pod, "Initialized") == "True"
        counted = [*beside, *main] if begun else first
        running = sum(_runs(one) for one in main) if begun else 0
        return cls(
            word=_leaving(pod) or (_main_word(pod, main, held) if begun else held),
            running=running + sum(_sidecar_runs(one) for one in _before_stop(first, sidecars)),
            containers=len(spec.get("containers") or ()) + len(sidecars),
            restarts=sum(one.get("restartCount", 0) for one in counted),
            last_restart=max(
                (found(one, "lastState", "terminated", "finishedAt") or "" for one in counted), default=""
            ),
            gates=_gates(pod),
        )


def _leaving(pod: Obj) -> str:
    if "deletionTimestamp" not in pod["metadata"]:
        return ""
    if found(pod, "status", "reason") == _LOST:
        return "Unknown"
    return "" if pods.finished(pod) else "Terminating"


def _held_up(first: Sequence[Obj], sidecars: set[str], count: int) -> str:
    """What keeps the containers that run before all others from being done, if anything does."""
    for index, one in enumerate(first):
        if not _passed(one, sidecars):
            ended, waiting = found(one, "state", "terminated"), found(one, "state", "waiting", "reason")
            if ended is not None:
                return f"Init:{_ended_word(ended)}"
            waits = waiting not in (None, "", "PodInitializing")
            return f"Init:{waiting}" if waits else f"Init:{index}/{count}"
    return ""


def _passed(one: Obj, sidecars: set[str]) -> bool:
    ended = found(one, "state", "terminated")
    done = ended is not None and ended.get("exitCode", 0) == 0
    return done or (one["name"] in sidecars and bool(one.get("started")))


def _before_stop(first: Sequence[Obj], sidecars: set[str]) -> Iterator[Obj]:
    """Sidecars up to the one that holds the rest up."""
    for one in first:
        if not _passed(one, sidecars):
            return
        if one["name"] in sidecars:
            yield one


def _main_word(pod: Obj, main: Sequence[Obj], word: str) -> str:
    word = word or _phase_word(pod)
    failed = ""
    for one in reversed(main):
        waiting, ended = found(one, "state", "waiting", "reason"), found(one, "state", "terminated")
        if waiting:
            word = waiting
        elif ended is not None:
            word = _ended_word(ended)
            failed = word if ended.get("exitCode") else failed
    if word != "Completed":
        return word
    if any(_runs(one) for one in main):
        return "Running" if pods.ready(pod) else failed or "NotReady"
    return failed or word


def _phase_word(pod: Obj) -> str:
    status = pod.get("status", {})
    for one in status.get("conditions") or ():
        if one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase") or "")


def _ended_word(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _runs(one: Obj) -> bool:
    return bool(one.get("ready")) and found(one, "state", "running") is not None


def _sidecar_runs(one: Obj) -> bool:
    return bool(one.get("started")) and bool(one.get("ready"))


def _gates(pod: Obj) -> str:
    gates: list[dict[str, Any]] = pod["spec"].get("readinessGates") or []
    true = sum(pods.condition(pod, one["conditionType"]) == "True" for one in gates)
    return f"{true}/{len(gates)}" if gates else NONE
