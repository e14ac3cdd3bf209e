"""The pods that have GPUs in the simulated cluster: what an exporter on their node says of each, with whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from lessor.catalog import Catalogue
from lessor.sandbox.gpus.machines import Machine, Pod

_SLICE = re.compile(r"^nvidia\.com/mig-(\d+g\.(\d+)gb)$")
_PRODUCT = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")


def in_cluster(state: Mapping[str, Any], catalogue: Catalogue) -> list[Machine]:
    """The running pods with GPUs in what the cluster's page shows, in its order."""
    leases = {one["name"]: one["lease"] for one in state["namespaces"]}
    return [
        machine
        for one in state["pods"]
        if one["running"]
        for machine in _machines(one, leases.get(one["namespace"], ""), catalogue)
    ]


def _machines(pod: Mapping[str, Any], lease: str, catalogue: Catalogue) -> Iterator[Machine]:
    product = next((pod["labels"][label] for label in _PRODUCT if label in pod["labels"]), "")
    memory = int(pod["labels"].get("nvidia.com/gpu.memory", "0"))
    model = catalogue.reported(product, memory)
    started = datetime.fromisoformat(pod["started"]).timestamp() if pod["started"] else 0.0
    for resource, count in sorted(pod["devices"].items()):
        cut = _SLICE.match(resource)
        mib = int(cut[2]) * 1024 if cut else memory or model.reported_mib or model.memory_gib * 1024
        whose = Pod(pod["namespace"], pod["name"], pod["node"], cut[1] if cut else "")
        name = f"{pod['namespace']}.{pod['name']}"
        yield Machine(name, f"{resource} on {pod['node']}", model.name, count, mib, lease, started, whose)
