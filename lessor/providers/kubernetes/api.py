"""What this provider needs of a cluster, as plain objects: every module here speaks to it, and only `Cluster` to HTTP.

An object is the JSON that the API server sends, with `apiVersion`, `kind` and `metadata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

Obj = dict[str, Any]

FIELD_MANAGER = "lessor"
"""Under this name we apply; the server itself notes it on each object, so that copied labels prove nothing."""


@dataclass(frozen=True)
class ApiKind:
    """A kind of object as its address spells it; `group` is empty for the core."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


NAMESPACE = ApiKind("Namespace", "namespaces", namespaced=False)
NODE = ApiKind("Node", "nodes", namespaced=False)
POD = ApiKind("Pod", "pods")
EVENT = ApiKind("Event", "events")
CLAIM = ApiKind("PersistentVolumeClaim", "persistentvolumeclaims")
VOLUME = ApiKind("PersistentVolume", "persistentvolumes", namespaced=False)
SNAPSHOT = ApiKind("VolumeSnapshot", "volumesnapshots", "snapshot.storage.k8s.io")
SNAPSHOT_CONTENT = ApiKind(
    "VolumeSnapshotContent", "volumesnapshotcontents", "snapshot.storage.k8s.io", namespaced=False
)
RESOURCE_QUOTA = ApiKind("ResourceQuota", "resourcequotas")
LIMIT_RANGE = ApiKind("LimitRange", "limitranges")
SERVICE_ACCOUNT = ApiKind("ServiceAccount", "serviceaccounts")
ROLE_BINDING = ApiKind("RoleBinding", "rolebindings", "rbac.authorization.k8s.io")
NETWORK_POLICY = ApiKind("NetworkPolicy", "networkpolicies", "networking.k8s.io")
DEPLOYMENT = ApiKind("Deployment", "deployments", "apps")
STATEFUL_SET = ApiKind("StatefulSet", "statefulsets", "apps")
REPLICA_SET = ApiKind("ReplicaSet", "replicasets", "apps")
DAEMON_SET = ApiKind("DaemonSet", "daemonsets", "apps")
JOB = ApiKind("Job", "jobs", "batch")
CRON_JOB = ApiKind("CronJob", "cronjobs", "batch")
RESOURCE_CLAIM = ApiKind("ResourceClaim", "resourceclaims", "resource.k8s.io")
DEVICE_CLASS = ApiKind("DeviceClass", "deviceclasses", "resource.k8s.io", namespaced=False)
RESOURCE_SLICE = ApiKind("ResourceSlice", "resourceslices", "resource.k8s.io", namespaced=False)
LOCAL_QUEUE = ApiKind("LocalQueue", "localqueues", "kueue.x-k8s.io", "v1beta1")
CLUSTER_QUEUE = ApiKind("ClusterQueue", "clusterqueues", "kueue.x-k8s.io", "v1beta1", namespaced=False)
QUEUED_WORKLOAD = ApiKind("Workload", "workloads", "kueue.x-k8s.io", "v1beta1")
RESOURCE_FLAVOR = ApiKind("ResourceFlavor", "resourceflavors", "kueue.x-k8s.io", "v1beta1", namespaced=False)
RAY_CLUSTER = ApiKind("RayCluster", "rayclusters", "ray.io")
PYTORCH_JOB = ApiKind("PyTorchJob", "pytorchjobs", "kubeflow.org")
NOTEBOOK = ApiKind("Notebook", "notebooks", "kubeflow.org")


class Api(Protocol):
    """One cluster. Every call has a time limit. All errors are `ProviderError`s: what cannot be read is never empty.

    `RetryableError` for what may pass (no answer, 429, 5xx, a new token that is refused again), `PermanentError` with
    code "forbidden" for 403, "invalid" for 400 and 422, "conflict" for 409, "not-served" for a kind that the cluster
    does not have.
    """

    name: str
    """The place's name."""

    def get(self, kind: ApiKind, name: str, namespace: str = "") -> Obj | None:
        """The object; `None` only where the server itself says that there is no such object."""
        ...

    def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
        """All of them, every page, of all namespaces if none is named; begun anew when a page has expired (410)."""
        ...

    def served(self, kind: ApiKind) -> bool:
        """Whether the cluster has this kind at all. Raises rather than guesses."""
        ...

    def apply(self, obj: Mapping[str, Any]) -> Obj:
        """Server-side apply as `FIELD_MANAGER`, taking over fields that others own; the object as it is then."""
        ...

    def create(self, obj: Mapping[str, Any]) -> Obj:
        """Create as `FIELD_MANAGER`. Raises `PermanentError` ("conflict") when the name is taken."""
        ...

    def patch(self, kind: ApiKind, name: str, namespace: str, change: Mapping[str, Any], uid: str = "") -> Obj | None:
        """A JSON merge patch; `None` when it is gone. With `uid` only of that very object, else "conflict"."""
        ...

    def delete(self, kind: ApiKind, name: str, namespace: str, uid: str, *, foreground: bool = False) -> bool:
        """Begin to delete that very object, with its normal grace period; false when it is gone already.

        There is no way to force it, here or anywhere else (case D21). Raises "conflict" when another has its name.
        """
        ...

    def token(self, namespace: str, account: str, length: timedelta) -> tuple[str, datetime]:
        """A short-lived token of a service account and when it ends. Secret: never logged, stored or put in errors."""
        ...

    def may(self, verb: str, kind: ApiKind, namespace: str = "", sub: str = "", name: str = "") -> bool:
        """Whether we may, by the cluster's own word; in all namespaces and with all names if none is named."""
        ...

    def endpoint(self) -> tuple[str, str]:
        """The server's address and its certificate authority in PEM (empty for the public ones), for a kubeconfig."""
        ...
