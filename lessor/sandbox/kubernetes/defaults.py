"""What the server fills in where a person said nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Obj = dict[str, Any]


def filled(kind: str, obj: Obj) -> Obj:
    """The object with its kind's defaults."""
    result = copy.deepcopy(obj)
    if kind in _DEFAULTS:
        _DEFAULTS[kind](result)
    return result


def pod_spec(spec: Obj) -> None:
    """Defaults of a pod, or of a template of pods."""
    _fill(spec, restartPolicy="Always", terminationGracePeriodSeconds=30, dnsPolicy="ClusterFirst")
    _fill(spec, schedulerName="default-scheduler", securityContext={})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for one in [*spec.get("containers", []), *(spec.get("initContainers") or [])]:
        latest = ":" not in one.get("image", "").rpartition("/")[2] or one.get("image", "").endswith(":latest")
        _fill(one, imagePullPolicy="Always" if latest else "IfNotPresent", resources={})
        _fill(one, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
        for port in one.get("ports") or []:
            port.setdefault("protocol", "TCP")


def requests(spec: Obj) -> None:
    """A pod asks for what it is limited to, where it does not say what it asks for; a template of pods does not."""
    for one in [*spec.get("containers", []), *(spec.get("initContainers") or [])]:
        for name, value in (one["resources"].get("limits") or {}).items():
            one["resources"].setdefault("requests", {}).setdefault(name, value)


def _fill(obj: Obj, **values: Any) -> None:
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


def _namespace(obj: Obj) -> None:
    _fill(obj.setdefault("spec", {}), finalizers=["kubernetes"])
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    _fill(obj.setdefault("status", {}), phase="Active")


def _pod(obj: Obj) -> None:
    pod_spec(obj.setdefault("spec", {}))
    requests(obj["spec"])
    _fill(obj["spec"], enableServiceLinks=True, priority=0, preemptionPolicy="PreemptLowerPriority")
    _fill(obj.setdefault("status", {}), phase="Pending")


def _template(obj: Obj) -> Obj:
    spec: Obj = obj.setdefault("spec", {})
    if isinstance(spec.get("template"), dict):
        spec["template"].setdefault("metadata", {})
        pod_spec(spec["template"].setdefault("spec", {}))
    return spec


def _deployment(obj: Obj) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    _fill(_template(obj), replicas=1, strategy=rolling, revisionHistoryLimit=10, progressDeadlineSeconds=600)


def _replica_set(obj: Obj) -> None:
    _fill(_template(obj), replicas=1)


def _stateful_set(obj: Obj) -> None:
    spec = _template(obj)
    _fill(spec, replicas=1, podManagementPolicy="OrderedReady", revisionHistoryLimit=10)
    _fill(spec, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    _fill(spec, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})
    for claim in spec.get("volumeClaimTemplates") or []:
        _fill(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        _fill(claim.setdefault("spec", {}), volumeMode="Filesystem")
        _fill(claim.setdefault("status", {}), phase="Pending")


def _daemon_set(obj: Obj) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    _fill(_template(obj), updateStrategy=rolling, revisionHistoryLimit=10)


def job(obj: Obj) -> None:
    """Defaults of a job; its selector comes from its uid, once it has one."""
    spec = _template(obj)
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(spec, parallelism=1, backoffLimit=6, suspend=False, completionMode="NonIndexed")
    _fill(spec, podReplacementPolicy="TerminatingOrFailed", manualSelector=False)
    uid = obj["metadata"].get("uid")
    if uid and not spec.get("selector"):
        own = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": obj["metadata"]["name"]}
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        old = {"controller-uid": uid, "job-name": obj["metadata"]["name"]}
        labels = spec["template"]["metadata"].setdefault("labels", {})
        labels.update(own | old)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


def _cron_job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, suspend=False, concurrencyPolicy="Allow", successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = spec.get("jobTemplate")
    if isinstance(template, dict):
        template.setdefault("metadata", {})
        inner = template.setdefault("spec", {}).get("template")
        if isinstance(inner, dict):
            inner.setdefault("metadata", {})
            pod_spec(inner.setdefault("spec", {}))


def _claim(obj: Obj) -> None:
    _fill(obj.setdefault("spec", {}), volumeMode="Filesystem")
    _fill(obj.setdefault("status", {}), phase="Pending")
    _finalizer(obj, "kubernetes.io/pvc-protection")


def _volume(obj: Obj) -> None:
    _fill(obj.setdefault("spec", {}), volumeMode="Filesystem", persistentVolumeReclaimPolicy="Retain")
    _fill(obj.setdefault("status", {}), phase="Pending")
    _finalizer(obj, "kubernetes.io/pv-protection")


def _finalizer(obj: Obj, name: str) -> None:
    """Admission adds it once: an object that is being deleted has lost it for good."""
    metadata = obj["metadata"]
    if "uid" not in metadata and name not in metadata.setdefault("finalizers", []):
        metadata["finalizers"].append(name)


def _binding(obj: Obj) -> None:
    for one in obj.get("subjects") or []:
        _fill(one, apiGroup="" if one.get("kind") == "ServiceAccount" else "rbac.authorization.k8s.io")
        if one["apiGroup"] == "":
            del one["apiGroup"]


def _policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, policyTypes=["Ingress", *(["Egress"] if spec.get("egress") else [])])
    for rule in [*(spec.get("ingress") or []), *(spec.get("egress") or [])]:
        for port in rule.get("ports") or []:
            port.setdefault("protocol", "TCP")


def _limits(obj: Obj) -> None:
    for one in obj.setdefault("spec", {}).get("limits") or []:
        for name, value in (one.get("max") or {}).items():
            if one.get("type") == "Container":
                one.setdefault("default", {}).setdefault(name, value)
        for name, value in (one.get("default") or {}).items():
            one.setdefault("defaultRequest", {}).setdefault(name, value)
        for name, value in (one.get("min") or {}).items():
            if one.get("type") == "Container":
                one.setdefault("defaultRequest", {}).setdefault(name, value)


def _service(obj: Obj) -> None:
    _fill(obj.setdefault("spec", {}), type="ClusterIP", sessionAffinity="None")
    for port in obj["spec"].get("ports") or []:
        _fill(port, protocol="TCP", targetPort=port.get("port"))


def _storage_class(obj: Obj) -> None:
    _fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _secret(obj: Obj) -> None:
    _fill(obj, type="Opaque")


_DEFAULTS: dict[str, Callable[[Obj], None]] = {
    "Namespace": _namespace, "Pod": _pod, "Deployment": _deployment, "ReplicaSet": _replica_set,
    "StatefulSet": _stateful_set, "DaemonSet": _daemon_set, "Job": job, "CronJob": _cron_job,
    "PersistentVolumeClaim": _claim, "PersistentVolume": _volume, "RoleBinding": _binding,
    "ClusterRoleBinding": _binding, "NetworkPolicy": _policy, "LimitRange": _limits, "Service": _service,
    "StorageClass": _storage_class, "Secret": _secret,
}  # fmt: skip
