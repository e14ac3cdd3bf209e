"""A lease's namespace in the cluster in memory, with what people run in it, for tests of how leases end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.catalog import load_catalogue
from lessor.domain.money import Money
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError
from lessor.providers.kubernetes import inventory, removal
from lessor.providers.kubernetes.api import (
    CLAIM,
    FIELD_MANAGER,
    LIMIT_RANGE,
    NAMESPACE,
    NODE,
    POD,
    RESOURCE_QUOTA,
    ApiKind,
    Obj,
)
from lessor.providers.kubernetes.ours import identity
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.site import Site
from lessor.rendering import Renderer
from tests.providers.kube_fake import FakeApi

LEASE = "gpu-7k3qxa2m"
BEGIN = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
LABELS = {"lessor.dev/lease": LEASE, "lessor.dev/team": "ml", "lessor.dev/managed-by": "lessor"}
GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}


@dataclass
class Leased:
    """One namespace lease that ends in eight hours. `now` moves only when somebody waits, or a test says so."""

    now: datetime = BEGIN
    config: KubernetesPlace = field(
        default_factory=lambda: KubernetesPlace("lab", disk_monthly=Money(Decimal("0.10")), disk_since=date(2026, 1, 1))
    )
    api: FakeApi = field(init=False)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = FakeApi(clock=lambda: self.now)
        self.space = self.api.apply(space(LEASE, BEGIN + timedelta(hours=8)))
        self.api.apply(quota())
        self.node("node-a", 8)
        self.api.calls.clear()

    @property
    def site(self) -> Site:
        renderer, place = Renderer("kubernetes"), Place("kubernetes", "lab")
        return Site(
            self.api, self.config, place, load_catalogue(), renderer, lambda *_: (), lambda: self.now, self.sleep
        )

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def beat(self, what: str) -> None:
        self.told.append(what)

    @property
    def record(self) -> Resource:
        """What the ledger has of it."""
        return Resource(Kind.NAMESPACE, identity(self.space), Condition.RUNNING, created_at=BEGIN)

    def node(self, name: str, gpus: int) -> Obj:
        """A node with so many A100-80GB."""
        amounts = {"nvidia.com/gpu": str(gpus)}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"capacity": amounts, "allocatable": amounts, "conditions": ready}
        labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
        return self.add(NODE, name, metadata={"labels": labels}, status=status, spec={})

    def run(self, kind: ApiKind, name: str, **spec: Any) -> Obj:
        """Something that people run, with one GPU for each pod."""
        template = {"metadata": {}, "spec": {"containers": [{"name": "main", **GPU}]}}
        body = {"spec": {"template": template, **spec}}
        return self.add(kind, name, **(body if kind != POD else {"spec": template["spec"], **spec}))

    def add(self, kind: ApiKind, name: str, namespace: str = LEASE, **body: Any) -> Obj:
        meta = {"name": name, **({"namespace": namespace} if kind.namespaced else {}), **body.pop("metadata", {})}
        return self.api.add({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **body})

    def claim(self, name: str, gib: int = 100, labels: dict[str, str] | None = None) -> Obj:
        """A claim that people made; with the lease's `labels` one that lessor did."""
        spec = {"storageClassName": "fast", "resources": {"requests": {"storage": f"{gib}Gi"}}}
        meta = {"name": name, "namespace": LEASE, "labels": labels or {}}
        made = {"apiVersion": CLAIM.api_version, "kind": CLAIM.kind, "metadata": meta, "spec": spec}
        return self.api.add(made, FIELD_MANAGER, "Apply") if labels else self.api.add(made)

    def stranger(self, kind: str, pod: str, **meta: Any) -> Obj:
        """A pod with a GPU that is kept by a kind that lessor does not know."""
        keeper = self.add(LIMIT_RANGE, f"keeper-of-{pod}", spec={})
        uid = keeper["metadata"]["uid"]
        owner = {"apiVersion": "kubevirt.io/v1", "kind": kind, "name": "vm", "uid": uid, "controller": True}
        spec = {"containers": [{"name": "main", **GPU}]}
        return self.add(POD, pod, metadata={"ownerReferences": [owner], **meta}, spec=spec)

    def obj(self, kind: ApiKind, name: str, namespace: str = LEASE) -> Obj:
        return self.api.objects[(kind, namespace if kind.namespaced else "", name)]

    def pods(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.api.list(POD, LEASE)]

    def writes(self) -> list[tuple[str, str, str]]:
        """(verb, kind, name) of all that was changed, in order."""
        return [(v, kind, name) for v, kind, _, name in self.api.calls if v in ("apply", "create", "patch", "delete")]

    def hard(self) -> dict[str, str]:
        return dict(self.obj(RESOURCE_QUOTA, "lessor")["spec"]["hard"])

    def note(self, name: str) -> str | None:
        """What lessor wrote on the namespace under this name."""
        annotations: dict[str, str] = self.obj(NAMESPACE, LEASE)["metadata"]["annotations"]
        return annotations.get(f"lessor.dev/{name}")

    def delete(self, *known: Resource) -> None:
        removal.delete(self.site, LEASE, known, self.beat)

    def refused(self, *known: Resource) -> PermanentError:
        """How its deletion is refused."""
        with pytest.raises(PermanentError) as caught:
            self.delete(*known)
        return caught.value

    def left(self, *known: Resource) -> list[tuple[str, Condition]]:
        """What another look sees of it."""
        return [(one.ref, one.condition) for one in inventory.look(self.site, LEASE, known).left]


@pytest.fixture
def leased() -> Leased:
    return Leased()


def space(lease: str, ends: datetime, kind: str = "namespace") -> Obj:
    labels = {**LABELS, "lessor.dev/lease": lease}
    notes = {"ends": ends.isoformat(), "kind": kind, "resource": "nvidia.com/gpu", "gpus": "4", "model": "A100-80GB"}
    annotations = {f"lessor.dev/{name}": text for name, text in notes.items()}
    return {
        "apiVersion": "v1",
        "kind": NAMESPACE.kind,
        "metadata": {"name": lease, "labels": labels, "annotations": annotations},
    }


def quota() -> Obj:
    hard = {"requests.nvidia.com/gpu": "4", "requests.amd.com/gpu": "0", "requests.storage": "200Gi"}
    meta = {"name": "lessor", "namespace": LEASE, "labels": LABELS}
    return {"apiVersion": "v1", "kind": RESOURCE_QUOTA.kind, "metadata": meta, "spec": {"hard": hard}}
