"""The Pod Security Standards, as the labels of a namespace ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lessor.sandbox.kubernetes.errors import forbidden
from lessor.sandbox.kubernetes.kinds import Kind

Obj = dict[str, Any]
_ENFORCE = "pod-security.kubernetes.io/enforce"
_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def admit(namespace: Obj, what: Kind, pod: Obj) -> None:
    """Raises `Refused` (403) for a pod that its namespace's level does not allow."""
    level = (namespace["metadata"].get("labels") or {}).get(_ENFORCE, "privileged")
    against = [] if level == "privileged" else [*_baseline(pod["spec"])]
    if level == "restricted":
        against += _restricted(pod["spec"])
    if against:
        why = f'violates PodSecurity "{level}:latest": {", ".join(against)}'
        raise forbidden(what, pod["metadata"].get("name", ""), why)


def _containers(spec: Obj) -> list[Obj]:
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _baseline(spec: Obj) -> Iterator[str]:
    if any(spec.get(one) for one in ("hostNetwork", "hostPID", "hostIPC")):
        yield "host namespaces (hostNetwork=true)"
    if any((one.get("securityContext") or {}).get("privileged") for one in _containers(spec)):
        yield "privileged (container must not set securityContext.privileged=true)"
    if any("hostPath" in one for one in spec.get("volumes") or []):
        yield "hostPath volumes"


def _restricted(spec: Obj) -> Iterator[str]:
    pod = spec.get("securityContext") or {}
    for one in _containers(spec):
        own, name = one.get("securityContext") or {}, one.get("name")
        if own.get("allowPrivilegeEscalation") is not False:
            must = "must set securityContext.allowPrivilegeEscalation=false"
            yield f'allowPrivilegeEscalation != false (container "{name}" {must})'
        if "ALL" not in ((own.get("capabilities") or {}).get("drop") or []):
            yield f'unrestricted capabilities (container "{name}" must set securityContext.capabilities.drop=["ALL"])'
        if not own.get("runAsNonRoot", pod.get("runAsNonRoot")):
            yield f'runAsNonRoot != true (pod or container "{name}" must set securityContext.runAsNonRoot=true)'
        profile = (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
        if profile not in ("RuntimeDefault", "Localhost"):
            yield (
                f'seccompProfile (pod or container "{name}" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            )
    for volume in spec.get("volumes") or []:
        if not _VOLUMES & set(volume):
            yield f'restricted volume types (volume "{volume.get("name")}" uses restricted volume type)'
