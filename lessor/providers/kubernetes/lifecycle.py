"""Stop and start what runs in a lease's namespace, by its top owners. Both look first: a second call changes nothing.

What cannot be started again is not stopped before the lease's end: a bare pod is only ended once that has come, by the
normal deletion that its owner was warned of. Kinds that are not known are told, and touched neither before nor after.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.request import LeaseKind
from lessor.ports import Heartbeat, NoCapacityError, PermanentError, ProviderError, RetryableError
from lessor.providers.instants import instant
from lessor.providers.kubernetes import gate, owners, progress, stuck, tenancy
from lessor.providers.kubernetes.api import POD, Obj
from lessor.providers.kubernetes.gate import name_of, space_of
from lessor.providers.kubernetes.inventory import namespace_of
from lessor.providers.kubernetes.ours import created_at, ending, noted_at
from lessor.providers.kubernetes.owners import Top, Tree
from lessor.providers.kubernetes.reopening import reopen
from lessor.providers.kubernetes.seen import LAUNCHED_AT, STARTED_AT
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy
from lessor.providers.kubernetes.volumes import STOPPED_AT

POLL = timedelta(seconds=5)
LONGEST = timedelta(minutes=20)


def stop(site: Site, lease_id: str, heartbeat: Heartbeat) -> datetime:
    """See that no pod of the lease holds a device, and that nothing new can get one; when that was so.

    Before the lease's end it is all or nothing. Raises `PermanentError`: "none-seen", `NOT_STOPPABLE` with what cannot
    be stopped and started again; `RetryableError` when pods do not end in time.
    """
    space = _seen(site, lease_id)
    at = noted_at(space, STOPPED_AT)
    if at is not None:
        # A start that was given up halfway may have opened the quota.
        gate.freeze(site, space, heartbeat)
    tree = owners.read(site, lease_id)
    if at is not None and not _awake(tree):
        return at
    over = is_over(space, site.clock())
    if not over and (why := obstacles(tree)):
        raise PermanentError(f"{why}; nothing was stopped", NOT_STOPPABLE)
    gate.freeze(site, space, heartbeat)
    refused = _settle(site, space, heartbeat, bare=over)
    if refused and not over:
        gate.thaw(site, space, heartbeat)
        raise PermanentError(f"{'; '.join(refused)}; what was stopped was started again", NOT_STOPPABLE)
    if left := [*refused, *filter(None, [obstacles(owners.read(site, lease_id))])]:
        raise PermanentError(f"{'; '.join(left)}; everything else was stopped", NOT_STOPPABLE)
    return _settled(site, space, STOPPED_AT, {}, heartbeat)


def start(site: Site, lease_id: str, heartbeat: Heartbeat) -> datetime:
    """Let devices in again and give every owner that was stopped its former size; when that was done.

    A workspace is seen running. People's own workloads are theirs to look after: they may wait for a node. Raises
    `NoCapacityError` when others have what it would need, `PermanentError` when a workspace does not run; it is stopped
    still, or again.
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
    there = tenancy.read(space)
    try:
        reopen(site, there, heartbeat)
    except NoCapacityError:
        _settle(site, space, heartbeat, bare=False)
        raise
    gate.thaw(site, space, heartbeat)
    if there.kind is LeaseKind.WORKSPACE:
        _await_workspace(site, there, heartbeat)
    return _settled(site, space, STARTED_AT, {STOPPED_AT: None}, heartbeat)


def is_over(space: Obj, now: datetime) -> bool:
    """Whether the end that is written on the namespace has come."""
    ends = noted_at(space, "ends")
    return ends is not None and ends <= now


def awaited(
    site: Site, heartbeat: Heartbeat, what: str, left: Callable[[], list[Obj]], longest: timedelta = LONGEST
) -> list[Obj]:
    """Look until nothing is `left`, at most for so long; what is left then."""
    begun = site.clock()
    while there := left():
        if site.clock() - begun >= longest:
            return there
        heartbeat(f"waiting for {what}: {', '.join(name_of(one) for one in there[:5])}")
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


