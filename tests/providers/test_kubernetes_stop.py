"""Stopping and starting what runs in a lease's namespace: by top owners, all or nothing before the end (case D07)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.resource import Condition
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, lifecycle, seen
from lessor.providers.kubernetes.api import (
    DEPLOYMENT,
    NAMESPACE,
    POD,
    STATEFUL_SET,
)
from tests.providers.attempts import Beats, Stopped
from tests.providers.kube_ends import BEGIN, GPU, LABELS, LEASE, Leased, space

BEFORE = "lessor.dev/replicas"


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
    assert leased.note("stopped-at") == "2026-11-28T09:00:00+00:00"
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
    assert (leased.note("stopped-at"), leased.note("started-at")) == (None, "2026-11-28T11:00:00+00:00")
    assert leased.pods() == ["train-0-0", "train-0-1", "train-0-2"]


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
    assert leased.note("stopped-at") is None


def test_pods_that_do_not_end_are_waited_for_and_then_told(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.pods()
    leased.obj(POD, "train-0-0")["metadata"]["finalizers"] = ["example.test/held"]
    with pytest.raises(
        RetryableError, match=r"train-0-0 did not end within 0:20:00: pod .*example.test/held.*Nothing was forced"
    ):
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert leased.now == BEGIN + timedelta(minutes=20)
    assert leased.note("stopped-at") is None


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
    assert leased.note("stopped-at") is None


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
