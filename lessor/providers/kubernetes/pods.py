"""Reads what pods ask for, where they are and how they are, from the objects that the API server sends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from lessor.domain.holding import Box, PodUse, asked
from lessor.ports import PermanentError
from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.amounts import count, moment
from lessor.providers.kubernetes.api import POD, Obj
from lessor.providers.kubernetes.site import Site

LIVE = "status.phase!=Succeeded,status.phase!=Failed"
ENDED = ("Succeeded", "Failed")


def live(site: Site, namespace: str = "") -> tuple[Obj, ...]:
    """All pods that have not ended, as they are. Raises `ProviderError` when they cannot all be read."""
    found = site.api.list(POD, namespace, fields=LIVE)
    return tuple(pod for pod in found if (pod.get("status") or {}).get("phase") not in ENDED)


def by_namespace(site: Site, spaces: Collection[str]) -> tuple[dict[str, list[Obj]], dict[str, str]]:
    """The pods of each namespace that have not ended, and why those of some may not be read. Raises if all may not."""
    by_space: dict[str, list[Obj]] = {name: [] for name in spaces}
    unread: dict[str, str] = {}
    try:
        for pod in live(site):
            by_space.get(pod["metadata"]["namespace"], []).append(pod)
    except PermanentError as error:
        for name in spaces if error.code == "forbidden" else ():
            try:
                by_space[name] = list(live(site, name))
            except PermanentError as refusal:
                unread[name] = str(refusal)
        if error.code != "forbidden" or len(unread) == len(by_space):
            raise
    return by_space, unread


def uses(site: Site, found: Iterable[Obj]) -> tuple[PodUse, ...]:
    """Those that have or want GPUs."""
    return tuple(one for one in (pod_use(site, pod) for pod in found) if one.units)


def asks(site: Site, spec: Mapping[str, Any]) -> dict[str, int]:
    """By GPU resource what a pod with this specification asks for in all, none left that it asks nothing of."""
    boxes = [_box(site, one) for one in spec.get("containers") or ()]
    first = [_box(site, one) for one in spec.get("initContainers") or ()]
    found = asked(boxes, first, _gpus(site, spec.get("overhead") or {}))
    return {name: units for name, units in found.items() if units}


def pod_use(site: Site, pod: Obj) -> PodUse:
    """One pod as far as GPUs go, ended or not."""
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    ended = status.get("phase") in ENDED
    own = list(_states(status, "containerStatuses"))
    return PodUse(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        node=spec.get("nodeName") or "",
        units=asks(site, spec),
        created_at=moment(meta.get("creationTimestamp")),
        scheduled_at=_condition_time(status, "PodScheduled") or moment(status.get("startTime")),
        ended=ended,
        ended_at=_ended_at(meta, status) if ended else None,
        delete_by=moment(meta.get("deletionTimestamp")),
        ran=any(_has_run(one) for one in own),
        waiting=_waiting([*own, *_states(status, "initContainerStatuses")]),
        unscheduled=_unscheduled(status),
    )


def ready(pod: Mapping[str, Any]) -> bool:
    """Whether the cluster itself calls it ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def may_go(pod: Obj, nodes: Mapping[str, Sequence[str]]) -> bool:
    """Whether what a pod says of nodes lets it onto those with these labels; what it does not name does not matter."""
    spec = pod.get("spec") or {}
    chosen = spec.get("nodeSelector") or {}
    if any(key in chosen and chosen[key] not in values for key, values in nodes.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    return not terms or any(_fits(term, nodes) for term in terms)


def _fits(term: Mapping[str, Any], nodes: Mapping[str, Sequence[str]]) -> bool:
    rules = [
        one for one in term.get("matchExpressions") or () if one.get("key") in nodes and one.get("operator") == "In"
    ]
    return all(set(one.get("values") or ()) & set(nodes[one["key"]]) for one in rules)


def _box(site: Site, container: Mapping[str, Any]) -> Box:
    """The server takes limits for requests where these are missing; for GPUs both have to be the same."""
    resources = container.get("resources") or {}
    asks = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Box(_gpus(site, asks), container.get("restartPolicy") == "Always")


def _gpus(site: Site, asks: Mapping[str, Any]) -> dict[str, int]:
    return {name: count(amount) or 0 for name, amount in asks.items() if gpus.is_gpu(site, name)}


def _states(status: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    yield from status.get(key) or ()


def _has_run(container: Mapping[str, Any]) -> bool:
    state, last = container.get("state") or {}, container.get("lastState") or {}
    return bool(state.get("running") or _started(state) or _started(last) or container.get("restartCount"))


def _started(state: Mapping[str, Any]) -> bool:
    return bool((state.get("terminated") or {}).get("startedAt"))


def _waiting(containers: Iterable[Mapping[str, Any]]) -> str:
    """Why a container does not run, in the cluster's word; that it is about to is no reason."""
    reasons = (((one.get("state") or {}).get("waiting") or {}).get("reason") or "" for one in containers)
    return next((reason for reason in reasons if reason not in ("", "ContainerCreating", "PodInitializing")), "")


def _unscheduled(status: Mapping[str, Any]) -> str:
    """What the scheduler says of why it has found no node."""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return str(one.get("message") or one.get("reason") or "")
    return ""


def _condition_time(status: Mapping[str, Any], kind: str) -> datetime | None:
    for one in status.get("conditions") or ():
        if one.get("type") == kind and one.get("status") == "True":
            return moment(one.get("lastTransitionTime"))
    return None


def _ended_at(meta: Mapping[str, Any], status: Mapping[str, Any]) -> datetime | None:
    """When its last container ended. One that was evicted before it ran tells it by its conditions only."""
    states = [*_states(status, "containerStatuses"), *_states(status, "initContainerStatuses")]
    ends = [moment(((one.get("state") or {}).get("terminated") or {}).get("finishedAt")) for one in states]
    conditions = (one for one in status.get("conditions") or () if one.get("type") in ("Ready", "DisruptionTarget"))
    changes = [moment(one.get("lastTransitionTime")) for one in conditions]
    known = [at for at in ends if at] or [at for at in changes if at]
    return max(known, default=moment(meta.get("deletionTimestamp")))
