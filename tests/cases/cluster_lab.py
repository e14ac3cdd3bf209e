"""A namespace lease in the simulated cluster, for cases in which people do as they like in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lessor.domain.money import Money
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import Need
from lessor.domain.resource import Resource, Sighting
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.provider import KubernetesProvider
from tests.builders import LEASE_ID, usd
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, RATES, KubeWorld, SimulatedGround, simulated_ground

GPU = {"limits": {"nvidia.com/gpu": "1"}}
TOLERANT = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
POD: dict[str, Any] = {"containers": [{"name": "main", "image": "train", "resources": GPU}], "tolerations": TOLERANT}


class Lab(KubeWorld):
    """A namespace lease in the simulated cluster, where people do as they like."""

    ground: SimulatedGround

    def begin(self) -> KubernetesProvider:
        provider, order = self.provider(), self.wanted()
        made = provider.launch(order, provider.candidates(order)[0], silent)
        self.provisioned: Provisioned = provider.await_usable(order, made, silent)
        return provider

    def wanted(self) -> Order:
        return self.order(need=Need("A100-80GB", 2), disk_gib=100)

    def make(self, kind: str, name: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
        made = self.ground.running.create(kind, {"metadata": {"name": name, **meta}, "spec": spec}, LEASE_ID)
        self.ground.running.advance(seconds=5)
        return made

    def replicated(self, kind: str, name: str, replicas: int, **more: Any) -> dict[str, Any]:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": more.pop("pod", POD)}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **more}
        return self.make(kind, name, spec)

    def names(self, kind: str) -> list[str]:
        found = self.ground.running.exists(kind, LEASE_ID)
        return [name.removeprefix(f"{LEASE_ID}/") for name in found]

    def get(self, kind: str, name: str) -> dict[str, Any]:
        found = self.ground.running.get(kind, name, LEASE_ID)
        assert found is not None
        return found

    def writes(self) -> list[tuple[str, str, str]]:
        heard = self.ground.running.heard()
        ours = (one for one in heard if one.user.endswith(":lessor") and one.verb in ("patch", "delete", "create"))
        return [(one.verb, one.resource, one.name) for one in ours if not one.resource.endswith("reviews")]

    def look(self, *known: Resource) -> Sighting:
        return self.provider().look(LEASE_ID, PLACE, known)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    priced = KubernetesPlace("lab", rates=RATES, disk_monthly=Money(usd("0.10").amount))
    with simulated_ground(tmp_path) as ground:
        yield Lab(ground, place=priced)
