"""Which container of a pod a request is about, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.errors import Refused, bad_request
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
_PRODUCTS = {"nvidia.com/": "nvidia.com/gpu.product", "amd.com/": "amd.com/gpu.product-name"}


@dataclass(frozen=True)
class Inside:
    """A container as somebody in it would find it. `devices` counts GPUs by the names of their resources."""

    namespace: str
    pod: str
    container: str
    image: str
    node: str
    directory: str = "/"
    devices: Mapping[str, int] = field(default_factory=dict)
    products: Mapping[str, str] = field(default_factory=dict)
    memory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()

    def product(self, resource: str) -> str:
        """What the node calls its GPUs, or the resource where it calls them nothing."""
        return next((name for start, name in self.products.items() if resource.startswith(start)), resource)

    def held(self) -> str:
        """Its GPUs in words."""
        found = [f"{count} x {of} ({self.product(of)})" for of, count in sorted(self.devices.items())]
        return ", ".join(found) or "no GPUs"


def named(pod: Obj, name: str) -> str:
    """The name of the container that is meant. Raises `Refused` (400)."""
    spec, of = pod["spec"], pod["metadata"]["name"]
    first = [one["name"] for one in spec.get("initContainers") or ()]
    main = [one["name"] for one in spec["containers"]]
    if not name and len(main) == 1:
        return str(main[0])
    if not name:
        raise bad_request(
            f"a container name must be specified for pod {of}, choose one of: [{' '.join([*first, *main])}]"
        )
    if name not in (*first, *main):
        raise bad_request(f"container {name} is not valid for pod {of}")
    return name


def entered(store: Store, pod: Obj, name: str) -> Inside:
    """What there is in a container that runs. Raises `Refused`: 400 and 500 in the words of server and kubelet."""
    name = named(pod, name)
    on_node(store, pod)
    if "running" not in state(pod, name):
        why = f'unable to upgrade connection: container not found ("{name}")'
        raise Refused(500, "InternalError", why)
    return described(store, pod, name)


def on_node(store: Store, pod: Obj) -> Obj:
    """The node of a pod. Raises `Refused`: 400 while it has none, 500 when the node does not answer."""
    name = pod["spec"].get("nodeName") or ""
    if not name:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    node = store.get(kind("Node"), "", name)
    if node is None or pods.condition(node, "Ready") != "True":
        raise Refused(500, "InternalError", f"error dialing backend: the simulated node {name} does not answer")
    return node


def state(pod: Obj, name: str) -> Obj:
    """Waiting, running or terminated, with what is known of that; nothing where its node has not said anything."""
    status = pod.get("status", {})
    told = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return next((dict(one["state"]) for one in told if one["name"] == name), {})


def described(store: Store, pod: Obj, name: str) -> Inside:
    spec, meta = pod["spec"], pod["metadata"]
    of = next(one for one in [*(spec.get("initContainers") or ()), *spec["containers"]] if one["name"] == name)
    labels = (store.get(kind("Node"), "", spec.get("nodeName") or "") or {"metadata": {}})["metadata"].get(
        "labels"
    ) or {}
    asked = (of.get("resources") or {}).get("limits") or {}
    return Inside(
        namespace=meta["namespace"],
        pod=meta["name"],
        container=name,
        image=of["image"],
        node=spec.get("nodeName") or "",
        directory=of.get("workingDir") or "/",
        devices={resource: int(count) for resource, count in asked.items() if "/" in resource and int(count)},
        products={start: labels[label] for start, label in _PRODUCTS.items() if label in labels},
        memory=labels.get("nvidia.com/gpu.memory", ""),
        environment={one["name"]: one.get("value", "") for one in of.get("env") or ()},
        ports=tuple(one["containerPort"] for each in spec["containers"] for one in each.get("ports") or ()),
    )
