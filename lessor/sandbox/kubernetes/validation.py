"""What each kind of object may say, beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lessor.sandbox.kubernetes import metadata
from lessor.sandbox.kubernetes.errors import Cause, missing, prohibited, unsupported, wrong
from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.quantities import amount
from lessor.sandbox.kubernetes.selectors import matches

Obj = dict[str, Any]
_TEMPLATED = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}
_COMPUTE = {"cpu", "memory", "ephemeral-storage", "storage", "pods"}
_QUOTA_WORDS = {
    "cpu", "memory", "pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "resourcequotas",
    "replicationcontrollers", "services.nodeports", "services.loadbalancers", "ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage", "limits.cpu",
    "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ROLES, _SUBJECTS = ("Role", "ClusterRole"), ("ServiceAccount", "User", "Group")
_IMMUTABLE_TEXT = "field is immutable"
_STATEFUL_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_FIXED = ("serviceName", "selector", "podManagementPolicy", "volumeClaimTemplates")
_STATEFUL_FREE = {
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
}  # fmt: skip
_POD_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def checked(kind: Kind, obj: Obj) -> list[Cause]:
    """Everything that is wrong with an object."""
    found = list(metadata.checked(kind, obj))
    if kind.kind in _TEMPLATED:
        found += _templated(obj)
    if kind.kind in _CHECKS:
        found += _CHECKS[kind.kind](obj)
    return found


def unchanged(kind: Kind, before: Obj, after: Obj) -> list[Cause]:
    """What was changed that never may be."""
    old, new = before.get("spec") or {}, after.get("spec") or {}
    found: list[Cause] = []
    if kind.kind == "StatefulSet":
        found += _stateful_unchanged(old, new)
    if kind.kind == "Pod" and _pod_rest(old) != _pod_rest(new):
        found.append(prohibited("spec", _POD_TEXT))
    if kind.kind in ("Deployment", "ReplicaSet", "DaemonSet", "Job") and old.get("selector") != new.get("selector"):
        found.append(wrong("spec.selector", new.get("selector"), _IMMUTABLE_TEXT))
    if kind.kind == "Job" and old.get("template") != new.get("template") and not old.get("suspend"):
        found.append(wrong("spec.template", "", _IMMUTABLE_TEXT))
    if kind.kind in ("RoleBinding", "ClusterRoleBinding") and before.get("roleRef") != after.get("roleRef"):
        found.append(wrong("roleRef", after.get("roleRef"), _IMMUTABLE_TEXT))
    if kind.kind == "PersistentVolumeClaim":
        found += _claim_unchanged(old, new)
    return found


def _stateful_unchanged(old: Obj, new: Obj) -> list[Cause]:
    named = [name for name in _STATEFUL_FIXED if old.get(name) != new.get(name)]
    if named:
        return [wrong(f"spec.{name}", new.get(name), _IMMUTABLE_TEXT) for name in named]
    same = _rest(old, _STATEFUL_FREE) == _rest(new, _STATEFUL_FREE)
    return [] if same else [prohibited("spec", _STATEFUL_TEXT)]


def _rest(spec: Obj, free: set[str]) -> Obj:
    return {name: value for name, value in spec.items() if name not in free}


def _pod_rest(spec: Obj) -> Obj:
    rest = _rest(spec, {"tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds"})
    # A gate may go but not come; a container's image may change.
    rest.pop("schedulingGates", None)
    for name in ("containers", "initContainers"):
        rest[name] = [_rest(one, {"image"}) for one in spec.get(name) or []]
    return rest


def _claim_unchanged(old: Obj, new: Obj) -> list[Cause]:
    free = {"resources", "volumeName"} if not old.get("volumeName") else {"resources"}
    if _rest(old, free) != _rest(new, free):
        text = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        return [prohibited("spec", text)]
    sizes = [(one.get("resources") or {}).get("requests", {}).get("storage", "0") for one in (old, new)]
    if amount(sizes[1]) < amount(sizes[0]):
        return [prohibited("spec.resources.requests.storage", "field can not be less than status.capacity")]
    return []


def _templated(obj: Obj) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    template = spec.get("template")
    if not isinstance(template, dict):
        yield missing("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    yield from metadata.labels(labels, "spec.template.labels")
    if not spec.get("selector"):
        yield missing("spec.selector")
    elif not matches(spec["selector"], labels):
        yield wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if isinstance(spec.get("replicas"), int) and spec["replicas"] < 0:
        yield wrong("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    claims = [one["metadata"].get("name") for one in spec.get("volumeClaimTemplates") or []]
    yield from _of_pod_spec(template.get("spec") or {}, "spec.template.spec", ("Always",), claims)


def _of_pod_spec(spec: Obj, path: str, restarts: tuple[str, ...], claims: Sequence[str | None] = ()) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield missing(f"{path}.containers")
    if spec.get("restartPolicy") not in restarts:
        yield unsupported(f"{path}.restartPolicy", spec.get("restartPolicy") or "", restarts)
    volumes = {*(one.get("name") for one in spec.get("volumes") or []), *claims}
    for word in ("containers", "initContainers"):
        for index, one in enumerate(spec.get(word) or []):
            at = f"{path}.{word}[{index}]"
            if not one.get("name"):
                yield missing(f"{at}.name")
            if not one.get("image"):
                yield missing(f"{at}.image")
            yield from _of_resources(one.get("resources") or {}, f"{at}.resources")
            for number, mount in enumerate(one.get("volumeMounts") or []):
                if mount.get("name") not in volumes:
                    name = mount.get("name")
                    text = f'Not found: "{name}"'
                    yield {
                        "reason": "FieldValueNotFound",
                        "message": text,
                        "field": f"{at}.volumeMounts[{number}].name",
                    }
    yield from metadata.labels(spec.get("nodeSelector"), f"{path}.nodeSelector")


def _of_resources(resources: Obj, path: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    yield from _of_list(limits, f"{path}.limits")
    yield from _of_list(requests, f"{path}.requests")
    for name, value in requests.items():
        limit = limits.get(name)
        at = f"{path}.requests"
        if limit is None:
            if "/" in name:
                yield missing(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif _readable(value) and _readable(limit):
            if "/" in name and amount(value) != amount(limit):
                yield wrong(at, value, f"must be equal to {name} limit of {limit}")
            elif amount(value) > amount(limit):
                yield wrong(at, value, f"must be less than or equal to {name} limit of {limit}")


def _of_list(given: Obj, path: str) -> Iterator[Cause]:
    for name, value in given.items():
        at = f"{path}[{name}]"
        yield from _of_quantity(value, at)
        if "/" in name:
            yield from metadata.qualified(name, path)
            if _readable(value) and amount(value) != int(amount(value)):
                yield wrong(at, value, "must be an integer")
        elif name not in _COMPUTE and not name.startswith("hugepages-"):
            yield wrong(at, name, "must be a standard resource type or fully qualified")


def _readable(value: Any) -> bool:
    return not list(_of_quantity(value, ""))


def _of_quantity(value: Any, at: str) -> Iterator[Cause]:
    try:
        if amount(value) < 0:
            yield wrong(at, value, "must be greater than or equal to 0")
    except ValueError as unreadable:
        yield wrong(at, value, str(unreadable))


def _pod(obj: Obj) -> Iterator[Cause]:
    yield from _of_pod_spec(obj.get("spec") or {}, "spec", ("Always", "OnFailure", "Never"))


def _job(obj: Obj) -> Iterator[Cause]:
    template = obj["spec"].get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    yield from metadata.labels(labels, "spec.template.labels")
    if not matches(obj["spec"].get("selector"), labels):
        yield wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from _of_pod_spec(template.get("spec") or {}, "spec.template.spec", ("OnFailure", "Never"))


def _cron_job(obj: Obj) -> Iterator[Cause]:
    spec = obj["spec"]
    fields = str(spec.get("schedule", "")).split()
    if len(fields) != 5 and not str(spec.get("schedule", "")).startswith("@"):
        yield wrong(
            "spec.schedule",
            spec.get("schedule", ""),
            f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]",
        )
    template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template") or {}
    path = "spec.jobTemplate.spec.template.spec"
    yield from _of_pod_spec(template.get("spec") or {}, path, ("OnFailure", "Never"))


def _quota(obj: Obj) -> Iterator[Cause]:
    for name, value in ((obj.get("spec") or {}).get("hard") or {}).items():
        at = f"spec.hard[{name}]"
        if "/" in name:
            yield from metadata.qualified(name, at)
        elif name not in _QUOTA_WORDS and not name.startswith(("count/", "hugepages-", "requests.hugepages-")):
            yield wrong(at, name, "must be a standard resource type or fully qualified")
            yield wrong(at, name, "must be a standard resource for quota")
        yield from _of_quantity(value, at)


def _claim(obj: Obj) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        yield missing("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes") or []:
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield missing("spec.resources[storage]")
    else:
        yield from _of_quantity(size, "spec.resources[storage]")


def _role_binding(obj: Obj) -> Iterator[Cause]:
    ref: Mapping[str, Any] = obj.get("roleRef") or {}
    if ref.get("kind") not in _ROLES:
        yield unsupported("roleRef.kind", ref.get("kind") or "", _ROLES)
    if not ref.get("name"):
        yield missing("roleRef.name")
    for index, one in enumerate(obj.get("subjects") or []):
        at = f"subjects[{index}]"
        if not one.get("name"):
            yield missing(f"{at}.name")
        if one.get("kind") not in _SUBJECTS:
            yield unsupported(f"{at}.kind", one.get("kind") or "", _SUBJECTS)
        if one.get("kind") == "ServiceAccount" and not one.get("namespace"):
            yield missing(f"{at}.namespace")


_CHECKS: dict[str, Callable[[Obj], Iterator[Cause]]] = {
    "Pod": _pod, "Job": _job, "CronJob": _cron_job, "ResourceQuota": _quota, "PersistentVolumeClaim": _claim,
    "RoleBinding": _role_binding, "ClusterRoleBinding": _role_binding,
}  # fmt: skip
