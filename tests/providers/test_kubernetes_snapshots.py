"""Snapshots that outlive the namespace: once each, seen ready, retained, and never a left-over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.resource import Condition, Kind
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, removal, snapshots
from lessor.providers.kubernetes.api import CLAIM, SNAPSHOT, SNAPSHOT_CONTENT, Obj
from lessor.providers.kubernetes.ours import identity
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased


@pytest.fixture
def leased() -> Leased:
    made = Leased()
    made.api.extra |= {SNAPSHOT, SNAPSHOT_CONTENT}
    made.claim("data", labels=LABELS)
    made.pods()
    return made


def asked(leased: Leased) -> Obj:
    """The snapshot that lessor has asked for."""
    return leased.obj(SNAPSHOT, f"lessor-{leased.obj(CLAIM, 'data')['metadata']['uid']}")


def taken(leased: Leased) -> None:
    """What the driver does once somebody has asked for a snapshot."""
    asked(leased)["status"] = {"readyToUse": True, "boundVolumeSnapshotContentName": "content-1"}
    leased.add(SNAPSHOT_CONTENT, "content-1", spec={"deletionPolicy": "Delete"}, status={"restoreSize": 100 * 1024**3})


def test_a_snapshot_is_asked_for_once_and_its_content_is_kept(leased: Leased) -> None:
    with pytest.raises(RetryableError, match="the snapshot of gpu-7k3qxa2m/data is not ready after 0:05:00"):
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    taken(leased)
    made = snapshots.snapshot(leased.site, LEASE, leased.beat)
    content = leased.obj(SNAPSHOT_CONTENT, "content-1")
    assert [(one.kind, one.id, one.condition, one.type, one.reason) for one in made] == [
        (Kind.SNAPSHOT, identity(content), Condition.STOPPED, "100 GiB", "of gpu-7k3qxa2m/data")
    ]
    assert content["spec"]["deletionPolicy"] == "Retain"
    assert content["metadata"]["labels"]["lessor.dev/lease"] == LEASE
    assert [write for write in leased.writes() if write[0] == "apply"] == [
        ("apply", "VolumeSnapshot", asked(leased)["metadata"]["name"])
    ]
    assert asked(leased)["spec"] == {"source": {"persistentVolumeClaimName": "data"}}
    assert leased.now == BEGIN + timedelta(minutes=5)


def test_a_kept_snapshot_is_no_left_over(leased: Leased) -> None:
    with pytest.raises(RetryableError):
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    taken(leased)
    snapshots.snapshot(leased.site, LEASE, leased.beat)
    removal.delete(leased.site, LEASE, (), leased.beat)
    assert inventory.look(leased.site, LEASE).clean
    assert (SNAPSHOT_CONTENT, "", "content-1") in leased.api.objects


def test_where_no_driver_takes_snapshots_that_is_told_and_nothing_is_lost(leased: Leased) -> None:
    leased.api.extra.clear()
    with pytest.raises(PermanentError, match=r"no driver that takes snapshots.*nothing was deleted") as caught:
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    assert caught.value.code == "no-snapshots"
    assert leased.writes() == []


def test_a_lease_without_claims_needs_no_driver() -> None:
    assert snapshots.snapshot(Leased().site, LEASE, lambda _: None) == ()


def test_a_snapshot_that_somebody_else_took_is_no_copy_of_what_the_claim_holds_now(leased: Leased) -> None:
    """Neither one by the claim's name, which may be old or of another claim, nor one by the name that lessor takes."""
    ready = {"readyToUse": True, "boundVolumeSnapshotContentName": "old"}
    source = {"source": {"persistentVolumeClaimName": "data"}}
    leased.add(SNAPSHOT, "data", spec=source, status=ready)
    leased.add(SNAPSHOT_CONTENT, "old", spec={"deletionPolicy": "Delete"})
    with pytest.raises(RetryableError, match="is not ready"):
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    assert leased.obj(SNAPSHOT_CONTENT, "old")["spec"] == {"deletionPolicy": "Delete"}
    asked(leased)["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}]
    with pytest.raises(PermanentError, match=r"somebody else's snapshot .* is in the way of that of .*/data") as caught:
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    assert caught.value.code == "foreign"


def test_why_a_snapshot_is_not_taken_is_told_in_the_drivers_words(leased: Leased) -> None:
    with pytest.raises(RetryableError):
        snapshots.snapshot(leased.site, LEASE, leased.beat)
    asked(leased)["status"] = {"readyToUse": False, "error": {"message": "no snapshot class"}}
    with pytest.raises(RetryableError, match=r"not ready after 0:05:00 \(no snapshot class\); nothing was deleted"):
        snapshots.snapshot(leased.site, LEASE, leased.beat)
