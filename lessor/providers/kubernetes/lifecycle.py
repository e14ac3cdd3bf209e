"""Stop and start what runs in a lease's namespace, by its top owners. Both look first: a second call changes nothing.

What cannot be started again is not stopped before the lease's end: a bare pod is only ended once that has come, by the
normal deletion that its owner was warned of. Kinds that are not known are told, and touched neither before nor after.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from lessor.contracts import ANNOTATION_PREFIX, NOT_STOPPABLE
from lessor.ports import Heartbeat, PermanentError, ProviderError, RetryableError
from lessor.providers.kubernetes import naming, owners, stuck
from lessor.providers.kubernetes.api import LOCAL_QUEUE, NAMESPACE, POD, RESOURCE_QUOTA, STATEFUL_SET, Obj
from lessor.providers.kubernetes.inventory import namespace_of
from lessor.providers.kubernetes.ours import created_at, ending, made_by_us, noted_at
from lessor.providers.kubernetes.owners import Top, Tree
from lessor.providers.kubernetes.seen import LAUNCHED_AT, STARTED_AT
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.volumes import STOPPED_AT

POLL = timedelta(seconds=5)
LONGEST = timedelta(minutes=20)
QUOTA_BEFORE = f"{ANNOTATION_PREFIX}quota"
"""The annotation of a quota that lets nothing in any more: as JSON, what it let in before."""


def stop(site: Site, lease_id: str, heartbeat: Heartbeat) -> datetime:
    """See that no pod of the lease holds a device, and that nothing new can get one; when that was so.

    Before the lease's end it is all or nothing. Raises `PermanentError`: "none-seen", `NOT_STOPPABLE` with what cannot
    be stopped and started again; `RetryableError` when pods do not end in time.
    """
    space = _seen(site, lease_id)
    tree = owners.read(site, lease_id)
    at = noted_at(space, STOPPED_AT)
    if at is not None and not _awake(tree):
        return at
    over = is_over(space, site.clock())
    if not over and (why := _obstacles(tree)):
        raise PermanentError(f"{why}; nothing was stopped", NOT_STOPPABLE)
    freeze(site, space, heartbeat)
    refused = _settle(site, space, heartbeat, bare=over)
    if refused and not over:
        thaw(site, space, heartbeat)
        raise PermanentError(f"{'; '.join(refused)}; what was stopped was started again", NOT_STOPPABLE)
    if left := [*refused, *filter(None, [_obstacles(owners.read(site, lease_id))])]:
        raise PermanentError(f"{'; '.join(left)}; everything else was stopped", NOT_STOPPABLE)
    at = site.clock().replace(microsecond=0)
    mark(site, space, {STOPPED_AT: naming.instant(at)}, heartbeat)
    return at


def start(site: Site, lease_id: str, heartbeat: Heartbeat) -> datetime:
    """Let devices in again and give every owner that was stopped its former size; when that was done.

    A workspace is seen running. People's own workloads are theirs to look after: they may wait for a node.
    """
    space = _seen(site, lease_id)
    if ending(space):
        raise PermanentError(
            f"the namespace of {lease_id} is terminating and cannot be started again; nothing was changed, "
            "ask for a new lease",
            "terminated",
        )
    if noted_at(space, STOPPED_AT) is None:
        return noted_at(space, STARTED_AT) or noted_at(space, LAUNCHED_AT) or created_at(space) or site.clock()
    thaw(site, space, heartbeat)
    _await_own(site, space, heartbeat)
    at = site.clock().replace(microsecond=0)
    mark(site, space, {STOPPED_AT: None, STARTED_AT: naming.instant(at)}, heartbeat)
    return at


def is_over(space: Obj, now: datetime) -> bool:
    """Whether the end that is written on the namespace has come."""
    ends = noted_at(space, "ends")
    return ends is not None and ends <= now


def freeze(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """Nothing new gets a device: the lease's quota lets none in, and its queue admits nothing."""
    for quota in _quotas(site, space):
        hard = quota.get("spec", {}).get("hard") or {}
        let_in = {name: amount for name, amount in hard.items() if _of_devices(name) and str(amount) != "0"}
        if let_in:
            before = {**_before(quota), **let_in}
            spec = {"hard": dict.fromkeys(let_in, "0")}
            change = {"metadata": {"annotations": {QUOTA_BEFORE: json.dumps(before, sort_keys=True)}}, "spec": spec}
            _patch(site, f"closing quota {_name(quota)}", RESOURCE_QUOTA, quota, change, heartbeat)
    for queue in _queues(site, space):
        if hold := owners.stop_change(queue, site.clock()):
            _patch(site, f"holding {queue}", LOCAL_QUEUE, queue.obj, hold, heartbeat)


