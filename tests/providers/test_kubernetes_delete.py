"""Taking leases down in a cluster: what is ours, in order, with grace; what is kept, stuck or foreign is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, removal
from lessor.providers.kubernetes.api import CLAIM, DEPLOYMENT, JOB, NAMESPACE, POD, STATEFUL_SET, VOLUME
from lessor.providers.kubernetes.ours import identity
from tests.providers.attempts import Beats, Stopped, silent
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased, space

OTHER = "gpu-00000002"


@pytest.fixture
def leased() -> Leased:
    return Leased()


def delete(leased: Leased, *known: Resource) -> None:
    removal.delete(leased.site, LEASE, known, leased.beat)


def refused(leased: Leased, *known: Resource) -> PermanentError:
    with pytest.raises(PermanentError) as caught:
        delete(leased, *known)
    return caught.value


def left(leased: Leased, *known: Resource) -> list[tuple[str, Condition]]:
    return [(r.ref, r.condition) for r in inventory.look(leased.site, LEASE, known).left]


def test_owners_pods_and_claims_go_before_the_namespace_each_by_its_uid(leased: Leased) -> None:
    train = leased.run(DEPLOYMENT, "train", replicas=2)
    shell = leased.run(POD, "shell")
    claim = leased.claim("scratch", labels=LABELS)
    delete(leased)
    assert leased.api.existing(LEASE) == []
    wanted: list[tuple[str, Any, bool]] = [
        ("Deployment", train, True),
        ("Pod", shell, False),
        ("PersistentVolumeClaim", claim, False),
        ("Namespace", leased.space, False),
    ]
    assert leased.api.deleted == [
        {"kind": kind, "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"], "foreground": foreground}
        for kind, obj, foreground in wanted
    ]
    assert leased.told == [
        "deleting Deployment train",
        "deleting Pod shell",
        "deleting PersistentVolumeClaim scratch",
        f"deleting Namespace {LEASE}",
    ]
    assert inventory.look(leased.site, LEASE, [leased.record]).clean


def test_what_is_deleted_twice_is_deleted_once(leased: Leased) -> None:
    delete(leased, leased.record)
    leased.api.calls.clear()
    delete(leased, leased.record)
    assert leased.writes() == []


@pytest.mark.parametrize("stop_at", range(4))
def test_an_attempt_that_is_not_current_deletes_nothing_more_and_the_next_one_the_rest(stop_at: int) -> None:
    leased = Leased()
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.run(JOB, "job")
    leased.claim("scratch", labels=LABELS)
    with pytest.raises(Stopped):
        removal.delete(leased.site, LEASE, (), Beats(stop_at))
    assert len(leased.writes()) == stop_at
    delete(leased)
    assert leased.api.existing(LEASE) == []


def test_a_namespace_of_that_name_that_lessor_did_not_make_is_kept_and_told(leased: Leased) -> None:
    leased.obj(NAMESPACE, LEASE)["metadata"]["managedFields"] = [{"manager": "kubectl-create", "operation": "Update"}]
    leased.run(DEPLOYMENT, "theirs", replicas=1)
    error = refused(leased)
    ref = f"namespace {LEASE}@{leased.space['metadata']['uid']}"
    assert str(error) == (
        f"{ref} carries the name or label of {LEASE} but nothing shows that lessor made it; it was kept. Delete it or "
        "take the label lessor.dev/lease off it"
    )
    assert error.code == "not-ours"
    assert leased.writes() == []
    assert left(leased) == [(f"namespace:{identity(leased.space)}", Condition.RUNNING)]


def test_one_that_was_made_again_under_the_name_on_record_is_foreign_whoever_seems_to_have_made_it(
    leased: Leased,
) -> None:
    before = replace(leased.record, id=f"{LEASE}@11111111-0000-4000-8000-000000000000")
    assert refused(leased, before).code == "not-ours"
    assert leased.writes() == []
    sighting = inventory.look(leased.site, LEASE, [before])
    assert sighting.foreign == (f"namespace:{identity(leased.space)}",)
    delete(leased, before, leased.record)
    assert leased.api.existing(LEASE) == []


def test_one_that_a_launch_without_an_answer_may_have_made_is_ours(leased: Leased) -> None:
    """Case B27: an earlier attempt is on record, the one after it died before its answer came."""
    before = replace(leased.record, id=f"{LEASE}@11111111-0000-4000-8000-000000000000")
    intent = Resource(Kind.INSTANCE, "", token="t", created_at=BEGIN - timedelta(seconds=2))
    delete(leased, before, intent)
    assert leased.api.existing(LEASE) == []
    late = replace(intent, created_at=BEGIN + timedelta(hours=1))
    again = Leased()
    assert refused(again, before, late).code == "not-ours"


def test_copies_of_our_labels_elsewhere_are_kept_and_everything_else_goes(leased: Leased) -> None:
    leased.api.apply(space("sandbox", BEGIN) | {"metadata": {"name": "sandbox"}})
    meta = {"labels": LABELS}
    copies = [
        leased.add(kind, "copy", "sandbox", metadata=dict(meta), spec={"replicas": 0, "suspend": True, **claim})
        for kind, claim in ((STATEFUL_SET, {}), (CLAIM, {"resources": {"requests": {"storage": "1Gi"}}}))
    ]
    error = refused(leased)
    assert [identity(copy) in str(error) for copy in copies] == [True, True]
    assert (NAMESPACE, "", LEASE) not in leased.api.objects
    assert left(leased) == [
        (f"workload:{identity(copies[0])}", Condition.RUNNING),
        (f"claim:{identity(copies[1])}", Condition.RUNNING),
    ]


def test_a_namespace_on_record_whose_label_somebody_took_off_is_shown_and_left_alone(leased: Leased) -> None:
    leased.obj(NAMESPACE, LEASE)["metadata"]["labels"] = {}
    assert inventory.look(leased.site, LEASE).clean
    assert left(leased, leased.record) == [(f"namespace:{identity(leased.space)}", Condition.RUNNING)]
    assert refused(leased, leased.record).code == "not-ours"
    assert leased.writes() == []


def test_peoples_claims_are_kept_for_seven_days_after_the_work_was_stopped_and_told_with_their_cost(
    leased: Leased,
) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    claim = leased.claim("data", 125)
    error = refused(leased)
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
    assert refused(leased).code == "kept"
    leased.now = BEGIN + timedelta(days=7)
    delete(leased)
    assert claim["metadata"]["uid"] in [one["uid"] for one in leased.api.deleted]
    assert leased.api.existing(LEASE) == []


def test_an_unknown_owner_that_runs_on_beside_kept_claims_is_told_first(leased: Leased) -> None:
    leased.claim("data")
    leased.stranger("VirtualMachineInstance", "vm-pod")
    error = refused(leased)
    assert str(error).startswith("VirtualMachineInstance vm is of a kind that lessor does not know and was not touched")
    assert (error.code, leased.pods()) == (NOT_STOPPABLE, ["vm-pod"])
    assert inventory.look(leased.site, LEASE).kept_until is None


def test_claims_that_go_with_their_owner_are_not_kept(leased: Leased) -> None:
    train = leased.run(STATEFUL_SET, "db", replicas=0)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": train["metadata"]["uid"]}
    leased.claim("data-db-0")
    leased.obj(CLAIM, "data-db-0")["metadata"]["ownerReferences"] = [owner]
    delete(leased)
    assert leased.api.existing(LEASE) == []


def test_a_namespace_whose_deletion_is_refused_is_not_waited_for(leased: Leased) -> None:
    leased.api.fail("delete", NAMESPACE, PermanentError("a webhook says no", "forbidden"))
    assert str(refused(leased)) == "a webhook says no"
    assert leased.now == BEGIN


def test_claims_are_counted_from_the_stop_so_that_a_grace_is_not_waited_for_twice(leased: Leased) -> None:
    leased.claim("data")
    notes = {"annotations": {"lessor.dev/stopped-at": (BEGIN - timedelta(days=7)).isoformat()}}
    leased.api.patch(NAMESPACE, LEASE, "", {"metadata": notes})
    delete(leased)
    assert leased.api.existing(LEASE) == []


def test_a_claim_that_a_pod_mounts_is_not_deleted_under_it(leased: Leased) -> None:
    leased.claim("data", labels=LABELS)
    mount = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    pod = leased.stranger("VirtualMachineInstance", "vm-pod")
    leased.obj(POD, "vm-pod")["spec"] |= mount
    assert pod["metadata"]["name"] == "vm-pod"
    delete(leased)
    assert [one["kind"] for one in leased.api.deleted] == ["Namespace"]
    assert leased.api.existing(LEASE) == []


def test_a_stuck_finalizer_is_told_with_what_holds_it_and_never_taken_off(leased: Leased) -> None:
    leased.claim("data", labels=LABELS)
    leased.obj(CLAIM, "data")["metadata"]["finalizers"] = ["backup.example.test/wait"]
    error = refused(leased, leased.record)
    assert error.code == "stuck"
    assert str(error) == (
        f"namespace {LEASE} has been terminating since 2026-11-28T09:00:00Z; "
        "NamespaceContentRemaining: Some resources are remaining: persistentvolumeclaims. has 1 resource instances; "
        "NamespaceFinalizersRemaining: Some content has finalizers remaining: backup.example.test/wait in 1 resource "
        f"instances; persistentvolumeclaim {LEASE}/data is held by the finalizers backup.example.test/wait. Nothing "
        "was forced: whoever set a finalizer has to finish and take it off, see to its controller"
    )
    assert leased.now == BEGIN + timedelta(minutes=5)
    assert leased.obj(CLAIM, "data")["metadata"]["finalizers"] == ["backup.example.test/wait"]
    assert not inventory.look(leased.site, LEASE, [leased.record]).clean
    leased.obj(CLAIM, "data")["metadata"]["finalizers"] = []
    leased.api.calls.clear()
    delete(leased, leased.record)
    assert leased.writes() == []
    assert inventory.look(leased.site, LEASE, [leased.record]).clean


def test_released_volumes_whose_class_retains_the_disk_are_told_until_somebody_deletes_them(leased: Leased) -> None:
    leased.api.nodes.reclaim = "Retain"
    claim = leased.claim("data", 20, LABELS)
    leased.pods()
    error = refused(leased, leased.record)
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
    delete(leased, leased.record)
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
    error = refused(leased, leased.record)
    assert str(error).startswith(
        f"volume {identity(volume)} was bound to a claim in {LEASE} that is not on record as the lease's; it was kept"
    )
    assert leased.obj(VOLUME, "stray")["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert inventory.look(leased.site, LEASE).foreign == (f"volume:{identity(volume)}",)


def test_a_launch_of_late_without_a_trace_is_not_gone(leased: Leased) -> None:
    delete(leased)
    intent = Resource(Kind.INSTANCE, "", token="t", created_at=leased.now)
    with pytest.raises(RetryableError, match="a launch of 2026-11-28 09:00:00 UTC is not shown by the cluster yet"):
        delete(leased, intent)
    assert [(r.token, r.condition) for r in inventory.look(leased.site, LEASE, [intent]).left] == [
        ("t", Condition.UNKNOWN)
    ]
    leased.now += timedelta(minutes=10)
    delete(leased, intent)
    assert inventory.look(leased.site, LEASE, [intent]).clean


@pytest.mark.parametrize("kind", [NAMESPACE, POD, CLAIM, VOLUME])
def test_what_cannot_be_read_is_unknown_and_nothing_is_deleted(leased: Leased, kind: Any) -> None:
    leased.api.fail("list", kind, PermanentError("you may not", "forbidden"), times=None)
    sighting = inventory.look(leased.site, LEASE, [leased.record])
    assert (sighting.complete, sighting.clean, sighting.problem) == (False, False, "you may not")
    with pytest.raises(PermanentError, match="you may not"):
        delete(leased, leased.record)
    with pytest.raises(PermanentError, match="you may not"):
        inventory.conditions(leased.site)
    assert leased.writes() == []


def test_a_deletion_whose_answer_is_lost_is_finished_by_the_next(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    for kind in (DEPLOYMENT, NAMESPACE):
        leased.api.fail("delete", kind, after=True)
        with pytest.raises(RetryableError):
            delete(leased, leased.record)
    delete(leased, leased.record)
    assert leased.api.existing(LEASE) == []


def test_the_watch_shows_every_lease_and_nothing_of_others(leased: Leased) -> None:
    other = leased.api.apply({**space(OTHER, BEGIN), "metadata": {**space(OTHER, BEGIN)["metadata"], "name": OTHER}})
    copied = {"labels": {**LABELS, "lessor.dev/lease": "gpu-00000003"}}
    leased.add(NAMESPACE, "gpu-00000003", metadata=copied)
    leased.claim("data", labels=LABELS)
    leased.pods()
    found = inventory.conditions(leased.site)
    assert [(r.kind, r.lease, r.condition) for r in found] == [
        (Kind.NAMESPACE, OTHER, Condition.RUNNING),
        (Kind.NAMESPACE, LEASE, Condition.RUNNING),
        (Kind.CLAIM, LEASE, Condition.STOPPED),
        (Kind.VOLUME, LEASE, Condition.RUNNING),
    ]
    assert found[0].id == identity(other)


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
    assert refused(leased).code == "kept"
