"""What lessor has to be allowed in a cluster, and the question whether it is, asked before a lease depends on it.

The table is the same as `deploy/kubernetes/cluster-role.yaml`, rule by rule; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lessor.contracts import LABEL_MANAGED_BY, MANAGED_BY
from lessor.domain.checkup import Checkup
from lessor.ports import ProviderError
from lessor.providers.kubernetes import owners, versions
from lessor.providers.kubernetes.api import (
    CLAIM,
    CLUSTER_QUEUE,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    DEVICE_CLASS,
    EVENT,
    JOB,
    LIMIT_RANGE,
    LOCAL_QUEUE,
    NAMESPACE,
    NETWORK_POLICY,
    NODE,
    NOTEBOOK,
    POD,
    PYTORCH_JOB,
    QUEUED_WORKLOAD,
    RAY_CLUSTER,
    REPLICA_SET,
    RESOURCE_CLAIM,
    RESOURCE_FLAVOR,
    RESOURCE_QUOTA,
    RESOURCE_SLICE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    SNAPSHOT,
    SNAPSHOT_CONTENT,
    STATEFUL_SET,
    VOLUME,
    Api,
    ApiKind,
)
from lessor.providers.kubernetes.errors import without_next
from lessor.providers.kubernetes.place import KubernetesPlace

CLUSTER_ROLE = ApiKind("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False)

READ, SEE = ("get", "list"), ("list",)
FURNISH = (*READ, "create", "patch")
LEAD = (*SEE, "patch", "delete")
OWN = (*FURNISH, "delete")
MOST_NAMED = 5


@dataclass(frozen=True)
class Right:
    """Verbs on a kind, and what for. `name` is the only object that it is about, if it is about one."""

    kind: ApiKind
    verbs: tuple[str, ...]
    why: str
    sub: str = ""
    name: str = ""


ALWAYS = (
    Right(NAMESPACE, OWN, "leases have namespaces of their own"),
    Right(NODE, SEE, "to see what GPUs there are"),
    Right(EVENT, SEE, "to say why something does not start"),
    Right(POD, (*READ, "delete"), "to see who holds GPUs"),
    Right(RESOURCE_QUOTA, FURNISH, "leases are limited by quotas"),
    Right(LIMIT_RANGE, FURNISH, "leases have limits"),
    Right(SERVICE_ACCOUNT, OWN, "access is given through an account"),
    Right(SERVICE_ACCOUNT, ("create",), "access ends by itself", sub="token"),
    Right(NETWORK_POLICY, FURNISH, "leases are walled off"),
    Right(ROLE_BINDING, FURNISH, "owners get a role in their namespace"),
    Right(CLAIM, OWN, "workspaces have a volume"),
    Right(VOLUME, ("list", "patch"), "to prove that no disk is left"),
    Right(STATEFUL_SET, OWN, "workspaces are stateful sets"),
    *(Right(kind, LEAD, "to stop and end what runs") for kind in (DEPLOYMENT, REPLICA_SET, JOB, CRON_JOB)),
    Right(DAEMON_SET, (*SEE, "delete"), "to end what runs"),
)

WHERE_SERVED = (
    Right(RESOURCE_CLAIM, SEE, "to count devices that are held without a pod"),
    Right(RESOURCE_SLICE, SEE, "to say what model such devices are"),
    Right(DEVICE_CLASS, SEE, "to let pods have devices that the scheduler claims for them"),
    Right(SNAPSHOT, FURNISH, "to keep a snapshot where a lease asks for one"),
    Right(SNAPSHOT_CONTENT, ("patch",), "to keep a snapshot when its namespace goes"),
    Right(LOCAL_QUEUE, FURNISH, "leases wait in a queue"),
    Right(CLUSTER_QUEUE, SEE, "to see what a queue keeps"),
    Right(QUEUED_WORKLOAD, SEE, "to see what waits in a queue"),
    Right(RESOURCE_FLAVOR, SEE, "to say for which model it is"),
    *(Right(kind, LEAD, "to stop and end what runs") for kind in (RAY_CLUSTER, PYTORCH_JOB, NOTEBOOK)),
)
"""Asked for only where the cluster has the kind."""

VERSIONS = (
    dict.fromkeys((RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS), versions.DEVICES)
    | dict.fromkeys((LOCAL_QUEUE, CLUSTER_QUEUE, QUEUED_WORKLOAD, RESOURCE_FLAVOR), versions.QUEUES)
    | owners.ADDED
)
"""In which versions each of these is used."""


def wanted(place: KubernetesPlace) -> tuple[Right, ...]:
    """All rights that lessor uses in a cluster, the right to grant the place's role among them."""
    return (*ALWAYS, Right(CLUSTER_ROLE, ("bind",), "to give owners this role", name=place.role), *WHERE_SERVED)


