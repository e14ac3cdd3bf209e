"""What a cluster shows, as our resources: one function per kind, each condition with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lessor.domain.resource import Condition, Kind, Resource
from lessor.providers.kubernetes import owners, volumes
from lessor.providers.kubernetes.amounts import moment
from lessor.providers.kubernetes.api import DAEMON_SET, JOB, POD, Obj
from lessor.providers.kubernetes.ours import created_at, ending, identity, noted_at
from lessor.providers.kubernetes.owners import Top
from lessor.providers.kubernetes.pods import ready as is_ready
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.volumes import STOPPED_AT

STARTED_AT = "started-at"
LAUNCHED_AT = "launched-at"
CLAIM_PHASES = {"Pending": Condition.PENDING, "Bound": Condition.STOPPED}
VOLUME_PHASES = {
    "Pending": Condition.PENDING,
    "Available": Condition.STOPPED,
    "Bound": Condition.RUNNING,
    "Released": Condition.STOPPED,
    "Failed": Condition.STOPPED,
}


def namespace(space: Obj, pods: Sequence[Obj] = ()) -> Resource:
    """A lease's namespace: it runs until it was stopped and none of its `pods` holds a device any more."""
    if ending(space):
        condition, reason = Condition.DELETING, "it is terminating"
    elif noted_at(space, STOPPED_AT) is None:
        condition, reason = Condition.RUNNING, ""
    elif holding := [pod["metadata"]["name"] for pod in pods if owners.holds_device(pod)]:
        condition, reason = Condition.RUNNING, f"it was stopped, and {', '.join(holding[:5])} holds GPUs all the same"
    else:
        condition, reason = Condition.STOPPED, ""
    return Resource(
        Kind.NAMESPACE, identity(space), condition, type="Namespace", created_at=created_at(space), reason=reason
    )


def changed_at(space: Obj, pods: Sequence[Obj] = ()) -> datetime | None:
    """When a namespace came into its condition, as far as it is known."""
    stopped_at = noted_at(space, STOPPED_AT)
    if ending(space):
        return moment(space["metadata"]["deletionTimestamp"])
    if stopped_at is None:
        return noted_at(space, STARTED_AT) or noted_at(space, LAUNCHED_AT) or created_at(space)
    since = [moment(pod.get("status", {}).get("startTime")) for pod in pods if owners.holds_device(pod)]
    return min((at for at in since if at is not None), default=stopped_at)


def workload(top: Top) -> Resource:
    """What keeps pods alive. A pod that was deleted and has not ended runs, and holds what it holds."""
    condition, reason = _of_unknown(top) if top.kind is None else _of_top(top)
    born = created_at(top.obj) if top.kind else None
    return Resource(Kind.WORKLOAD, identity(top.obj), condition, type=top.type, created_at=born, reason=reason)


def claim(site: Site, obj: Obj, pods: Sequence[Obj], at: datetime) -> Resource:
    """A claim; `type` carries size and class, `reason` what it costs and who mounts it."""
    mounted = volumes.mounting(obj, pods)
    condition = CLAIM_PHASES.get(obj.get("status", {}).get("phase", ""), Condition.UNKNOWN)
    if ending(obj):
        condition = Condition.DELETING
    elif mounted:
        condition = Condition.RUNNING
    told = [volumes.cost(site, obj, at), *([f"mounted by {', '.join(mounted[:5])}"] if mounted else [])]
    return _disk(Kind.CLAIM, obj, condition, ", ".join(told))


def volume(site: Site, obj: Obj, at: datetime) -> Resource:
    """A volume; `reason` says what it costs and what becomes of the disk behind it."""
    status = obj.get("status", {})
    phase = str(status.get("phase", ""))
    condition = Condition.DELETING if ending(obj) else VOLUME_PHASES.get(phase, Condition.UNKNOWN)
    kept = "the disk is retained" if volumes.retained(obj) else "the disk goes with its claim"
    told = [volumes.cost(site, obj, at), phase.lower(), kept, str(status.get("message", ""))]
    return _disk(Kind.VOLUME, obj, condition, ", ".join(filter(None, told)))


def other(kind: Kind, obj: Obj) -> Resource:
    """Something that carries the lease's label and is not proven ours."""
    condition = Condition.DELETING if ending(obj) else Condition.RUNNING
    return Resource(
        kind, identity(obj), condition, type=str(obj["kind"]), created_at=created_at(obj), reason="not made by lessor"
    )


def _disk(kind: Kind, obj: Obj, condition: Condition, reason: str) -> Resource:
    return Resource(
        kind, identity(obj), condition, type=volumes.kind_of_disk(obj), created_at=created_at(obj), reason=reason
    )


def _of_unknown(top: Top) -> tuple[Condition, str]:
    condition = Condition.RUNNING if top.wanting else Condition.STOPPED
    return condition, f"{top.type} is a kind that lessor does not know how to stop"


def _of_top(top: Top) -> tuple[Condition, str]:
    active = [pod for pod in top.pods if not owners.finished(pod)]
    if top.kind is POD:
        return _of_pod(top.obj)
    if ending(top.obj):
        return (Condition.RUNNING if top.wanting else Condition.DELETING), "it is being deleted"
    if owners.done(top):
        return Condition.STOPPED, "it has finished"
    if owners.stopped(top):
        return (Condition.STOPPING if active else Condition.STOPPED), ""
    wanted, ready = _wanted(top), _ready(top)
    if top.kind is JOB:
        return (Condition.RUNNING if ready else Condition.PENDING), ""
    short = ready < wanted
    return (Condition.PENDING if short else Condition.RUNNING), f"{ready} of {wanted} pods ready" if short else ""


def _of_pod(pod: Obj) -> tuple[Condition, str]:
    if owners.finished(pod):
        return Condition.STOPPED, "it has finished"
    if ending(pod):
        reason = "it is ending and holds its GPUs until then" if owners.holds_device(pod) else "it is ending"
        return (Condition.RUNNING if owners.holds_device(pod) else Condition.DELETING), reason
    running = pod.get("status", {}).get("phase") == "Running"
    return (Condition.RUNNING if running else Condition.PENDING), "no owner would bring it back"


def _wanted(top: Top) -> int:
    spec, status = top.obj.get("spec", {}), top.obj.get("status", {})
    if top.kind is DAEMON_SET:
        return int(status.get("desiredNumberScheduled", 0))
    return int(spec.get("replicas", 1)) if "replicas" in spec else len(top.pods)


def _ready(top: Top) -> int:
    return sum(1 for pod in top.pods if is_ready(pod))
