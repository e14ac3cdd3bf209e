"""Taking leases down in a cluster: what is ours, in order, with grace; what is kept, stuck or foreign is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, removal
from lessor.providers.kubernetes.api import CLAIM, DEPLOYMENT, JOB, NAMESPACE, POD, VOLUME
from lessor.providers.kubernetes.ours import identity
from tests.providers.attempts import Beats, Stopped
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased, space

OTHER = "gpu-00000002"


def test_owners_pods_and_claims_go_before_the_namespace_each_by_its_uid(leased: Leased) -> None:
    train = leased.run(DEPLOYMENT, "train", replicas=2)
    shell = leased.run(POD, "shell")
    claim = leased.claim("scratch", labels=LABELS)
    leased.delete()
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
    leased.delete(leased.record)
    leased.api.calls.clear()
    leased.delete(leased.record)
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
    leased.delete()
    assert leased.api.existing(LEASE) == []


def test_a_namespace_of_that_name_that_lessor_did_not_make_is_kept_and_told(leased: Leased) -> None:
    leased.obj(NAMESPACE, LEASE)["metadata"]["managedFields"] = [{"manager": "kubectl-create", "operation": "Update"}]
    leased.run(DEPLOYMENT, "theirs", replicas=1)
    error = leased.refused()
    ref = f"namespace {LEASE}@{leased.space['metadata']['uid']}"
    assert str(error) == (
        f"{ref} carries the name or label of {LEASE} but nothing shows that lessor made it; it was kept. Delete it or "
        "take the label lessor.dev/lease off it"
    )
    assert error.code == "not-ours"
    assert leased.writes() == []
    assert leased.left() == [(f"namespace:{identity(leased.space)}", Condition.RUNNING)]


def test_a_stuck_finalizer_is_told_with_what_holds_it_and_never_taken_off(leased: Leased) -> None:
    leased.claim("data", labels=LABELS)
    leased.obj(CLAIM, "data")["metadata"]["finalizers"] = ["backup.example.test/wait"]
    error = leased.refused(leased.record)
    assert error.code == "stuck"
    assert str(error) == (
        f"namespace {LEASE} has been terminating since 2026-11-28T09:00:00Z; "
        "NamespaceContentRemaining: Some resources are remaining: persistentvolumeclaims. has 1 resource instances; "
        "NamespaceFinalizersRemaining: Some content has finalizers remaining: backup.example.test/wait in 1 resource "
        f"instances; persistentvolumeclaim {LEASE}/data is held by the finalizers backup.example.test/wait. Nothing "
        "was forced: whoever set a finalizer has to finish and take it off, see to its controller"
    )
    assert leased.now == BEGIN + timedelta(seconds=90)
    assert leased.obj(CLAIM, "data")["metadata"]["finalizers"] == ["backup.example.test/wait"]
    assert not inventory.look(leased.site, LEASE, [leased.record]).clean
    leased.obj(CLAIM, "data")["metadata"]["finalizers"] = []
    leased.api.calls.clear()
    leased.delete(leased.record)
    assert leased.writes() == []
    assert inventory.look(leased.site, LEASE, [leased.record]).clean


def test_a_launch_of_late_without_a_trace_is_not_gone(leased: Leased) -> None:
    leased.delete()
    intent = Resource(Kind.INSTANCE, "", token="t", created_at=leased.now)
    with pytest.raises(RetryableError, match="a launch of 2026-11-28 09:00:00 UTC is not shown by the cluster yet"):
        leased.delete(intent)
    assert [(r.token, r.condition) for r in inventory.look(leased.site, LEASE, [intent]).left] == [
        ("t", Condition.UNKNOWN)
    ]
    leased.now += timedelta(minutes=10)
    leased.delete(intent)
    assert inventory.look(leased.site, LEASE, [intent]).clean


@pytest.mark.parametrize("kind", [NAMESPACE, POD, CLAIM, VOLUME])
def test_what_cannot_be_read_is_unknown_and_nothing_is_deleted(leased: Leased, kind: Any) -> None:
    leased.api.fail("list", kind, PermanentError("you may not", "forbidden"), times=None)
    sighting = inventory.look(leased.site, LEASE, [leased.record])
    assert (sighting.complete, sighting.clean, sighting.problem) == (False, False, "you may not")
    with pytest.raises(PermanentError, match="you may not"):
        leased.delete(leased.record)
    assert leased.writes() == []


def test_a_deletion_whose_answer_is_lost_is_finished_by_the_next(leased: Leased) -> None:
    leased.run(DEPLOYMENT, "train", replicas=1)
    for kind in (DEPLOYMENT, NAMESPACE):
        leased.api.fail("delete", kind, after=True)
        with pytest.raises(RetryableError):
            leased.delete(leased.record)
    leased.delete(leased.record)
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