def check(api: Api, place: KubernetesPlace) -> Checkup:
    """Ask the cluster for every right (case D15). Raises nothing: a cluster that gives no answer is a problem."""
    try:
        return Checkup(place.name, (*_missing(api, place), *_queue(api, place)))
    except ProviderError as error:
        return Checkup(place.name, problem=without_next(str(error)))


def _missing(api: Api, place: KubernetesPlace) -> Iterator[str]:
    spaces: Sequence[str] | None = None
    for right in wanted(place):
        if right in WHERE_SERVED and _spelt(api, right.kind) is None:
            continue
        lacking = [verb for verb in right.verbs if not api.may(verb, right.kind, sub=right.sub, name=right.name)]
        if not lacking:
            continue
        if spaces is None and right.kind.namespaced:
            spaces = _spaces(api)
        yield f"{_words(right, lacking)} {_where(api, right, lacking, spaces or ())}: {right.why}"


def _spelt(api: Api, kind: ApiKind) -> ApiKind | None:
    return versions.served(api, kind, VERSIONS.get(kind, (kind.version,)))


def _queue(api: Api, place: KubernetesPlace) -> Iterator[str]:
    """What keeps leases from the queue of the place: without Kueue nobody waits, without that queue all do for ever."""
    if not place.cluster_queue:
        return
    kind = _spelt(api, CLUSTER_QUEUE)
    if kind is None:
        yield f"put leases into the queue {place.cluster_queue}: the cluster has no Kueue"
    elif api.may("list", kind) and not any(one["metadata"]["name"] == place.cluster_queue for one in api.list(kind)):
        yield f"put leases into the queue {place.cluster_queue}: the cluster has no ClusterQueue of that name"


def _words(right: Right, verbs: Sequence[str]) -> str:
    what = f"{right.kind.plural}{f'.{right.kind.group}' if right.kind.group else ''}"
    return f"{', '.join(verbs)} {what}{f'/{right.sub}' if right.sub else ''}{f' {right.name}' if right.name else ''}"


def _where(api: Api, right: Right, verbs: Sequence[str], spaces: Sequence[str]) -> str:
    """Where a right is missing: everywhere, or in those of our namespaces that refuse it."""
    if not right.kind.namespaced:
        return "in the cluster"
    refusing = [space for space in spaces if not all(api.may(v, right.kind, space, right.sub) for v in verbs)]
    if refusing == list(spaces):
        return "in every namespace"
    more = f" and {len(refusing) - MOST_NAMED} more" if len(refusing) > MOST_NAMED else ""
    there = f"in {', '.join(refusing[:MOST_NAMED])}{more} and " if refusing else ""
    return f"{there}in namespaces that are new"


def _spaces(api: Api) -> tuple[str, ...]:
    """The namespaces of leases; none where we may not even see them, which is a missing right of its own."""
    if not api.may("list", NAMESPACE):
        return ()
    found = api.list(NAMESPACE, labels=f"{LABEL_MANAGED_BY}={MANAGED_BY}")
    return tuple(str(space["metadata"]["name"]) for space in found)
