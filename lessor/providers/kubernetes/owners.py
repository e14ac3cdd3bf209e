"""Who keeps the pods of a namespace alive: the top owners, and how each kind of them is stopped and started again.

A pod that is deleted under its owner is back at once (case D07). Kinds that are not in the table below are never
touched: what they would do is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lessor.contracts import ANNOTATION_PREFIX
from lessor.domain.resource import Kind
from lessor.providers.kubernetes import versions
from lessor.providers.kubernetes.api import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    LOCAL_QUEUE,
    NOTEBOOK,
    POD,
    PYTORCH_JOB,
    RAY_CLUSTER,
    REPLICA_SET,
    STATEFUL_SET,
    ApiKind,
    Obj,
)
from lessor.providers.kubernetes.forbidden import Forbidden
from lessor.providers.kubernetes.ours import ending
from lessor.providers.kubernetes.site import Site

BEFORE = f"{ANNOTATION_PREFIX}replicas"
"""The annotation of a stopped owner that keeps, as JSON, what was there before."""

NOTEBOOK_STOPPED = "kubeflow-resource-stopped"
FINISHED = frozenset({"Succeeded", "Failed"})
Path = tuple[str, ...]

_SWITCHES: dict[ApiKind, tuple[Path, Any]] = {
    DEPLOYMENT: (("spec", "replicas"), 0),
    STATEFUL_SET: (("spec", "replicas"), 0),
    REPLICA_SET: (("spec", "replicas"), 0),
    JOB: (("spec", "suspend"), True),
    CRON_JOB: (("spec", "suspend"), True),
    RAY_CLUSTER: (("spec", "suspend"), True),
    PYTORCH_JOB: (("spec", "runPolicy", "suspend"), True),
    NOTEBOOK: (("metadata", "annotations", NOTEBOOK_STOPPED), None),
    LOCAL_QUEUE: (("spec", "stopPolicy"), "HoldAndDrain"),
}
"""Which field stops a kind, and the value that does; a notebook is stopped by the time at which it was.

