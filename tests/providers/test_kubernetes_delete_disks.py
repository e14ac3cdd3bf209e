"""Disks of a lease that goes: claims that are kept for a while, and volumes that outlive their claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError
from lessor.providers.kubernetes import inventory
from lessor.providers.kubernetes.api import CLAIM, DEPLOYMENT, NAMESPACE, POD, STATEFUL_SET, VOLUME
from lessor.providers.kubernetes.ours import identity
from tests.providers.attempts import silent
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased


def test_peoples_claims_are_kept_for_seven_days_after_the_work_was_stopped_and_told_with_their_cost(
    leased: Leased,
) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    claim = leased.claim("data", 125)
    error = leased.refused()
    assert str(error) == (
        f"kept until 2026-12-05 09:00 UTC, as the organisation says of claims that people made: claim {LEASE}/data, "
        f"125 GiB of class fast, 12.50 USD a month. Nothing new gets GPUs in namespace {LEASE}; whoever needs the data "
        "copies it until then"
    )
    assert error.code == "kept"
    assert (leased.pods(), leased.hard()["requests.nvidia.com/gpu"]) == ([], "0")
    sighting = inventory.look(leased.site, LEASE)
    assert sighting.kept_until == BEGIN + timedelta(days=7)
    assert [(r.kind, r.condition, r.type, r.reason) for r in sighting.left] == [
        (Kind.NAMESPACE, Condition.STOPPED, "Namespace", ""),
        (Kind.CLAIM, Condition.STOPPED, "125 GiB fast", "12.50 USD a month"),
        (Kind.VOLUME, Condition.RUNNING, "125 GiB", "12.50 USD a month, bound, the disk goes with its claim"),
    ]
    leased.now = BEGIN + timedelta(days=7) - timedelta(seconds=1)
    assert leased.refused().code == "kept"
    leased.now = BEGIN + timedelta(days=7)
    leased.delete()
    assert claim["metadata"]["uid"] in [one["uid"] for one in leased.api.deleted]
    assert leased.api.existing(LEASE) == []


def test_an_unknown_owner_that_runs_on_beside_kept_claims_is_told_first(leased: Leased) -> None:
    leased.claim("data")
    leased.stranger("VirtualMachineInstance", "vm-pod")
    error = leased.refused()
    assert str(error).startswith("VirtualMachineInstance vm is of a kind that lessor does not know and was not touched")
    assert (error.code, leased.pods()) == (NOT_STOPPABLE, ["vm-pod"])
    assert inventory.look(leased.site, LEASE).kept_until is None


def test_claims_that_go_with_their_owner_are_not_kept(leased: Leased) -> None:
    train = leased.run(STATEFUL_SET, "db", replicas=0)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": train["metadata"]["uid"]}
    leased.claim("data-db-0")
    leased.obj(CLAIM, "data-db-0")["metadata"]["ownerReferences"] = [owner]
    leased.delete()
    assert leased.api.existing(LEASE) == []


def test_a_namespace_whose_deletion_is_refused_is_not_waited_for(leased: Leased) -> None:
    leased.api.fail("delete", NAMESPACE, PermanentError("a webhook says no", "forbidden"))
    assert str(leased.refused()) == "a webhook says no"
    assert leased.now == BEGIN


def test_claims_are_counted_from_the_stop_so_that_a_grace_is_not_waited_for_twice(leased: Leased) -> None:
    leased.claim("data")
    notes = {"annotations": {"lessor.dev/stopped-at": (BEGIN - timedelta(days=7)).isoformat()}}
    leased.api.patch(NAMESPACE, LEASE, "", {"metadata": notes})
    leased.delete()
    assert leased.api.existing(LEASE) == []


def test_a_claim_that_a_pod_mounts_is_not_deleted_under_it(leased: Leased) -> None:
    leased.claim("data", labels=LABELS)
    mount = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    pod = leased.stranger("VirtualMachineInstance", "vm-pod")
    leased.obj(POD, "vm-pod")["spec"] |= mount
    assert pod["metadata"]["name"] == "vm-pod"
    leased.delete()
    assert [one["kind"] for one in leased.api.deleted] == ["Namespace"]
    assert leased.api.existing(LEASE) == []


def test_released_volumes_whose_class_retains_the_disk_are_told_until_somebody_deletes_them(leased: Leased) -> None:
    leased.api.nodes.reclaim = "Retain"
    claim = leased.claim("data", 20, LABELS)
    leased.pods()
    error = leased.refused(leased.record)
    name = f"pv-{claim['metadata']['uid']}"
    assert str(error) == (
        f"volume {name}, 20 GiB, 2.00 USD a month, is released and its class retains the disk; it was "
        "kept and goes on costing. No driver made it, so only its owner can delete the disk behind it. Save what is "
        "needed, delete the disk and then the volume"
    )
    assert error.code == "retained"
    record = Resource(Kind.CLAIM, identity(claim), Condition.STOPPED)
    sighting = inventory.look(leased.site, LEASE, [record])
    assert [(r.kind, r.condition, r.reason) for r in sighting.left] == [
        (Kind.VOLUME, Condition.STOPPED, "2.00 USD a month, released, the disk is retained")
    ]
    assert (sighting.foreign, sighting.clean) == ((), False)
    leased.api.remove((VOLUME, "", name))
    assert inventory.look(leased.site, LEASE, [record]).clean


def test_a_retained_disk_is_given_up_where_the_organisation_says_so(leased: Leased) -> None:
    leased.config = replace(leased.config, delete_retained=True)
    leased.api.nodes.reclaim = "Retain"
    claim = leased.claim("data", 20, LABELS)
    leased.pods()
    name = f"pv-{claim['metadata']['uid']}"
    uid = leased.obj(VOLUME, name)["metadata"]["uid"]
    leased.obj(VOLUME, name)["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "csi.example.test"}
    leased.delete(leased.record)
    assert ("patch", "PersistentVolume", name) in leased.writes()
    assert f"giving up the disk of {name}@{uid}" in leased.told
    assert (VOLUME, "", name) not in leased.api.objects


def test_a_volume_of_a_claim_that_nobody_has_on_record_is_never_given_up(leased: Leased) -> None:
    """The name of a namespace alone can come again (case D23)."""
    leased.config = replace(leased.config, delete_retained=True)
    reference = {"kind": "PersistentVolumeClaim", "namespace": LEASE, "name": "x", "uid": "99999999"}
    spec = {"claimRef": reference, "capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Retain"}
    annotations = {"pv.kubernetes.io/provisioned-by": "csi.example.test"}
    volume = leased.add(VOLUME, "stray", spec=spec, metadata={"annotations": annotations}, status={"phase": "Released"})
    error = leased.refused(leased.record)
    assert str(error).startswith(
        f"volume {identity(volume)} was bound to a claim in {LEASE} that is not on record as the lease's; it was kept"
    )
    assert leased.obj(VOLUME, "stray")["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert inventory.look(leased.site, LEASE).foreign == (f"volume:{identity(volume)}",)


def test_claims_that_people_make_get_the_leases_label_and_stay_peoples_own(leased: Leased) -> None:
    """Case C10. Other namespaces' claims and those that are going are left alone."""
    leased.claim("data")
    leased.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    spec = {"resources": {"requests": {"storage": "1Gi"}}}
    leased.add(CLAIM, "theirs", "other", spec=spec)
    made = inventory.attribute(leased.site, leased.beat)
    assert [one.id for one in made] == [identity(leased.obj(CLAIM, "data"))]
    assert leased.obj(CLAIM, "data")["metadata"]["labels"] == {"lessor.dev/lease": LEASE, "lessor.dev/team": "ml"}
    assert leased.told == [f"labelling claim {LEASE}/data"]
    assert inventory.attribute(leased.site, silent) == ()
    assert leased.refused().code == "kept"
