"""Objects that tests put into the simulated cluster."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def pod_spec(gpus: int = 0, *, resource: str = "nvidia.com/gpu", **more: Any) -> Obj:
    """One container; it tolerates every node."""
    limits = {"limits": {resource: str(gpus)}} if gpus else {}
    main = {"name": "main", "image": "registry.example.com/train:1", "resources": limits}
    return {"containers": [main], "tolerations": [{"operator": "Exists"}], **more}


def pod(name: str, gpus: int = 0, **more: Any) -> Obj:
    return {"metadata": {"name": name}, "spec": pod_spec(gpus, **more)}


def deployment(name: str, replicas: int = 1, gpus: int = 0, **more: Any) -> Obj:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(gpus, **more)}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def stateful_set(name: str, replicas: int = 1, gpus: int = 0, size: str = "1Gi", **more: Any) -> Obj:
    """With a volume of its own for each pod."""
    made = deployment(name, replicas, gpus)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}} | more
    made["spec"] |= {"serviceName": name, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}]}
    return made


def job(name: str, gpus: int = 0, *, annotations: dict[str, str] | None = None, **more: Any) -> Obj:
    spec = pod_spec(gpus, restartPolicy="Never")
    template = {"metadata": {"annotations": annotations or {}}, "spec": spec}
    return {"metadata": {"name": name}, "spec": {"template": template, **more}}


def quota(**hard: str) -> Obj:
    """Names with underscores for dots and slashes are not to be had: give them by `**{...}`."""
    return {"metadata": {"name": "gpus"}, "spec": {"hard": hard}}


def condition(obj: Obj, type_: str) -> Obj:
    return next(one for one in obj["status"]["conditions"] if one["type"] == type_)