A queue that is held gives back what it has admitted and starts nothing: without that it would wake a suspended job. A
stateful set that deletes the claims of pods that it loses is told to retain them first (case D08).
"""
SWITCHES = {(kind.group, kind.kind): switch for kind, switch in _SWITCHES.items()}
BUILT_IN = (DEPLOYMENT, STATEFUL_SET, REPLICA_SET, DAEMON_SET, JOB, CRON_JOB)
ADDED = {RAY_CLUSTER: ("v1", "v1alpha1"), PYTORCH_JOB: ("v1",), NOTEBOOK: ("v1", "v1beta1")}
"""Kinds that a cluster may have, with the versions in which they are stopped alike."""

CLAIMS_BEFORE = f"{ANNOTATION_PREFIX}claims"
WHEN_SCALED = ("spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")


@dataclass(frozen=True)
class Top:
    """What keeps pods alive. `kind` is `None` for one that is not known; then `obj` is only how pods name it."""

    kind: ApiKind | None
    obj: Obj
    pods: tuple[Obj, ...] = ()

    @property
    def type(self) -> str:
        return self.kind.kind if self.kind else str(self.obj["kind"])

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])

    @property
    def switch(self) -> tuple[Path, Any] | None:
        """Which field stops it, and with which value; `None` where that is not known."""
        return SWITCHES.get((self.kind.group, self.kind.kind)) if self.kind else None

    @property
    def stoppable(self) -> bool:
        return self.switch is not None

    @property
    def wanting(self) -> tuple[Obj, ...]:
        """Those of its pods that hold a device, or will as soon as they get a node."""
        return tuple(pod for pod in self.pods if wants_device(pod))

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Tree:
    """All that runs in a namespace. `leaving` are pods whose owner is gone already: the cluster collects them."""

    tops: tuple[Top, ...] = ()
    leaving: tuple[Obj, ...] = ()

    @property
    def pods(self) -> tuple[Obj, ...]:
        return (*(pod for top in self.tops for pod in top.pods), *self.leaving)

    @property
    def holding(self) -> tuple[Obj, ...]:
        """All pods that hold a device now, whoever keeps them."""
        return tuple(pod for pod in self.pods if holds_device(pod))


def read(site: Site, namespace: str, forbidden: Forbidden | None = None) -> Tree:
    """Pods first: an owner that is made between two reads is then seen, one that goes takes its pods along.

    With `forbidden` kinds of owners that may not be read are kept there; without it they raise, as everything else.
    """
    pods = list(site.api.list(POD, namespace))
    added = (versions.served(site.api, kind, known) for kind, known in ADDED.items())
    served = [*BUILT_IN, *(kind for kind in added if kind is not None)]
    owned = [(kind, obj) for kind in served for obj in _listed(site, kind, namespace, forbidden)]
    unread = forbidden.within(namespace) if forbidden else frozenset[ApiKind]()
    known = {(kind.group, kind.kind) for kind in (POD, *served) if kind not in unread}
    return _tree([(POD, pod) for pod in pods], owned, known)


def holds_device(pod: Mapping[str, Any]) -> bool:
    """Whether it keeps a device from others: from the node that it got until it ended, deleted or not (case D21)."""
    return bool(pod.get("spec", {}).get("nodeName")) and wants_device(pod)


def wants_device(pod: Mapping[str, Any]) -> bool:
    """Whether it has not ended and asks for any resource that a vendor names, or for a claimed device."""
    if finished(pod):
        return False
    spec = pod.get("spec", {})
    boxes = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = {name for box in boxes for name, amount in _asked(box).items() if str(amount) != "0"}
    return bool(spec.get("resourceClaims")) or any(is_device(name) for name in asked)


def is_device(resource: str) -> bool:
    """Whether the name is a vendor's, such as `nvidia.com/gpu`, and none of the cluster's own."""
    vendor, parted, _ = resource.partition("/")
    return bool(parted) and not (vendor == "kubernetes.io" or vendor.endswith(".kubernetes.io"))


def finished(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in FINISHED


def done(top: Top) -> bool:
    """Whether it is a job that has come to its end: there is nothing to stop, and nothing that could be started."""
    conditions = top.obj.get("status", {}).get("conditions") or ()
    ended = {"Complete", "Failed", "Succeeded"}
    kind = top.kind.kind if top.kind else ""
    return kind in (JOB.kind, PYTORCH_JOB.kind) and any(
        c["type"] in ended and c["status"] == "True" for c in conditions
    )


def stopped(top: Top) -> bool:
    """Whether it wants no pods."""
    if top.switch is None:
        return False
    where, value = top.switch
    now = _value(top.obj, where)
    return bool(now) if value is None else now == value


def running(top: Top) -> bool:
    """Whether it is of a kind that can be stopped, and is not."""
    return top.stoppable and not (stopped(top) or done(top) or ending(top.obj))


def stop_change(top: Top, at: datetime) -> dict[str, Any] | None:
    """What stops it and remembers what it was; `None` when it is stopped, ends, or has ended."""
    if top.switch is None or not running(top):
        return None
    where, value = top.switch
    before = json.dumps(_value(top.obj, where))
    stop = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if value is None else value
    kept = _change(WHEN_SCALED, "Retain", CLAIMS_BEFORE, "Delete") if _value(top.obj, WHEN_SCALED) == "Delete" else {}
    return _joined(_change(where, stop, BEFORE, before), kept)


def start_change(top: Top) -> dict[str, Any] | None:
    """What makes it as it was before we stopped it; `None` for what we did not stop."""
    noted = top.obj["metadata"].get("annotations") or {}
    kept = noted.get(BEFORE)
    if top.switch is None or kept is None or ending(top.obj):
        return None
    where, value = top.switch
    before = _noted(kept, value)
    claims = _change(WHEN_SCALED, noted[CLAIMS_BEFORE], CLAIMS_BEFORE, None) if CLAIMS_BEFORE in noted else {}
    return _joined(_change(where, before, BEFORE, None), claims)


def _noted(kept: str, stop: Any) -> Any:
    """What was there before; where somebody has spoilt the note, what makes it run again at all."""
    try:
        found = json.loads(kept)
    except ValueError:
        found = None
    if type(stop) is int:
        return found if type(found) is int and found >= 0 else 1
    if stop is True:
        return found if found is None or isinstance(found, bool) else False
    return found if isinstance(found, str) else None


def _listed(site: Site, kind: ApiKind, namespace: str, forbidden: Forbidden | None) -> Sequence[Obj]:
    return (
        site.api.list(kind, namespace) if forbidden is None else forbidden.listed(site, kind, Kind.WORKLOAD, namespace)
    )


def _tree(pods: list[tuple[ApiKind, Obj]], owned: list[tuple[ApiKind, Obj]], known: set[tuple[str, str]]) -> Tree:
    everything = {obj["metadata"]["uid"]: (kind, obj) for kind, obj in (*pods, *owned)}
    tops: dict[str, tuple[ApiKind | None, Obj]] = {}
    below: dict[str, list[Obj]] = {}
    leaving: list[Obj] = []
    for kind, obj in (*owned, *pods):
        top = _top(kind, obj, everything, known)
        if top is None:
            leaving += [obj] if kind is POD else []
            continue
        uid = top[1]["metadata"]["uid"]
        tops.setdefault(uid, top)
        below.setdefault(uid, []).extend([obj] if kind is POD else [])
    found = (Top(kind, obj, tuple(below[uid])) for uid, (kind, obj) in tops.items())
    return Tree(tuple(sorted(found, key=lambda top: (top.type, top.name))), tuple(leaving))


def _top(
    kind: ApiKind, obj: Obj, everything: Mapping[str, tuple[ApiKind, Obj]], known: set[tuple[str, str]]
) -> tuple[ApiKind | None, Obj] | None:
    """The last owner up the chain; `None` when one of a kind that was read is on record there and is gone."""
    seen = {obj["metadata"]["uid"]}
    while reference := _controller(obj):
        uid = reference["uid"]
        if uid not in everything or uid in seen:
            group = reference["apiVersion"].rpartition("/")[0]
            if (group, reference["kind"]) in known:
                return None
            named = {"name": reference["name"], "uid": uid, "namespace": obj["metadata"].get("namespace", "")}
            return None, {"apiVersion": reference["apiVersion"], "kind": reference["kind"], "metadata": named}
        if kind is JOB and everything[uid][0] is CRON_JOB:
            # A cron job that is suspended lets its jobs run on: each is stopped by itself.
            return kind, obj
        seen.add(uid)
        kind, obj = everything[uid]
    return kind, obj


def _controller(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Who keeps it. Some operators own without calling themselves the controller: they would make it anew as well."""
    references: Sequence[Mapping[str, Any]] = obj["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller")), next(iter(references), None))


def _asked(box: Mapping[str, Any]) -> dict[str, Any]:
    resources = box.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def _value(obj: Mapping[str, Any], where: Path) -> Any:
    found: Any = obj
    for name in where:
        found = (found or {}).get(name)
    return found


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both changes in one: what stops an owner must not come without what spares its claims."""
    both = dict(one)
    for name, value in other.items():
        both[name] = _joined(both[name], value) if isinstance(value, dict) and name in both else value
    return both


def _change(where: Path, value: Any, note: str, before: str | None) -> dict[str, Any]:
    change: dict[str, Any] = {"metadata": {"annotations": {note: before}}}
    below = change
    for name in where[:-1]:
        below = below.setdefault(name, {})
    below[where[-1]] = value
    return change
