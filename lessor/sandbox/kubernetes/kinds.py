"""The kinds of objects that the simulated cluster serves, and groups of them that can be away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OBJECT_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Kind:
    """One kind. `status` says that it has a status of its own; `extension`, the add-on that brings it, if any does.

    `label_names` says that names are DNS labels (63 characters) rather than subdomains.
    """

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    status: bool = True
    extension: str = ""
    label_names: bool = False
    scalable: bool = False
    short: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """As errors, quotas and rules name it, such as `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def counts_generations(self) -> bool:
        """Whether changes of its specification are counted in `metadata.generation`."""
        return bool(self.extension) or self.group in _COUNTED

    @property
    def singular(self) -> str:
        return self.kind.lower()


KUEUE, RAY, KUBEFLOW, SNAPSHOTS = "kueue", "ray", "kubeflow", "snapshots"
EXTENSIONS = (KUEUE, RAY, KUBEFLOW, SNAPSHOTS)
"""Add-ons that a cluster may have or not."""

_APPS, _BATCH, _RBAC, _STORAGE = "apps", "batch", "rbac.authorization.k8s.io", "storage.k8s.io"
_DRA, _QUEUE, _SNAPSHOT = "resource.k8s.io", "kueue.x-k8s.io", "snapshot.storage.k8s.io"

KINDS = (
    Kind("Namespace", "namespaces", namespaced=False, label_names=True, short=("ns",)),
    Kind("Node", "nodes", namespaced=False, short=("no",)),
    Kind("Pod", "pods", short=("po",)),
    Kind("Event", "events", status=False, short=("ev",)),
    Kind("PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",)),
    Kind("PersistentVolume", "persistentvolumes", namespaced=False, short=("pv",)),
    Kind("ResourceQuota", "resourcequotas", short=("quota",)),
    Kind("LimitRange", "limitranges", status=False, short=("limits",)),
    Kind("ServiceAccount", "serviceaccounts", status=False, short=("sa",)),
    Kind("Service", "services", label_names=True, short=("svc",)),
    Kind("ConfigMap", "configmaps", status=False, short=("cm",)),
    Kind("Secret", "secrets", status=False),
    Kind("Deployment", "deployments", _APPS, scalable=True, short=("deploy",)),
    Kind("ReplicaSet", "replicasets", _APPS, scalable=True, short=("rs",)),
    Kind("StatefulSet", "statefulsets", _APPS, scalable=True, short=("sts",)),
    Kind("DaemonSet", "daemonsets", _APPS, short=("ds",)),
    Kind("Job", "jobs", _BATCH),
    Kind("CronJob", "cronjobs", _BATCH, short=("cj",)),
    Kind("Role", "roles", _RBAC, status=False),
    Kind("RoleBinding", "rolebindings", _RBAC, status=False),
    Kind("ClusterRole", "clusterroles", _RBAC, namespaced=False, status=False),
    Kind("ClusterRoleBinding", "clusterrolebindings", _RBAC, namespaced=False, status=False),
    Kind("NetworkPolicy", "networkpolicies", "networking.k8s.io", status=False, short=("netpol",)),
    Kind("StorageClass", "storageclasses", _STORAGE, namespaced=False, status=False, short=("sc",)),
    Kind("ResourceClaim", "resourceclaims", _DRA),
    Kind("ResourceClaimTemplate", "resourceclaimtemplates", _DRA, status=False),
    Kind("DeviceClass", "deviceclasses", _DRA, namespaced=False, status=False),
    Kind("ResourceSlice", "resourceslices", _DRA, namespaced=False, status=False),
    Kind("LocalQueue", "localqueues", _QUEUE, "v1beta1", extension=KUEUE),
    Kind("ClusterQueue", "clusterqueues", _QUEUE, "v1beta1", namespaced=False, extension=KUEUE),
    Kind("ResourceFlavor", "resourceflavors", _QUEUE, "v1beta1", namespaced=False, status=False, extension=KUEUE),
    Kind("Workload", "workloads", _QUEUE, "v1beta1", extension=KUEUE),
    Kind("RayCluster", "rayclusters", "ray.io", extension=RAY),
    Kind("RayJob", "rayjobs", "ray.io", extension=RAY),
    Kind("PyTorchJob", "pytorchjobs", "kubeflow.org", extension=KUBEFLOW),
    Kind("Notebook", "notebooks", "kubeflow.org", extension=KUBEFLOW),
    Kind("VolumeSnapshot", "volumesnapshots", _SNAPSHOT, extension=SNAPSHOTS),
    Kind("VolumeSnapshotContent", "volumesnapshotcontents", _SNAPSHOT, namespaced=False, extension=SNAPSHOTS),
    Kind(
        "VolumeSnapshotClass", "volumesnapshotclasses", _SNAPSHOT, namespaced=False, status=False, extension=SNAPSHOTS
    ),
)

_COUNTED = {"apps", "batch", "networking.k8s.io", "resource.k8s.io"}
_BY_KIND = {one.kind: one for one in KINDS}
_BY_ADDRESS = {(one.group, one.version, one.plural): one for one in KINDS}


def kind(name: str) -> Kind:
    """The kind of that name, such as `Pod`. Raises `KeyError`."""
    return _BY_KIND[name]


class Served:
    """What is served now: the built-in kinds and those of the add-ons that are installed."""

    def __init__(self, extensions: set[str] | None = None) -> None:
        self.extensions = set(extensions or ())

    def __iter__(self) -> Iterator[Kind]:
        return (one for one in KINDS if not one.extension or one.extension in self.extensions)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind at that address, if it is served."""
        found = _BY_ADDRESS.get((group, version, plural))
        return found if found and (not found.extension or found.extension in self.extensions) else None

    def groups(self) -> dict[str, list[str]]:
        """Versions by group, without the core."""
        found: dict[str, list[str]] = {"authentication.k8s.io": ["v1"], "authorization.k8s.io": ["v1"]}
        for one in self:
            if one.group and one.version not in found.setdefault(one.group, []):
                found[one.group].append(one.version)
        return found
