"""Columns of what runs: pods and what makes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.tables.columns import (
    AGE,
    NAME,
    NONE,
    Column,
    Columns,
    Obj,
    column,
    counted,
    found,
    labels,
    lasting,
    said,
    selector,
    since,
)
from lessor.sandbox.kubernetes.tables.standing import Standing

ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
_JOB_WORDS = {"Complete": "Complete", "Failed": "Failed", "Suspended": "Suspended", "FailureTarget": "FailureTarget",
              "SuccessCriteriaMet": "SuccessCriteriaMet"}  # fmt: skip


def _containers(*path: str) -> Columns:
    def joined(word: str) -> Any:
        return lambda obj: ",".join(one[word] for one in found(obj, *path, "containers") or ())

    return (column("Containers", joined("name"), wide=True), column("Images", joined("image"), wide=True))


def _selector(*path: str, nothing: str = NONE) -> Column:
    return column("Selector", lambda obj: selector(found(obj, *path), nothing), wide=True)


def _replicas(obj: Obj) -> str:
    return f"{found(obj, 'status', 'readyReplicas') or 0}/{found(obj, 'spec', 'replicas') or 0}"


def _as_text(name: str, *path: str) -> Column:
    """A number in a column that is announced as text."""
    return column(name, lambda obj: found(obj, *path) or 0)


def _completions(obj: Obj) -> str:
    spec, done = obj["spec"], found(obj, "status", "succeeded") or 0
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    beside = spec.get("parallelism") or 0
    return f"{done}/1 of {beside}" if beside > 1 else f"{done}/1"


def _lasted(obj: Obj, now: datetime) -> str:
    begun, ended = found(obj, "status", "startTime"), found(obj, "status", "completionTime")
    until = datetime.fromisoformat(ended) if ended else now
    return lasting(until - datetime.fromisoformat(begun)) if begun else ""


def _job_word(obj: Obj) -> str:
    word = next((word for type_, word in _JOB_WORDS.items() if pods.condition(obj, type_) == "True"), "Running")
    leaving = "deletionTimestamp" in obj["metadata"] and word not in ("Complete", "Failed")
    return "Terminating" if leaving else word


def _last_run(obj: Obj, now: datetime) -> str:
    at = found(obj, "status", "lastScheduleTime")
    return since(at, now) if at else NONE


_POD_IP = column("IP", lambda pod: found(pod, "status", "podIP") or NONE, wide=True)
_GATES = column("Readiness Gates", lambda pod: Standing.of(pod).gates, wide=True)

COLUMNS: dict[str, Columns] = {
    "Pod": (
        NAME,
        column("Ready", lambda pod: Standing.of(pod).ready),
        column("Status", lambda pod: Standing.of(pod).word),
        Column("Restarts", lambda pod, now: Standing.of(pod).restarted(now)),
        AGE,
        _POD_IP,
        column("Node", lambda pod: pod["spec"].get("nodeName") or NONE, wide=True),
        column("Nominated Node", lambda pod: found(pod, "status", "nominatedNodeName") or NONE, wide=True),
        _GATES,
    ),
    "Deployment": (
        NAME,
        column("Ready", _replicas),
        _as_text("Up-to-date", "status", "updatedReplicas"),
        _as_text("Available", "status", "availableReplicas"),
        AGE,
        *_containers("spec", "template", "spec"),
        _selector("spec", "selector", nothing=""),
    ),
    "ReplicaSet": (
        NAME,
        counted("Desired", "spec", "replicas"),
        counted("Current", "status", "replicas"),
        counted("Ready", "status", "readyReplicas"),
        AGE,
        *_containers("spec", "template", "spec"),
        _selector("spec", "selector"),
    ),
    "StatefulSet": (NAME, column("Ready", _replicas), AGE, *_containers("spec", "template", "spec")),
    "DaemonSet": (
        NAME,
        counted("Desired", "status", "desiredNumberScheduled"),
        counted("Current", "status", "currentNumberScheduled"),
        counted("Ready", "status", "numberReady"),
        counted("Up-to-date", "status", "updatedNumberScheduled"),
        counted("Available", "status", "numberAvailable"),
        column("Node Selector", lambda obj: labels(found(obj, "spec", "template", "spec", "nodeSelector"))),
        AGE,
        *_containers("spec", "template", "spec"),
        _selector("spec", "selector"),
    ),
    "Job": (
        NAME,
        column("Status", _job_word),
        column("Completions", _completions),
        Column("Duration", _lasted),
        AGE,
        *_containers("spec", "template", "spec"),
        _selector("spec", "selector"),
    ),
    "CronJob": (
        NAME,
        said("Schedule", "spec", "schedule"),
        said("Timezone", "spec", "timeZone", otherwise=NONE),
        column("Suspend", lambda obj: str(bool(found(obj, "spec", "suspend"))), "boolean"),
        column("Active", lambda obj: len(found(obj, "status", "active") or ()), "integer"),
        Column("Last Schedule", _last_run),
        AGE,
        *_containers("spec", "jobTemplate", "spec", "template", "spec"),
        _selector("spec", "jobTemplate", "spec", "selector"),
    ),
}
