"""Cases of ending leases in clusters: what is stuck, comes back, stays behind, is forced, or is somebody else's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import NOT_STOPPABLE, LeaseRef
from lessor.domain import takedown
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import Need
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.ledger import open_ledger
from lessor.ports import PermanentError
from lessor.providers.kubernetes.api import NAMESPACE, Api
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.provider import KubernetesProvider
from tests.builders import LEASE_ID, a_story, usd
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, RATES, KubeWorld, SimulatedGround, as_somebody_else, simulated_ground

GPU = {"limits": {"nvidia.com/gpu": "1"}}
TOLERANT = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
POD: dict[str, Any] = {"containers": [{"name": "main", "image": "train", "resources": GPU}], "tolerations": TOLERANT}
FLAVOR = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}
SHIPPED = Path(inspect.getfile(KubernetesProvider)).parent


class Lab(KubeWorld):
    """A namespace lease in the simulated cluster, where people do as they like."""

    ground: SimulatedGround

    def begin(self) -> KubernetesProvider:
        provider, order = self.provider(), self.wanted()
        made = provider.launch(order, provider.candidates(order)[0], silent)
        self.provisioned: Provisioned = provider.await_usable(order, made, silent)
        return provider

    def wanted(self) -> Order:
        return self.order(need=Need("A100-80GB", 2), disk_gib=100)

    def make(self, kind: str, name: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
        made = self.ground.running.create(kind, {"metadata": {"name": name, **meta}, "spec": spec}, LEASE_ID)
        self.ground.running.advance(seconds=5)
        return made

    def replicated(self, kind: str, name: str, replicas: int, **more: Any) -> dict[str, Any]:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": more.pop("pod", POD)}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **more}
        return self.make(kind, name, spec)

    def names(self, kind: str) -> list[str]:
        found = self.ground.running.exists(kind, LEASE_ID)
        return [name.removeprefix(f"{LEASE_ID}/") for name in found]

    def get(self, kind: str, name: str) -> dict[str, Any]:
        found = self.ground.running.get(kind, name, LEASE_ID)
        assert found is not None
        return found

    def writes(self) -> list[tuple[str, str, str]]:
        heard = self.ground.running.heard()
        ours = (one for one in heard if one.user.endswith(":lessor") and one.verb in ("patch", "delete", "create"))
        return [(one.verb, one.resource, one.name) for one in ours if not one.resource.endswith("reviews")]

    def look(self, *known: Resource) -> Sighting:
        return self.provider().look(LEASE_ID, PLACE, known)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    priced = KubernetesPlace("lab", rates=RATES, disk_monthly=Money(usd("0.10").amount))
    with simulated_ground(tmp_path) as ground:
        yield Lab(ground, place=priced)


# -- D01 --------------------------------------------------------------------------------------------------------------


def test_D01_a_namespace_that_stays_is_blocked_with_its_conditions_and_nothing_is_forced(lab: Lab) -> None:
    provider = lab.begin()
    lab.make("ConfigMap", "held", {}, finalizers=["gone.example.test/cleanup"])
    lab.replicated("Deployment", "train", 1)
    work, lease, ledger = taken_down(lab, provider)
    sighting = ActivityEnvironment().run(work.take_down, LeaseRef(lease.id, lease.revision))
    assert sighting.problem.startswith(f"namespace {LEASE_ID} has been terminating since ")
    assert "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining" in sighting.problem
    assert "gone.example.test/cleanup in 1 resource instances" in sighting.problem
    assert "configmaps. has 1 resource instances" in sighting.problem
    assert [(one.kind, one.condition) for one in sighting.left] == [(Kind.NAMESPACE, Condition.DELETING)]
    assert lab.names("Pod") == []
    begun = lease.deleting_at
    assert begun is not None
    late = begun + lease.terms.cleanup_limit
    blocked = takedown.looked(takedown.looked(lease, sighting, begun).lease, sighting, late).lease
    assert (blocked.state, blocked.problem) == (State.BLOCKED, sighting.problem)
    assert lab.get("ConfigMap", "held")["metadata"]["finalizers"] == ["gone.example.test/cleanup"]
    lab.ground.running.change("ConfigMap", "held", {"metadata": {"finalizers": None}}, LEASE_ID)
    assert ActivityEnvironment().run(work.take_down, LeaseRef(lease.id, lease.revision)).clean
    ledger.close()


def test_D01_a_part_of_the_api_that_is_away_is_told_as_what_keeps_the_namespace(lab: Lab) -> None:
    provider = lab.begin()
    lab.ground.running.add_on("ray")
    lab.ground.running.set(unavailable=("ray.io",))
    with pytest.raises(PermanentError, match=r"NamespaceDeletionDiscoveryFailure: .*bring back what serves that part"):
        provider.delete(LEASE_ID, PLACE, lab.provisioned.resources, silent)
    assert not lab.look(*lab.provisioned.resources).clean
    lab.ground.running.set(unavailable=())
    lab.provider().delete(LEASE_ID, PLACE, lab.provisioned.resources, silent)
    assert lab.look(*lab.provisioned.resources).clean


# -- D07 --------------------------------------------------------------------------------------------------------------


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


# -- D08 --------------------------------------------------------------------------------------------------------------

TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "50Gi"}},
    },
}
MOUNTING = {**POD, "containers": [{**POD["containers"][0], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}


def test_D08_claims_of_templates_are_told_with_size_class_and_cost_and_kept_for_their_time(lab: Lab) -> None:
    provider = lab.begin()
    lab.replicated("StatefulSet", "db", 1, serviceName="db", volumeClaimTemplates=[TEMPLATE], pod=MOUNTING)
    (claim,) = [one for one in lab.look().left if one.kind is Kind.CLAIM]
    assert (claim.id.partition("@")[0], claim.type) == (f"{LEASE_ID}/data-db-0", "50 GiB standard")
    assert (claim.condition, claim.reason) == (Condition.RUNNING, "5.00 USD a month, mounted by db-0")
    provider.stop(LEASE_ID, PLACE, silent)
    known = (*lab.provisioned.resources, *lab.look().resources)
    with pytest.raises(PermanentError) as caught:
        provider.delete(LEASE_ID, PLACE, known, silent)
    assert f"claim {LEASE_ID}/data-db-0, 50 GiB of class standard, 5.00 USD a month" in str(caught.value)
    lab.ground.running.advance(seconds=5)
    assert (lab.names("StatefulSet"), lab.names("PersistentVolumeClaim")) == ([], ["data-db-0"])
    lab.ground.running.advance(days=7)
    (lab.ground.home / "lessor.kubeconfig").write_text(lab.ground.running.kubeconfig)
    provider.delete(LEASE_ID, PLACE, known, silent)
    assert lab.existing(LEASE_ID) == []
    assert lab.look(*known).clean


def test_D08_a_disk_that_its_class_retains_is_told_until_somebody_has_deleted_it(lab: Lab) -> None:
    lab.place = replace(lab.place, claims_kept=timedelta())
    provider = lab.begin()
    kept = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "storageClassName": "keep"}}
    lab.replicated("StatefulSet", "db", 1, serviceName="db", volumeClaimTemplates=[kept], pod=MOUNTING)
    known = (*lab.provisioned.resources, *lab.look().resources)
    with pytest.raises(
        PermanentError, match=r"50 GiB of class keep, 5.00 USD a month, is released and its class retains"
    ):
        provider.delete(LEASE_ID, PLACE, known, silent)
    (disk,) = lab.look(*known).left
    assert (disk.kind, disk.condition, disk.type) == (Kind.VOLUME, Condition.STOPPED, "50 GiB keep")
    lab.place = replace(lab.place, delete_retained=True)
    lab.provider().delete(LEASE_ID, PLACE, known, silent)
    assert lab.look(*known).clean


# -- D21 --------------------------------------------------------------------------------------------------------------


def test_D21_every_deletion_has_its_normal_grace_and_names_the_very_object(lab: Lab) -> None:
    lab.place = replace(lab.place, claims_kept=timedelta())
    provider = lab.begin()
    lab.replicated("Deployment", "train", 1)
    lab.make("Pod", "shell", POD)
    lab.make("PersistentVolumeClaim", "data", TEMPLATE["spec"])
    provider.delete(LEASE_ID, PLACE, lab.provisioned.resources, silent)
    heard = [one for one in lab.ground.running.heard("delete") if one.user.endswith(":lessor")]
    assert [one.resource for one in heard] == ["deployments", "pods", "persistentvolumeclaims", "namespaces"]
    assert [sorted(one.options) for one in heard] == [
        ["apiVersion", "kind", "preconditions", "propagationPolicy"] for _ in heard
    ]
    assert all(one.options["preconditions"]["uid"] for one in heard)


def test_D21_there_is_no_way_to_delete_with_another_grace() -> None:
    assert list(inspect.signature(Api.delete).parameters) == ["self", "kind", "name", "namespace", "uid", "foreground"]
    shipped = {path.name: path.read_text() for path in SHIPPED.glob("*.py")}
    assert [name for name, text in shipped.items() if re.search(r"grace_?period|\"finalizers\": ", text, re.I)] == []


# -- D23 --------------------------------------------------------------------------------------------------------------


def test_D23_a_namespace_made_again_under_the_same_name_is_left_alone_and_told(lab: Lab) -> None:
    provider = lab.begin()
    labels = dict(lab.ground.running.get("Namespace", LEASE_ID)["metadata"]["labels"])  # type: ignore[index]
    lab.ground.running.delete("Namespace", LEASE_ID)
    lab.ground.running.advance(seconds=10)
    as_somebody_else(lab.ground.admin, NAMESPACE, LEASE_ID, labels)
    lab.ground.running.advance(seconds=5)
    lab.make("Pod", "theirs", POD)
    before = lab.writes()
    with pytest.raises(PermanentError, match=rf"namespace {LEASE_ID}@\S+ carries the name or label"):
        provider.delete(LEASE_ID, PLACE, lab.provisioned.resources, silent)
    with pytest.raises(PermanentError, match="no namespace of"):
        provider.stop(LEASE_ID, PLACE, silent)
    assert (lab.writes(), lab.names("Pod")) == (before, ["theirs"])
    assert [one.lease for one in provider.conditions(PLACE)] == []


def test_D23_what_is_not_ours_never_gets_on_the_leases_record(lab: Lab) -> None:
    """On record it would count as proof, and the next attempt would take it down."""
    provider = lab.begin()
    foreign = lab.copy_labels(LEASE_ID)
    work, lease, ledger = taken_down(lab, provider)
    for _ in range(3):
        sighting = ActivityEnvironment().run(work.take_down, LeaseRef(lease.id, lease.revision))
        assert [one.id for one in sighting.left] == [foreign]
        assert sighting.foreign == (f"namespace:{foreign}",)
    assert foreign not in {one.id for one in ledger.resources(lease.id)}
    assert lab.existing(LEASE_ID) == [foreign]
    ledger.close()


def taken_down(lab: Lab, provider: KubernetesProvider) -> tuple[ProvisioningActivities, Lease, Any]:
    """The activities, and a lease on record that is being deleted."""
    order = lab.wanted()
    lease, events = a_story(State.DELETING, request=order.request, quote=order.quote)
    ledger = open_ledger("sqlite://")
    ledger.record(lease, events[-1:])
    ledger.seen(lease.id, lab.provisioned.resources)
    return ProvisioningActivities({"kubernetes": provider}, ledger, lab.ground.now), lease, ledger
