"""Each kind of top owner is stopped in its own way and gets back what it had; what is unknown is told (case D07)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import NOT_STOPPABLE
from lessor.ports import PermanentError
from lessor.providers.kubernetes import lifecycle
from lessor.providers.kubernetes.api import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    LIMIT_RANGE,
    LOCAL_QUEUE,
    NOTEBOOK,
    POD,
    PYTORCH_JOB,
    RAY_CLUSTER,
    REPLICA_SET,
    STATEFUL_SET,
    ApiKind,
)
from tests.providers.kube_ends import BEGIN, LEASE, Leased

BEFORE = "lessor.dev/replicas"
AFTER_END = BEGIN + timedelta(hours=9)


@pytest.mark.parametrize(
    ("kind", "spec", "stopped", "before"),
    [
        (STATEFUL_SET, {"replicas": 2}, {"replicas": 0}, "2"),
        (REPLICA_SET, {"replicas": 2}, {"replicas": 0}, "2"),
        (JOB, {"suspend": False}, {"suspend": True}, "false"),
        (JOB, {}, {"suspend": True}, "null"),
        (CRON_JOB, {"suspend": False}, {"suspend": True}, "false"),
        (RAY_CLUSTER, {}, {"suspend": True}, "null"),
        (PYTORCH_JOB, {"runPolicy": {"suspend": False}}, {"runPolicy": {"suspend": True}}, "false"),
        (LOCAL_QUEUE, {"clusterQueue": "c"}, {"clusterQueue": "c", "stopPolicy": "HoldAndDrain"}, "null"),
    ],
)
def test_each_kind_is_stopped_by_its_own_field_and_gets_it_back(
    leased: Leased, kind: ApiKind, spec: dict[str, object], stopped: dict[str, object], before: str
) -> None:
    leased.api.extra |= {RAY_CLUSTER, PYTORCH_JOB, LOCAL_QUEUE}
    leased.add(kind, "one", spec=dict(spec))
    lifecycle.stop(leased.site, LEASE, leased.beat)
    there = leased.obj(kind, "one")
    assert there["spec"] == stopped
    assert there["metadata"]["annotations"] == {BEFORE: before}
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.obj(kind, "one")["spec"] == spec
    assert leased.obj(kind, "one")["metadata"]["annotations"] == {}


def test_a_notebook_is_stopped_by_its_annotation_and_its_own_set_is_left_alone(leased: Leased) -> None:
    leased.api.extra.add(NOTEBOOK)
    book = leased.add(NOTEBOOK, "book", spec={})
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "name": "book", "uid": book["metadata"]["uid"]}
    leased.add(
        STATEFUL_SET, "book", spec={"replicas": 0}, metadata={"ownerReferences": [{**owner, "controller": True}]}
    )
    lifecycle.stop(leased.site, LEASE, leased.beat)
    annotations = leased.obj(NOTEBOOK, "book")["metadata"]["annotations"]
    assert annotations == {"kubeflow-resource-stopped": "2026-11-28T09:00:00Z", BEFORE: "null"}
    assert ("patch", "StatefulSet", "book") not in leased.writes()
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.obj(NOTEBOOK, "book")["metadata"]["annotations"] == {}


def test_a_set_that_deletes_the_claims_of_lost_pods_is_told_to_retain_them_first(leased: Leased) -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    leased.run(STATEFUL_SET, "db", replicas=1, persistentVolumeClaimRetentionPolicy=dict(policy))
    lifecycle.stop(leased.site, LEASE, leased.beat)
    db = leased.obj(STATEFUL_SET, "db")
    assert db["spec"]["replicas"] == 0
    assert db["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenScaled": "Retain", "whenDeleted": "Retain"}
    assert db["metadata"]["annotations"] == {BEFORE: "1", "lessor.dev/claims": "Delete"}
    assert leased.writes().count(("patch", "StatefulSet", "db")) == 1
    lifecycle.start(leased.site, LEASE, leased.beat)
    db = leased.obj(STATEFUL_SET, "db")
    assert (db["spec"]["replicas"], db["spec"]["persistentVolumeClaimRetentionPolicy"]) == (1, policy)
    assert db["metadata"]["annotations"] == {}


def test_a_kind_that_the_cluster_does_not_serve_to_us_is_an_unknown_owner(leased: Leased) -> None:
    """Pods whose owner cannot be read do not go by themselves."""
    keeper = leased.add(LIMIT_RANGE, "keeper", spec={})
    owner = {"apiVersion": "kubeflow.org/v2", "kind": "Notebook", "name": "book", "uid": keeper["metadata"]["uid"]}
    leased.run(POD, "book-0", nodeName="node-a")
    leased.obj(POD, "book-0")["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    with pytest.raises(PermanentError, match="Notebook book is of a kind that lessor does not know"):
        lifecycle.stop(leased.site, LEASE, leased.beat)


def test_jobs_of_a_cron_job_are_stopped_by_themselves(leased: Leased) -> None:
    cron = leased.add(CRON_JOB, "nightly", spec={"suspend": False})
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": cron["metadata"]["uid"]}
    leased.add(
        JOB,
        "nightly-1",
        spec={"suspend": False, "template": {}},
        metadata={"ownerReferences": [{**owner, "controller": True}]},
    )
    lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.obj(JOB, "nightly-1")["spec"]["suspend"] is True
    assert leased.obj(CRON_JOB, "nightly")["spec"]["suspend"] is True


def test_a_finished_job_is_left_as_it_is(leased: Leased) -> None:
    status = {"conditions": [{"type": "Complete", "status": "True"}]}
    leased.add(JOB, "done", spec={"suspend": False, "parallelism": 0}, status=status)
    lifecycle.stop(leased.site, LEASE, leased.beat)
    assert ("patch", "Job", "done") not in leased.writes()


@pytest.mark.parametrize("kind", ["VirtualMachineInstance", "SparkApplication"])
def test_an_unknown_owner_is_told_and_nothing_is_touched_before_the_end(leased: Leased, kind: str) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.stranger(kind, "vm-pod")
    with pytest.raises(
        PermanentError, match=rf"{kind} vm is of a kind that lessor does not know.*vm-pod.*nothing was stopped"
    ) as caught:
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert caught.value.code == NOT_STOPPABLE
    assert leased.writes() == []
    assert leased.pods() == ["train-0-0", "vm-pod"]


def test_after_the_end_all_else_is_stopped_and_the_unknown_owner_told(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.stranger("VirtualMachineInstance", "vm-pod")
    leased.now = AFTER_END
    with pytest.raises(PermanentError, match=r"VirtualMachineInstance vm.*everything else was stopped"):
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.pods() == ["vm-pod"]
    assert leased.api.deleted == []
    assert leased.note("stopped-at") is None


def test_a_bare_pod_with_gpus_is_refused_before_the_end_and_ended_normally_after_it(leased: Leased) -> None:
    pod = leased.run(POD, "shell")
    with pytest.raises(PermanentError, match=r"pod shell has GPUs and no owner.*nothing was stopped") as caught:
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert caught.value.code == NOT_STOPPABLE
    assert leased.pods() == ["shell"]
    leased.now = AFTER_END
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == AFTER_END
    assert leased.pods() == []
    assert leased.api.deleted == [{"kind": "Pod", "name": "shell", "uid": pod["metadata"]["uid"], "foreground": False}]
