"""Nodes, pods and namespaces of a cluster as its API server sends them, for tests of what is counted there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lessor.catalog import load_catalogue
from lessor.contracts import ANNOTATION_PREFIX, LABEL_LEASE, LABEL_MANAGED_BY, MANAGED_BY
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind, Market, Need, Place
from lessor.providers.kubernetes import offers
from lessor.providers.kubernetes.api import FIELD_MANAGER, Api, Obj
from lessor.providers.kubernetes.place import KubernetesPlace, Rate
from lessor.providers.kubernetes.site import Site
from lessor.rendering import Renderer
from tests.builders import a_request
from tests.providers.kube_fake import FakeApi

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
A100, H100, T4 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4"
RATES = {"A100-80GB": Rate(Money(Decimal("2.50"))), "H100": Rate(Money(Decimal("4.00")))}


def ago(**length: float) -> str:
    """An instant before `NOW` as the server writes it."""
    return (NOW - timedelta(**length)).strftime("%Y-%m-%dT%H:%M:%SZ")


def a_site(api: Api, **config: Any) -> Site:
    """The cluster `lab` at `NOW`, with rates for A100-80GB and H100."""
    place = replace(KubernetesPlace("lab", rates=RATES), **config)
    return Site(
        api,
        place,
        Place("kubernetes", "lab"),
        load_catalogue(),
        Renderer("kubernetes", override=None),
        lambda owner, team: (),
        lambda: NOW,
        lambda seconds: None,
    )


def a_cluster(*objects: Obj) -> FakeApi:
    """A cluster in memory; its scheduler finds no node for pods that have none."""
    api = FakeApi(clock=lambda: NOW)
    api.nodes.room = False
    for obj in objects:
        api.add(obj)
    return api


def node(
    name: str,
    resources: Mapping[str, int],
    labels: Mapping[str, str] | None = None,
    *,
    allocatable: Mapping[str, int] | None = None,
    ready: str = "True",
    cordoned: bool = False,
    taints: tuple[Mapping[str, str], ...] = (),
) -> Obj:
    """A node that hands out `resources`, with the labels that discovery would give it."""
    total = {"cpu": "64", "memory": "512Gi", **{key: str(count) for key, count in resources.items()}}
    working = {**total, **{key: str(count) for key, count in (allocatable or {}).items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"unschedulable": cordoned, "taints": [dict(one) for one in taints]},
        "status": {"capacity": total, "allocatable": working, "conditions": [{"type": "Ready", "status": ready}]},
    }


def gpu_node(name: str, count: int = 8, product: str = A100, memory: int = 81920, **more: Any) -> Obj:
    labels = {
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.memory": str(memory),
        "nvidia.com/gpu.count": str(count),
    }
    return node(name, {"nvidia.com/gpu": count}, {**labels, **more.pop("labels", {})}, **more)


def space(name: str, **annotations: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}


def pod(
    name: str,
    gpus: int = 1,
    on: str = "node-a",
    *,
    namespace: str = "team",
    resource: str = "nvidia.com/gpu",
    phase: str = "Running",
    since: str = "",
    **more: Any,
) -> Obj:
    """A pod with one container that asks for GPUs; it has run since `since` unless its status says else."""
    start = since or ago(hours=1)
    running = {"name": "main", "state": {"running": {"startedAt": start}}}
    status = {
        "phase": phase,
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": start}] if on else [],
        "containerStatuses": [running] if phase == "Running" else [],
        **more.pop("status", {}),
    }
    box = {"name": "main", "resources": {"limits": {resource: str(gpus)}}}
    spec = {"containers": [box], **({"nodeName": on} if on else {}), **more.pop("spec", {})}
    meta = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def lease(api: FakeApi, lease_id: str, gpus: int, model: str = "A100-80GB", resource: str = "nvidia.com/gpu") -> None:
    """A namespace of ours with the quota that promises the GPUs."""
    notes = {"owner": "U0ANA", "model": model, "resource": resource, "gpus": str(gpus), "kind": "namespace"}
    meta = {"labels": {LABEL_LEASE: lease_id, LABEL_MANAGED_BY: MANAGED_BY}}
    annotations = {f"{ANNOTATION_PREFIX}{key}": value for key, value in notes.items()}
    named = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": lease_id, "annotations": annotations, **meta},
    }
    api.add(named, FIELD_MANAGER)
    quota(api, lease_id, {f"requests.{resource}": gpus}, labels=meta["labels"], manager=FIELD_MANAGER)


def quota(
    api: FakeApi,
    namespace: str,
    hard: Mapping[str, int],
    labels: Mapping[str, str] | None = None,
    manager: str = "kubectl",
    name: str = "gpus",
) -> None:
    meta = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    spec = {"hard": {key: str(count) for key, count in hard.items()}}
    api.add({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec}, manager)


def the_pool(census: Census, model: str) -> Pool:
    (found,) = [one for one in census.pools if one.model == model]
    return found


def the_holder(census: Census, ref: str) -> Holder:
    (found,) = [one for one in census.holders if one.ref == ref]
    return found


def an_order(
    site: Site, count: int = 1, kind: LeaseKind = LeaseKind.NAMESPACE, lease_id: str = "gpu-00000002"
) -> Order:
    quoted = offers.quote(site, Need("A100", count), Market.ON_DEMAND, site.clock())
    request = a_request(need=Need("A100", count), place=site.place, kind=kind)
    return Order(lease_id, request, quoted, "U0ANA", "vision", "4711", None)


def a_full_house(*leases: str) -> FakeApi:
    """Eight GPUs on one node, and these leases of six each."""
    api = a_cluster(gpu_node("node-a"))
    for lease_id in leases:
        lease(api, lease_id, 6)
    return api