def thaw(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """The quota, the queue and every owner that was stopped are as they were before."""
    for quota in _quotas(site, space):
        if before := _before(quota):
            change: dict[str, Any] = {"metadata": {"annotations": {QUOTA_BEFORE: None}}, "spec": {"hard": before}}
            _patch(site, f"opening quota {_name(quota)}", RESOURCE_QUOTA, quota, change, heartbeat)
    for top in (*_queues(site, space), *owners.read(site, _name(space)).tops):
        if top.kind is not None and (back := owners.start_change(top)):
            _patch(site, f"starting {top}", top.kind, top.obj, back, heartbeat)


def mark(site: Site, space: Obj, notes: dict[str, str | None], heartbeat: Heartbeat) -> None:
    """Write annotations of ours on a namespace; `None` takes one off."""
    change = {"metadata": {"annotations": {ANNOTATION_PREFIX + name: text for name, text in notes.items()}}}
    _patch(site, f"noting {', '.join(notes)} on {_name(space)}", NAMESPACE, space, change, heartbeat)


def awaited(
    site: Site, heartbeat: Heartbeat, what: str, left: Callable[[], list[Obj]], longest: timedelta = LONGEST
) -> list[Obj]:
    """Look until nothing is `left`, at most for so long; what is left then."""
    begun = site.clock()
    while there := left():
        if site.clock() - begun >= longest:
            return there
        heartbeat(f"waiting for {what}: {', '.join(_name(one) for one in there[:5])}")
        site.sleep(POLL.total_seconds())
    return []


def _seen(site: Site, lease_id: str) -> Obj:
    space = namespace_of(site, lease_id)
    if space is None:
        raise PermanentError(
            f"{site} shows no namespace of {lease_id} that lessor made; nothing was changed, look at the cluster",
            "none-seen",
        )
    return space


def _awake(tree: Tree) -> bool:
    """Whether anything that was stopped runs again, or would."""
    return any(owners.running(top) for top in tree.tops) or any(owners.wants_device(pod) for pod in tree.pods)


def _obstacles(tree: Tree) -> str:
    """What has devices and cannot be stopped and started again, and what to do about it; empty when nothing is."""
    told = [_obstacle(top) for top in tree.tops if top.wanting and not top.stoppable]
    return "; ".join(told)


def _obstacle(top: Top) -> str:
    if top.kind is POD:
        return (
            f"pod {top.name} has GPUs and no owner that would bring it back: it can be ended, not stopped. Delete it, "
            "or run it as a Job or a Deployment"
        )
    names = ", ".join(_name(pod) for pod in top.wanting[:5])
    how = "has no size that could be set to 0" if top.kind else "is of a kind that lessor does not know"
    return f"{top} {how} and was not touched; its pods have GPUs: {names}. Stop it by its own means"


def _settle(site: Site, space: Obj, heartbeat: Heartbeat, *, bare: bool) -> list[str]:
    """Stop every owner, with `bare` end bare pods that have devices, and see their pods gone; what was refused.

    Owners are read again at each look: one that somebody makes or wakes meanwhile is stopped as well.
    """
    refused: dict[str, str] = {}

    def halted() -> Tree:
        tree = owners.read(site, _name(space))
        for top in tree.tops:
            if top.uid not in refused and (why := _halt(site, top, heartbeat, bare=bare)):
                refused[top.uid] = why
        return tree

    def left() -> list[Obj]:
        tree = halted()
        stopping = (pod for top in tree.tops if top.uid not in refused for pod in _awaited_of(top, bare))
        return [*stopping, *(pod for pod in tree.leaving if not owners.finished(pod))]

    halted()
    there = awaited(site, heartbeat, "pods to end", left)
    if there:
        raise RetryableError(
            f"{', '.join(_name(pod) for pod in there[:5])} did not end within {LONGEST}: "
            f"{stuck.held(there) or 'they are not being deleted yet'}. Nothing was forced; they go on being watched",
            "still-waiting",
        )
    return list(refused.values())


def _halt(site: Site, top: Top, heartbeat: Heartbeat, *, bare: bool) -> str:
    """Stop one; why that was refused, or empty."""
    change = owners.stop_change(top, site.clock())
    try:
        if change is not None and top.kind is not None:
            _patch(site, f"stopping {top}", top.kind, top.obj, change, heartbeat)
        elif bare and top.kind is POD and top.wanting and not ending(top.obj):
            heartbeat(f"ending {top}")
            site.api.delete(POD, top.name, _space(top.obj), top.uid)
    except RetryableError:
        raise
    except ProviderError as error:
        # Another one of that name is there by now: the next look sees it.
        return "" if error.code == "conflict" else f"{top} could not be stopped: {error}"
    return ""


def _awaited_of(top: Top, bare: bool) -> list[Obj]:
    if top.stoppable:
        return [] if owners.done(top) else [pod for pod in top.pods if not owners.finished(pod)]
    return list(top.wanting) if bare and top.kind is POD else []


def _await_own(site: Site, space: Obj, heartbeat: Heartbeat) -> None:
    """See the lease's own workload run."""
    name = _name(space)

    def asleep() -> list[Obj]:
        mine = [one for one in site.api.list(STATEFUL_SET, name) if made_by_us(one, name)]
        return [one for one in mine if int(one.get("status", {}).get("readyReplicas") or 0) < one["spec"]["replicas"]]

    if left := awaited(site, heartbeat, "the workspace to run", asleep, site.config.pending_after):
        raise RetryableError(
            f"{', '.join(_name(one) for one in left)} does not run {site.config.pending_after} after it was started; "
            "it is tried again",
            "not-started",
        )


def _quotas(site: Site, space: Obj) -> list[Obj]:
    name = _name(space)
    return [one for one in site.api.list(RESOURCE_QUOTA, name) if made_by_us(one, name)]


def _queues(site: Site, space: Obj) -> list[Top]:
    """The lease's queues, where there are any: one that is open would wake what was stopped."""
    if not site.api.served(LOCAL_QUEUE):
        return []
    return [Top(LOCAL_QUEUE, one) for one in site.api.list(LOCAL_QUEUE, _name(space))]


def _before(quota: Obj) -> dict[str, Any]:
    try:
        found = json.loads((quota["metadata"].get("annotations") or {}).get(QUOTA_BEFORE, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _of_devices(key: str) -> bool:
    return key.startswith("requests.") and owners.is_device(key.removeprefix("requests."))


def _patch(site: Site, what: str, kind: Any, obj: Obj, change: dict[str, Any], heartbeat: Heartbeat) -> None:
    """Change that very object, if it is still there."""
    heartbeat(what)
    site.api.patch(kind, _name(obj), _space(obj), change, obj["metadata"]["uid"])


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def _space(obj: Obj) -> str:
    return str(obj["metadata"].get("namespace", ""))
