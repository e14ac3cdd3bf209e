"""How far a workspace has come on its way to running, and when it is told that it will not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lessor.contracts import QUEUED
from lessor.domain.holding import PodUse
from lessor.ports import NoCapacityError, PermanentError, ProviderError
from lessor.providers.kubernetes import pods, queued, queueing, turns, workspace
from lessor.providers.kubernetes.api import EVENT, POD, Obj
from lessor.providers.kubernetes.ours import ending
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

LONGEST_WORDS = 300


@dataclass(frozen=True)
class Progress:
    """`missing` is what it waits for, empty once it is usable; `failed` what to give up with. `since` is when it began
    to hold GPUs, as far as the cluster says. What is `queued` is given up without being taken down: it keeps its turn.
    """

    missing: str = ""
    failed: ProviderError | None = None
    since: datetime | None = None
    queued: bool = False


def of_workspace(site: Site, there: Tenancy, begun: datetime) -> Progress:
    """Whether the pod runs and is ready. Each thing that it waits for has the place's time to come about (case D05).

    `begun` is since when it is watched: nobody knows how long a pod is missing that nobody has made.
    """
    pod = site.api.get(POD, workspace.POD, there.lease_id)
    if pod is None:
        return _without_pod(site, there, begun)
    if ending(pod):
        return Progress("its pod is being replaced")
    use = pods.pod_use(site, pod)
    if use.ended:
        status = pod["status"]
        why = f"{status.get('reason') or status['phase']}: {status.get('message', '')}".strip(": ")
        return _waiting(site, use.ended_at, f"its pod has ended ({why})", _broken(site, there, why))
    if not use.node:
        return _without_node(site, there, pod, use)
    if use.waiting:
        why = f"{use.waiting}: {_message(pod, use.waiting)}".strip(": ")
        return _waiting(site, use.since, f"its pod does not start ({why})", _broken(site, there, why))
    return Progress(since=use.since) if pods.ready(pod) else Progress("its pod is starting")


def _without_node(site: Site, there: Tenancy, pod: Obj, use: PodUse) -> Progress:
    """Its place among others is looked up once, when it is told: that reads what waits in the whole cluster."""
    if queued.gated(pod):
        return _in_queue(site, there, use.created_at)
    why = (use.unscheduled or "the scheduler has not looked at it yet")[:LONGEST_WORDS].rstrip(". ")
    if not _over(site, _let_go(site, there) or use.created_at):
        return Progress(f"no node for its pod: {why}")
    stands = turns.added(why, lambda: turns.among_pods(site, pod))
    return Progress(f"no node for its pod: {stands}", _no_room(site, there, stands))


def _in_queue(site: Site, there: Tenancy, since: datetime | None) -> Progress:
    """The queue itself keeps the pod back: it stays where it stands, however long that takes."""
    waits = f"{there} in {site.config.name}"
    if not _over(site, since):
        return Progress(f"its turn in the queue: {waits}")
    stands = turns.added(waits, lambda: turns.in_queue(site, there.lease_id))
    told = f"{there.lease_id} waits in the queue of {site}: {stands}. It keeps its turn, and costs nothing meanwhile"
    return Progress(stands, NoCapacityError(told, (stands,), QUEUED), queued=True)


def _let_go(site: Site, there: Tenancy) -> datetime | None:
    """Since when a pod may have a node that a queue had kept back."""
    return turns.let_go_at(site, there.lease_id) if queueing.queued(site) else None


def _without_pod(site: Site, there: Tenancy, begun: datetime) -> Progress:
    """Nobody has made the pod: admission refuses it, or its controller is away."""
    events = site.api.list(EVENT, there.lease_id, fields=f"involvedObject.name={workspace.NAME}")
    refused = [str(one.get("message", "")) for one in events if one.get("type") == "Warning"]
    why = refused[-1][:LONGEST_WORDS] if refused else "nobody has made its pod yet"
    return _waiting(site, begun, why, _broken(site, there, why))


def _waiting(site: Site, since: datetime | None, missing: str, failed: ProviderError) -> Progress:
    return Progress(missing, failed if _over(site, since) else None)


def _over(site: Site, since: datetime | None) -> bool:
    """Whether it has had the place's time to come about; what has not begun has not."""
    waited = site.clock() - since if since is not None else timedelta()
    return waited >= site.config.pending_after


def _no_room(site: Site, there: Tenancy, why: str) -> NoCapacityError:
    """The scheduler's own words: they say whether GPUs, memory or a taint are the matter."""
    return NoCapacityError(
        f"{there.lease_id} found no node in {site} within {site.config.pending_after}: {why}. It cost nothing, and "
        "what was made of it was deleted again",
        (f"{there} in {site.config.name} ({why})",),
        "unschedulable",
    )


def _broken(site: Site, there: Tenancy, why: str) -> PermanentError:
    return PermanentError(
        f"{there.lease_id} did not start in {site} within {site.config.pending_after}: {why[:LONGEST_WORDS]}. What was "
        "made of it was deleted again; correct the cause and ask again",
        "not-started",
    )


def _message(pod: Obj, reason: str) -> str:
    status = pod.get("status") or {}
    states = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    found: list[dict[str, Any]] = [(one.get("state") or {}).get("waiting") or {} for one in states]
    return next((str(one.get("message", "")) for one in found if one.get("reason") == reason), "")
