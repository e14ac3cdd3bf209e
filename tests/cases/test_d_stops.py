"""Cases of stopping what runs in clusters: by its top owner, each in its own way, and what is unknown is told."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import NOT_STOPPABLE, LeaseRef
from lessor.domain.lease import State
from lessor.ledger import open_ledger
from lessor.ports import PermanentError
from tests.builders import LEASE_ID, a_story
from tests.cases.cluster_lab import POD, Lab
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE

FLAVOR = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}


def test_D07_a_stop_acts_on_the_top_owner_and_nothing_is_back_a_minute_later(lab: Lab) -> None:
    provider = lab.begin()
    lab.replicated("Deployment", "train", 1)
    (pod,) = lab.names("Pod")
    lab.ground.running.delete("Pod", pod, LEASE_ID)
    lab.ground.running.advance(seconds=5)
    (again,) = lab.names("Pod")
    assert again != pod
    provider.stop(LEASE_ID, PLACE, silent)
    lab.ground.running.advance(seconds=60)
    train = lab.get("Deployment", "train")
    assert (train["spec"]["replicas"], lab.names("Pod")) == (0, [])
    assert train["metadata"]["annotations"]["lessor.dev/replicas"] == "1"
    provider.start(LEASE_ID, PLACE, silent)
    lab.ground.running.advance(seconds=60)
    assert (lab.get("Deployment", "train")["spec"]["replicas"], len(lab.names("Pod"))) == (1, 1)


def test_D07_a_job_is_suspended_and_a_notebook_stopped_its_own_way(lab: Lab) -> None:
    lab.ground.running.add_on("kubeflow")
    provider = lab.begin()
    lab.make("Job", "fit", {"template": {"spec": {**POD, "restartPolicy": "Never"}}})
    lab.make("Notebook", "book", {"template": {"spec": POD}})
    assert [name[:4] for name in lab.names("Pod")] == ["book", "fit-"]
    provider.stop(LEASE_ID, PLACE, silent)
    assert (lab.get("Job", "fit")["spec"]["suspend"], lab.names("Pod")) == (True, [])
    stopped = lab.get("Notebook", "book")["metadata"]["annotations"]["kubeflow-resource-stopped"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stopped)


def test_D07_a_job_that_waited_in_a_queue_is_not_woken_by_it(lab: Lab) -> None:
    lab.ground.running.add_on("kueue")
    covers = {"coveredResources": ["nvidia.com/gpu"], "flavors": [FLAVOR]}
    lab.ground.running.create("ResourceFlavor", {"metadata": {"name": "a100"}, "spec": {}})
    queue = {"namespaceSelector": {}, "resourceGroups": [covers]}
    lab.ground.running.create("ClusterQueue", {"metadata": {"name": "gpus"}, "spec": queue})
    lab.place = replace(lab.place, cluster_queue="gpus")
    provider = lab.begin()
    spec = {"suspend": True, "template": {"spec": {**POD, "restartPolicy": "Never"}}}
    lab.make("Job", "fit", spec, labels={"kueue.x-k8s.io/queue-name": "default"})
    assert (lab.get("Job", "fit")["spec"]["suspend"], len(lab.names("Pod"))) == (False, 1)
    provider.stop(LEASE_ID, PLACE, silent)
    lab.ground.running.advance(seconds=60)
    assert (lab.get("Job", "fit")["spec"]["suspend"], lab.names("Pod")) == (True, [])
    provider.start(LEASE_ID, PLACE, silent)
    lab.ground.running.advance(seconds=60)
    assert (lab.get("Job", "fit")["spec"]["suspend"], len(lab.names("Pod"))) == (False, 1)


@pytest.mark.parametrize("kind", ["Rollout", "VirtualMachineInstance"])
def test_D07_an_owner_of_an_unknown_kind_is_only_told_of(lab: Lab, kind: str) -> None:
    provider = lab.begin()
    lab.replicated("Deployment", "train", 0)
    keeper = lab.make("ConfigMap", "keeper", {})
    owner = {"apiVersion": "example.test/v1", "kind": kind, "name": "k", "uid": keeper["metadata"]["uid"]}
    lab.make("Pod", "kept", POD, ownerReferences=[{**owner, "controller": True}])
    before = lab.writes()
    with pytest.raises(PermanentError, match=rf"{kind} k is of a kind that lessor does not know") as caught:
        provider.stop(LEASE_ID, PLACE, silent)
    assert caught.value.code == NOT_STOPPABLE
    assert (lab.writes(), lab.names("Pod")) == (before, ["kept"])


def test_D07_a_bare_pod_is_ended_when_its_lease_was_given_back(lab: Lab) -> None:
    """Its owner has ended the lease before its time: from then on the end on the namespace is that of the release."""
    provider = lab.begin()
    lab.make("Pod", "shell", POD)
    with pytest.raises(PermanentError, match="pod shell has GPUs and no owner that would bring it back"):
        provider.stop(LEASE_ID, PLACE, silent)
    lease, events = a_story(State.ENDING, request=lab.wanted().request, quote=lab.wanted().quote)
    lease = replace(lease, ends_at=lab.ground.now())
    ledger = open_ledger("sqlite://")
    ledger.record(lease, events[-1:])
    work = ProvisioningActivities({"kubernetes": provider}, ledger, lab.ground.now)
    at = ActivityEnvironment().run(work.stop, LeaseRef(lease.id, lease.revision))
    ledger.close()
    assert lab.names("Pod") == []
    assert at <= lab.ground.now()
