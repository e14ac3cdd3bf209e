"""What lets devices into a lease's namespace, its quota and its queue: closed and opened, as they stood before."""

from __future__ import annotations

import json
from typing import Any

from lessor.contracts import ANNOTATION_PREFIX
from lessor.ports import Heartbeat
from lessor.providers.kubernetes import manifests, owners, queueing
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, ApiKind, Obj
from lessor.providers.kubernetes.ours import made_by_us
from lessor.providers.kubernetes.owners import Top
from lessor.providers.kubernetes.site import Site

QUOTA_BEFORE = f"{ANNOTATION_PREFIX}quota"
"""The annotation of a quota that lets nothing in any more: as JSON, what it let in before."""


def freeze(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """Nothing new gets a device: the lease's quota lets none in, and its queue admits nothing."""
    for quota in _quotas(site, space):
        hard = quota.get("spec", {}).get("hard") or {}
        let_in = {name: amount for name, amount in hard.items() if _of_devices(name) and str(amount) != "0"}
        if let_in:
            before = {**_before(quota), **let_in}
            spec = {"hard": dict.fromkeys(let_in, "0")}
            change = {"metadata": {"annotations": {QUOTA_BEFORE: json.dumps(before, sort_keys=True)}}, "spec": spec}
            patch(site, f"closing quota {name_of(quota)}", RESOURCE_QUOTA, quota, change, heartbeat)
    for queue in _queues(site, space):
        if queue.kind is not None and (hold := owners.stop_change(queue, site.clock())):
            patch(site, f"holding {queue}", queue.kind, queue.obj, hold, heartbeat)


def thaw(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """The quota, the queue and every owner that was stopped are as they were before."""
    unlock(site, space, heartbeat)
    for top in (*_queues(site, space), *owners.read(site, name_of(space)).tops):
        if top.kind is not None and (back := owners.start_change(top)):
            patch(site, f"starting {top}", top.kind, top.obj, back, heartbeat)


def unlock(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """The quota lets in again what it let in before; nothing is started yet."""
    for quota in _quotas(site, space):
        if before := _before(quota):
            change: dict[str, Any] = {"metadata": {"annotations": {QUOTA_BEFORE: None}}, "spec": {"hard": before}}
            patch(site, f"opening quota {name_of(quota)}", RESOURCE_QUOTA, quota, change, heartbeat)


def closed(site: Site, space: Obj) -> bool:
    """Whether the quota is closed now, and what it let in before may be somebody else's."""
    return any(_of_devices(name) for quota in _quotas(site, space) for name in _before(quota))


def mark(site: Site, space: Obj, notes: dict[str, str | None], heartbeat: Heartbeat, version: str = "") -> None:
    """Write annotations of ours on a namespace; `None` takes one off. With `version` only if it is still that one."""
    meta: dict[str, Any] = {"annotations": {ANNOTATION_PREFIX + name: text for name, text in notes.items()}}
    change = {"metadata": {**meta, "resourceVersion": version} if version else meta}
    patch(site, f"noting {', '.join(notes)} on {name_of(space)}", NAMESPACE, space, change, heartbeat)


def patch(site: Site, what: str, kind: ApiKind, obj: Obj, change: dict[str, Any], heartbeat: Heartbeat) -> None:
    """Change that very object, if it is still there."""
    heartbeat(what)
    site.api.patch(kind, name_of(obj), space_of(obj), change, obj["metadata"]["uid"])


def name_of(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def space_of(obj: Obj) -> str:
    return str(obj["metadata"].get("namespace", ""))


def _quotas(site: Site, space: Obj) -> list[Obj]:
    name = name_of(space)
    return [one for one in site.api.list(RESOURCE_QUOTA, name) if made_by_us(one, name)]


def _queues(site: Site, space: Obj) -> list[Top]:
    """The lease's queues, where there are any: one that is open would wake what was stopped."""
    kind = queueing.kind(site)
    return [Top(kind, one) for one in site.api.list(kind, name_of(space))] if kind is not None else []


def _before(quota: Obj) -> dict[str, Any]:
    try:
        found = json.loads((quota["metadata"].get("annotations") or {}).get(QUOTA_BEFORE, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _of_devices(key: str) -> bool:
    if key.endswith(manifests.DEVICES_OF):
        return True
    return key.startswith(manifests.REQUESTS) and owners.is_device(key.removeprefix(manifests.REQUESTS))
