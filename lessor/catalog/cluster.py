"""What clusters call GPUs: resources of pods and labels of nodes, from `cluster.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lessor.catalog.shipped import shipped


@dataclass(frozen=True)
class Vendor:
    """The names of one maker of GPUs: of resources, of labels that nodes have, of drivers for device claims."""

    name: str
    domain: str
    whole: str
    shared: str = ""
    sliced: str = ""
    product: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    sharing: str = ""
    device_drivers: tuple[str, ...] = ()
    not_gpus: tuple[str, ...] = ()

    def has(self, resource: str) -> bool:
        """Whether the resource is in the maker's name space."""
        return resource.startswith(f"{self.domain}/") and resource not in self.not_gpus


@dataclass(frozen=True)
class ClusterNames:
    """All of `cluster.yaml`. `labels` are models by what product labels say of them, `owners` keys that name people."""

    vendors: tuple[Vendor, ...]
    labels: Mapping[str, str]
    owners: tuple[str, ...]
    usual_slices: int
    slices: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def vendor(self, resource: str) -> Vendor | None:
        """Whose resource it is; `None` where no maker of GPUs has it."""
        return next((one for one in self.vendors if one.has(resource)), None)

    def slices_of(self, model: str) -> int:
        """How many compute slices a whole GPU of the model has."""
        return self.slices.get(model, self.usual_slices)

    def partitions_of(self, mode: str, model: str) -> int | None:
        """How many partitions a whole accelerator is cut into in a mode such as `cpx`; `None` for what is no mode."""
        known = self.partitions.get(mode)
        return known.get(model, known["usual"]) if known else None

    def driver(self, name: str) -> Vendor | None:
        """Whose driver for device claims it is; `None` for those of other devices."""
        return next((one for one in self.vendors if name in one.device_drivers), None)


@lru_cache(maxsize=1)
def load_names() -> ClusterNames:
    """The names that this package ships; read once, since nothing changes them."""
    document = shipped("cluster.yaml")
    own = {label: model["name"] for model in document["models"] for label in model["labels"]}
    return ClusterNames(
        vendors=tuple(_vendor(one) for one in document["vendors"]),
        labels={**document["labels"], **own},
        owners=tuple(document["owners"]),
        usual_slices=document["usual_slices"],
        slices=document["slices"],
        partitions=document["partitions"],
    )


def _vendor(entry: Mapping[str, Any]) -> Vendor:
    facts: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Vendor(**facts)
