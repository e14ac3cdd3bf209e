"""Snapshots that outlive the namespace: once each, seen ready, retained, and never a left-over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.resource import Condition, Kind
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import inventory, removal, snapshots
from lessor.providers.kubernetes.api import SNAPSHOT, SNAPSHOT_CONTENT
from lessor.providers.kubernetes.ours import identity
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased


@pytest.fixture
def leased() -> Leased:
    made = Leased()
    made.api.extra |= {SNAPSHOT, SNAPSHOT_CONTENT}
    made.claim("data", labels=LABELS)
    made.pods()
    return made


def taken(leased: Leased) -> None:
    """What the driver does once somebody has asked for a snapshot."""
    status = {"readyToUse": True, "boundVolumeSnapshotContentName": "content-1"}
    leased.obj(SNAPSHOT, "data")["status"] = status
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
    assert [write for write in leased.writes() if write[0] == "apply"] == [("apply", "VolumeSnapshot", "data")]
    assert leased.obj(SNAPSHOT, "data")["spec"] == {"source": {"persistentVolumeClaimName": "data"}}
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
