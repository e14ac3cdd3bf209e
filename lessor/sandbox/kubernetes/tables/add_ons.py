"""Columns of the add-ons' kinds, as the definitions that each project ships name them."""

from __future__ import annotations

from datetime import datetime

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.tables.columns import AGE, NAME, Column, Columns, Obj, column, found, said, since


def _if_true(type_: str) -> Columns:
    return (column(type_, lambda one: pods.condition(one, type_) or None),)


def _last_condition(job: Obj) -> str | None:
    given = [one for one in found(job, "status", "conditions") or () if one["status"] == "True"]
    return str(given[-1]["type"]) if given else None


def _taken(snapshot: Obj, now: datetime) -> str | None:
    at = found(snapshot, "status", "creationTime")
    return since(at, now) if at else None


def _number(name: str, *path: str, wide: bool = False) -> Column:
    return said(name, *path, otherwise=None, wide=wide, type_="integer")


def _text(name: str, *path: str, wide: bool = False) -> Column:
    return said(name, *path, otherwise=None, wide=wide)


COLUMNS: dict[str, Columns] = {
    "LocalQueue": (
        NAME,
        _text("ClusterQueue", "spec", "clusterQueue"),
        _number("Pending Workloads", "status", "pendingWorkloads"),
        _number("Admitted Workloads", "status", "admittedWorkloads"),
    ),
    "ClusterQueue": (
        NAME,
        _text("Cohort", "spec", "cohort"),
        _text("Strategy", "spec", "queueingStrategy", wide=True),
        _number("Pending Workloads", "status", "pendingWorkloads"),
        _number("Admitted Workloads", "status", "admittedWorkloads", wide=True),
    ),
    "Workload": (
        NAME,
        _text("Queue", "spec", "queueName"),
        _text("Reserved in", "status", "admission", "clusterQueue"),
        *_if_true("Admitted"),
        *_if_true("Finished"),
        AGE,
    ),
    "RayCluster": (
        NAME,
        _number("desired workers", "status", "desiredWorkerReplicas"),
        _number("available workers", "status", "availableWorkerReplicas"),
        _text("cpus", "status", "desiredCPU"),
        _text("memory", "status", "desiredMemory"),
        _text("gpus", "status", "desiredGPU"),
        _text("status", "status", "state"),
        AGE,
    ),
    "PyTorchJob": (NAME, column("State", _last_condition), AGE),
    "VolumeSnapshot": (
        NAME,
        said("ReadyToUse", "status", "readyToUse", otherwise=None, type_="boolean"),
        _text("SourcePVC", "spec", "source", "persistentVolumeClaimName"),
        _text("SnapshotContent", "status", "boundVolumeSnapshotContentName"),
        Column("CreationTime", _taken),
        AGE,
    ),
}
