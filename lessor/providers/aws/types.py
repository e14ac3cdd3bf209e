"""GPU instance types of a region and the zones that offer them, from EC2 itself, with the catalogue's names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from lessor.catalog import Catalogue
from lessor.domain.request import Market
from lessor.providers.aws.site import Site, by

Value = TypeVar("Value")
TYPES_FOR, ZONES_FOR = timedelta(hours=12), timedelta(minutes=10)
USAGE_CLASSES = {Market.ON_DEMAND: "on-demand", Market.SPOT: "spot", Market.CAPACITY_BLOCK: "capacity-block"}


@dataclass(frozen=True)
class TypeFacts:
    """One instance type: its GPUs, and what else a quote and a launch need of it."""

    name: str
    model: str
    count: int
    memory_gib: int
    vcpus: int
    local_disk: bool
    architecture: str
    markets: frozenset[str]

    def sold_in(self, market: Market) -> bool:
        return USAGE_CLASSES[market] in self.markets


class Remembered(Generic[Value]):
    """Values by key for a while; each key is read by one thread at a time. Failures are not kept."""

    def __init__(self, lasts: timedelta, clock: Callable[[], datetime]) -> None:
        self._lasts, self._clock = lasts, clock
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, tuple[datetime, Value]] = {}

    def get(self, key: Any, read: Callable[[], Value]) -> Value:
        with self._locks.setdefault(key, threading.Lock()):
            held = self._values.get(key)
            if held is None or self._clock() - held[0] >= self._lasts:
                held = self._values[key] = (self._clock(), read())
            return held[1]


class InstanceTypes:
    """What can be launched where. Raises `ProviderError`s when EC2 cannot be asked."""

    def __init__(self, catalogue: Catalogue, clock: Callable[[], datetime]) -> None:
        self._catalogue = catalogue
        self._types: Remembered[Mapping[str, TypeFacts]] = Remembered(TYPES_FOR, clock)
        self._zones: Remembered[Mapping[str, tuple[str, ...]]] = Remembered(ZONES_FOR, clock)

    def offered(self, site: Site) -> dict[str, TypeFacts]:
        """GPU types of the region that the place allows and has an image for."""
        place, zones = site.place, self.zones(site)
        return {
            name: facts
            for name, facts in self.all(site).items()
            if name in zones
            and (not place.instance_types or name in place.instance_types)
            and (facts.architecture == "x86_64" or place.ami_parameter_arm)
        }

    def all(self, site: Site) -> Mapping[str, TypeFacts]:
        """Every type of the region with whole NVIDIA GPUs, by name."""
        return self._types.get(site.key, lambda: self._read_types(site))

    def zones(self, site: Site) -> Mapping[str, tuple[str, ...]]:
        """Zones by type, in order, from the offerings API (C26); only zones that the place allows."""
        listed = self._zones.get(site.key, lambda: _read_zones(site, list(self.all(site))))
        allowed = site.place.zones
        kept = {name: tuple(z for z in zones if not allowed or z in allowed) for name, zones in listed.items()}
        return {name: zones for name, zones in kept.items() if zones}

    def _read_types(self, site: Site) -> Mapping[str, TypeFacts]:
        items = site.read("describe_instance_types", "InstanceTypes", Filters=by(instance_type=["g*", "p*"]))
        found = [self._facts(item) for item in items]
        return {facts.name: facts for facts in found if facts is not None}

    def _facts(self, item: dict[str, Any]) -> TypeFacts | None:
        gpus = [gpu for gpu in item.get("GpuInfo", {}).get("Gpus", []) if gpu.get("Manufacturer") == "NVIDIA"]
        count = sum(gpu.get("Count", 0) for gpu in gpus)
        if not count:
            return None
        memory = gpus[0].get("MemoryInfo", {}).get("SizeInMiB", 0)
        model = self._catalogue.reported(gpus[0]["Name"], memory)
        architectures = item.get("ProcessorInfo", {}).get("SupportedArchitectures", ["x86_64"])
        return TypeFacts(
            name=item["InstanceType"],
            model=model.name,
            count=count,
            memory_gib=model.memory_gib,
            vcpus=item["VCpuInfo"]["DefaultVCpus"],
            local_disk=bool(item.get("InstanceStorageSupported")),
            architecture="x86_64" if "x86_64" in architectures else architectures[0],
            markets=frozenset(item.get("SupportedUsageClasses", ["on-demand"])),
        )


def _read_zones(site: Site, types: list[str]) -> Mapping[str, tuple[str, ...]]:
    if not types:
        return {}
    offerings = site.read(
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=by(instance_type=types),
    )
    zones: dict[str, list[str]] = {}
    for offering in offerings:
        zones.setdefault(offering["InstanceType"], []).append(offering["Location"])
    return {name: tuple(sorted(found)) for name, found in zones.items()}
