"""Snapshots of a lease's claims that outlive its namespace, where the cluster has a driver that takes them.

A snapshot in a namespace goes with it. What stays is its content, which is told to be retained and carries the lease's
label: it is no left-over, since somebody asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from lessor.contracts import LABEL_LEASE, LABEL_MANAGED_BY, MANAGED_BY
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import Heartbeat, PermanentError, RetryableError
from lessor.providers.kubernetes import lifecycle
from lessor.providers.kubernetes.api import CLAIM, SNAPSHOT, SNAPSHOT_CONTENT, Obj
from lessor.providers.kubernetes.inventory import namespace_of
from lessor.providers.kubernetes.ours import created_at, identity, labels, made_by_us, path
from lessor.providers.kubernetes.site import Site

LONGEST = timedelta(minutes=5)
LONGEST_WORDS = 300


def snapshot(site: Site, lease_id: str, heartbeat: Heartbeat) -> tuple[Resource, ...]:
    """One kept snapshot of every claim of the lease that has a volume; those that exist are returned as they are.

    Raises `PermanentError` ("no-snapshots") where the cluster takes none: then nothing is deleted either.
    """
    space = namespace_of(site, lease_id)
    claims = [one for one in site.api.list(CLAIM, lease_id) if _bound(one)] if space is not None else []
    if not claims:
        return ()
    if not site.api.served(SNAPSHOT):
        raise PermanentError(
            f"{site} has no driver that takes snapshots, and {lease_id} asked for them; nothing was deleted. Copy "
            f"what is needed from {', '.join(path(one) for one in claims)} and delete the claims",
            "no-snapshots",
        )
    for claim in claims:
        _take(site, claim, heartbeat)
    return tuple(_kept(site, claim, heartbeat) for claim in claims)


def _take(site: Site, claim: Obj, heartbeat: Heartbeat) -> None:
    """Ask for it, once. One of that name that is not ours is no copy of what the claim holds now."""
    meta, name = claim["metadata"], _name(claim)
    there = site.api.get(SNAPSHOT, name, meta["namespace"])
    if there is not None:
        if not made_by_us(there, meta["namespace"]):
            raise PermanentError(
                f"somebody else's snapshot {meta['namespace']}/{name} is in the way of that of {path(claim)}; nothing "
                "was deleted. Delete it, or give it another name",
                "foreign",
            )
        return
    heartbeat(f"taking a snapshot of {path(claim)}")
    site.api.apply(
        {
            "apiVersion": SNAPSHOT.api_version,
            "kind": SNAPSHOT.kind,
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": {**labels(claim), LABEL_LEASE: meta["namespace"], LABEL_MANAGED_BY: MANAGED_BY},
            },
            "spec": {"source": {"persistentVolumeClaimName": meta["name"]}},
        }
    )


def _name(claim: Obj) -> str:
    """By the claim's uid: people call snapshots of their own by the claim's name."""
    return f"lessor-{claim['metadata']['uid']}"


def _kept(site: Site, claim: Obj, heartbeat: Heartbeat) -> Resource:
    """See the snapshot ready and its content retained."""
    meta, content, problem = claim["metadata"], "", ""

    def unready() -> list[Obj]:
        nonlocal content, problem
        found = site.api.get(SNAPSHOT, _name(claim), meta["namespace"]) or {}
        status = found.get("status") or {}
        content = str(status.get("boundVolumeSnapshotContentName") or "")
        problem = str((status.get("error") or {}).get("message") or "")
        return [] if status.get("readyToUse") and content else [claim]

    if lifecycle.awaited(site, heartbeat, "snapshots", unready, LONGEST):
        why = f" ({problem[:LONGEST_WORDS]})" if problem else ""
        raise RetryableError(
            f"the snapshot of {path(claim)} is not ready after {LONGEST}{why}; nothing was deleted, it is waited for "
            "again",
            "still-waiting",
        )
    marks = {"labels": {LABEL_LEASE: meta["namespace"], LABEL_MANAGED_BY: MANAGED_BY}}
    heartbeat(f"keeping the snapshot {content} of {path(claim)}")
    after = site.api.patch(SNAPSHOT_CONTENT, content, "", {"metadata": marks, "spec": {"deletionPolicy": "Retain"}})
    if after is None:
        raise RetryableError(f"the snapshot {content} of {path(claim)} has vanished; it is taken again", "vanished")
    return Resource(
        Kind.SNAPSHOT,
        identity(after),
        Condition.STOPPED,
        type=_size(after),
        created_at=created_at(after),
        reason=f"of {path(claim)}",
    )


def _bound(claim: Mapping[str, Any]) -> bool:
    return (claim.get("status") or {}).get("phase") == "Bound"


def _size(content: Mapping[str, Any]) -> str:
    size = (content.get("status") or {}).get("restoreSize")
    return f"{int(size) / 1024**3:g} GiB" if size else ""
