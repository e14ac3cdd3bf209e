"""Cases of ending leases in clusters: what is stuck, stays behind, is forced, or is somebody else's."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import LeaseRef
from lessor.domain import takedown
from lessor.domain.lease import Lease, State
from lessor.domain.resource import Condition, Kind
from lessor.ledger import open_ledger
from lessor.ports import PermanentError
from lessor.providers.kubernetes.api import NAMESPACE, Api
from lessor.providers.kubernetes.provider import KubernetesProvider
from tests.builders import LEASE_ID, a_story
from tests.cases.cluster_lab import POD, Lab
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, as_somebody_else

SHIPPED = Path(inspect.getfile(KubernetesProvider)).parent


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