def _settled(site: Site, space: Obj, name: str, besides: dict[str, str | None], heartbeat: Heartbeat) -> datetime:
    """Note the time, once: of two attempts that run at the same time the second says what the first one noted."""
    before, at = noted_at(space, name), site.clock().replace(microsecond=0)
    while True:
        now = _seen(site, name_of(space))
        noted = noted_at(now, name)
        if noted is not None and noted != before:
            return noted
        try:
            gate.mark(site, now, {**besides, name: instant(at)}, heartbeat, now["metadata"]["resourceVersion"])
        except ProviderError as error:
            if error.code not in ("conflict", "contended"):
                raise
        else:
            return at


def _awake(tree: Tree) -> bool:
    """Whether anything that was stopped runs again, or would."""
    return any(owners.running(top) for top in tree.tops) or any(owners.wants_device(pod) for pod in tree.pods)


def obstacles(tree: Tree) -> str:
    """What has devices and cannot be stopped and started again, and what to do about it; empty when nothing is."""
    told = [_obstacle(top) for top in tree.tops if top.wanting and not top.stoppable]
    return "; ".join(told)


def _obstacle(top: Top) -> str:
    if top.kind is POD:
        return (
            f"pod {top.name} has GPUs and no owner that would bring it back: it can be ended, not stopped. Delete it, "
            "or run it as a Job or a Deployment"
        )
    names = ", ".join(name_of(pod) for pod in top.wanting[:5])
    how = "has no size that could be set to 0" if top.kind else "is of a kind that lessor does not know"
    return f"{top} {how} and was not touched; its pods have GPUs: {names}. Stop it by its own means"


def _settle(site: Site, space: Obj, heartbeat: Heartbeat, *, bare: bool) -> list[str]:
    """Stop every owner, with `bare` end bare pods that have devices, and see their pods gone; what was refused.

    Owners are read again at each look: one that somebody makes or wakes meanwhile is stopped as well.
    """
    refused: dict[str, str] = {}

    def halted() -> Tree:
        tree = owners.read(site, name_of(space))
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
            f"{', '.join(name_of(pod) for pod in there[:5])} did not end within {LONGEST}: "
            f"{stuck.held(there) or 'they are not being deleted yet'}. Nothing was forced; they go on being watched",
            "still-waiting",
        )
    return list(refused.values())


def _halt(site: Site, top: Top, heartbeat: Heartbeat, *, bare: bool) -> str:
    """Stop one; why that was refused, or empty."""
    change = owners.stop_change(top, site.clock())
    try:
        if change is not None and top.kind is not None:
            gate.patch(site, f"stopping {top}", top.kind, top.obj, change, heartbeat)
        elif bare and top.kind is POD and top.wanting and not ending(top.obj):
            heartbeat(f"ending {top}")
            site.api.delete(POD, top.name, space_of(top.obj), top.uid)
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


def _await_workspace(site: Site, there: Tenancy, heartbeat: Heartbeat) -> None:
    """See the lease's own pod run; what does not is stopped again, so that it holds nothing unseen."""
    begun = site.clock()
    while (seen := progress.of_workspace(site, there, begun)).missing:
        waited = site.clock() - begun
        if seen.failed is not None and waited >= site.config.pending_after:
            gate.freeze(site, there.obj, heartbeat)
            _settle(site, there.obj, heartbeat, bare=False)
            why = f"{there.lease_id} did not run {waited} after it was started: {seen.missing}. It was stopped again"
            if isinstance(seen.failed, NoCapacityError):
                raise NoCapacityError(why, seen.failed.tried, seen.failed.code)
            raise PermanentError(why, "not-started")
        if waited >= LONGEST:
            raise RetryableError(
                f"{there.lease_id} does not run yet: {seen.missing}; it is waited for", "still-waiting"
            )
        heartbeat(f"waiting for {there.lease_id}: {seen.missing}")
        site.sleep(POLL.total_seconds())
