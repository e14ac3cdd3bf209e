"""Stopping and starting what runs in a lease's namespace: by top owners, all or nothing before the end (case D07)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.resource import Condition
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, lifecycle, seen
from lessor.providers.kubernetes.api import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    LIMIT_RANGE,
    LOCAL_QUEUE,
    NAMESPACE,
    NOTEBOOK,
    POD,
    PYTORCH_JOB,
    RAY_CLUSTER,
    REPLICA_SET,
    STATEFUL_SET,
    ApiKind,
)
from tests.providers.attempts import Beats, Stopped
from tests.providers.kube_ends import BEGIN, GPU, LABELS, LEASE, Leased, space

BEFORE = "lessor.dev/replicas"
AFTER_END = BEGIN + timedelta(hours=9)


@pytest.fixture
def leased() -> Leased:
    return Leased()


def note(leased: Leased, name: str) -> str | None:
    annotations: dict[str, str] = leased.obj(NAMESPACE, LEASE)["metadata"]["annotations"]
    return annotations.get(f"lessor.dev/{name}")


def test_a_stop_scales_the_top_owner_closes_the_quota_and_notes_when(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=3)
    assert leased.pods() == ["train-0-0", "train-0-1", "train-0-2"]
    at = lifecycle.stop(leased.site, LEASE, leased.beat)
    assert at == BEGIN
    assert leased.pods() == []
    assert leased.obj(DEPLOYMENT, "train")["spec"]["replicas"] == 0
    assert leased.obj(DEPLOYMENT, "train")["metadata"]["annotations"] == {BEFORE: "3"}
    assert leased.hard() == {
        "requests.nvidia.com/gpu": "0",
        "requests.amd.com/gpu": "0",
        "requests.storage": "200Gi",
    }
    assert note(leased, "stopped-at") == "2026-11-28T09:00:00+00:00"
    assert leased.writes() == [
        ("patch", "ResourceQuota", "lessor"),
        ("patch", "Deployment", "train"),
        ("patch", "Namespace", LEASE),
    ]


def test_each_write_of_a_stop_and_a_start_is_announced_first(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    lifecycle.stop(leased.site, LEASE, leased.beat)
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.told == [
        "closing quota lessor",
        "stopping Deployment train",
        f"noting stopped-at on {LEASE}",
        "opening quota lessor",
        "starting Deployment train",
        f"noting stopped-at, started-at on {LEASE}",
    ]


def test_a_second_stop_writes_nothing_and_says_the_same_time(leased: Leased) -> None:
    leased.run(STATEFUL_SET, "train", replicas=2)
    first = lifecycle.stop(leased.site, LEASE, leased.beat)
    leased.now += timedelta(hours=1)
    leased.api.calls.clear()
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == first
    assert leased.writes() == []


def test_a_start_brings_back_sizes_and_the_quota(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=3)
    leased.run(DEPLOYMENT, "parked", replicas=0)
    lifecycle.stop(leased.site, LEASE, leased.beat)
    leased.now += timedelta(hours=2)
    at = lifecycle.start(leased.site, LEASE, leased.beat)
    assert at == BEGIN + timedelta(hours=2)
    assert lifecycle.start(leased.site, LEASE, leased.beat) == at
    assert leased.obj(DEPLOYMENT, "train")["spec"]["replicas"] == 3
    assert leased.obj(DEPLOYMENT, "train")["metadata"]["annotations"] == {}
    assert leased.obj(DEPLOYMENT, "parked")["spec"]["replicas"] == 0
    assert leased.hard()["requests.nvidia.com/gpu"] == "4"
    assert (note(leased, "stopped-at"), note(leased, "started-at")) == (None, "2026-11-28T11:00:00+00:00")
    assert leased.pods() == ["train-0-0", "train-0-1", "train-0-2"]


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
    assert note(leased, "stopped-at") is None


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


def test_a_bare_pod_without_gpus_is_left_running(leased: Leased) -> None:
    leased.add(POD, "shell", spec={"containers": [{"name": "main"}]})
    lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.pods() == ["shell"]


def test_a_refused_owner_undoes_the_stop_before_the_end(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=2)
    leased.run(STATEFUL_SET, "web", replicas=1)
    leased.api.fail("patch", STATEFUL_SET, PermanentError("a webhook says no", "forbidden"))
    with pytest.raises(
        PermanentError, match="StatefulSet web could not be stopped: a webhook says no; what was stopped"
    ):
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.obj(DEPLOYMENT, "train")["spec"]["replicas"] == 2
    assert leased.hard()["requests.nvidia.com/gpu"] == "4"
    assert note(leased, "stopped-at") is None


def test_pods_that_do_not_end_are_waited_for_and_then_told(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.pods()
    leased.obj(POD, "train-0-0")["metadata"]["finalizers"] = ["example.test/held"]
    with pytest.raises(
        RetryableError, match=r"train-0-0 did not end within 0:20:00: pod .*example.test/held.*Nothing was forced"
    ):
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.now == BEGIN + timedelta(minutes=20)
    assert note(leased, "stopped-at") is None


def test_what_was_started_behind_our_back_is_stopped_anew(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    first = lifecycle.stop(leased.site, LEASE, leased.beat)
    leased.now += timedelta(hours=1)
    leased.api.patch(DEPLOYMENT, "train", LEASE, {"spec": {"replicas": 2}}, manager="kubectl")
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == first + timedelta(hours=1)
    assert leased.obj(DEPLOYMENT, "train")["metadata"]["annotations"] == {BEFORE: "2"}


@pytest.mark.parametrize("call", ["stop", "start"])
def test_an_attempt_that_is_not_current_writes_nothing_and_the_next_finishes_it(call: str) -> None:
    run = getattr(lifecycle, call)
    for stop_at in range(4):
        leased = Leased()
        leased.run(DEPLOYMENT, "train", replicas=2)
        leased.run(STATEFUL_SET, "web", replicas=1)
        if call == "start":
            lifecycle.stop(leased.site, LEASE, leased.beat)
        leased.api.calls.clear()
        with pytest.raises(Stopped):
            run(leased.site, LEASE, Beats(stop_at))
        assert len(leased.writes()) == stop_at
        run(leased.site, LEASE, leased.beat)
        assert len(leased.writes()) == 4
        assert leased.obj(DEPLOYMENT, "train")["spec"]["replicas"] == (0 if call == "stop" else 2)
        assert leased.hard()["requests.nvidia.com/gpu"] == ("0" if call == "stop" else "4")


def test_a_start_needs_room_as_a_launch_does_and_stays_stopped_without(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=3)
    stopped_at = lifecycle.stop(leased.site, LEASE, leased.beat)
    leased.add(NAMESPACE, "others")
    spec = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "6"}}}]}
    leased.add(POD, "theirs", "others", spec=spec)
    with pytest.raises(
        NoCapacityError, match=r"has 2 A100-80GB free.*4 are needed.*gpu-7k3qxa2m stays stopped"
    ) as caught:
        lifecycle.start(leased.site, LEASE, leased.beat)
    assert caught.value.tried == ("nvidia.com/gpu in lab (on-demand)",)
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == stopped_at
    leased.api.remove((POD, "others", "theirs"))
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.pods() == ["train-0-0", "train-0-1", "train-0-2"]


def workspace(leased: Leased) -> None:
    kept = space(LEASE, BEGIN + timedelta(hours=8), "workspace")
    leased.space = leased.api.apply(kept)
    template = {"metadata": {}, "spec": {"containers": [{"name": "main", **GPU}]}}
    meta = {"name": "workspace", "namespace": LEASE, "labels": LABELS}
    spec = {"replicas": 1, "template": template}
    leased.api.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec})


def test_a_workspace_is_started_when_its_pod_runs(leased: Leased) -> None:
    workspace(leased)
    lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.pods() == []
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.pods() == ["workspace-0"]
    assert note(leased, "stopped-at") is None


def test_a_workspace_that_finds_no_node_is_stopped_again_with_the_schedulers_words(leased: Leased) -> None:
    workspace(leased)
    stopped_at = lifecycle.stop(leased.site, LEASE, leased.beat)
    leased.api.nodes.room = False
    with pytest.raises(NoCapacityError, match=r"3 Insufficient nvidia.com/gpu.*It was stopped again"):
        lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.pods() == []
    assert leased.hard()["requests.nvidia.com/gpu"] == "0"
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == stopped_at
    leased.api.nodes.room = True
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.pods() == ["workspace-0"]


def test_a_namespace_that_somebody_else_made_is_not_stopped(leased: Leased) -> None:
    leased.api.objects[(NAMESPACE, "", LEASE)]["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    with pytest.raises(PermanentError, match="no namespace of gpu-7k3qxa2m that lessor made"):
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.writes() == []


def test_it_is_stopped_only_once_nothing_holds_a_gpu(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    lifecycle.stop(leased.site, LEASE, leased.beat)
    space = leased.obj(NAMESPACE, LEASE)
    assert seen.namespace(space).condition is Condition.STOPPED
    leased.now += timedelta(hours=1)
    pod = leased.run(POD, "sneaked-in")
    leased.pods()
    shown = inventory.conditions(leased.site)[0]
    assert (shown.condition, shown.changed_at) == (Condition.RUNNING, leased.now)
    assert shown.reason == "it was stopped, and sneaked-in holds GPUs all the same"
    assert pod["metadata"]["name"] == "sneaked-in"
