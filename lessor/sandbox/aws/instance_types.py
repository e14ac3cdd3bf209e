"""Facts about instance types that a launch decision needs, read from moto's copy of AWS's own answers.

moto's data comes from DescribeInstanceTypes and is truthful; it lacks the P3 types that AWS stopped listing in
us-east-1, which fleets still run elsewhere, so `repair_instance_types` adds them from AWS's P3 specification.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from moto.ec2.models.instance_types import (
    INSTANCE_TYPE_OFFERINGS,
    INSTANCE_TYPES,
    InstanceType,
    InstanceTypeBackend,
)

_P3_REGIONS = {"us-east-1": "abcdf", "us-west-2": "abc", "eu-west-1": "abc", "eu-central-1": "ab"}
_P3_SIZES = {"p3.2xlarge": (8, 62464, 1), "p3.8xlarge": (32, 249856, 4), "p3.16xlarge": (64, 499712, 8)}


def repair_instance_types() -> None:
    """Add what moto's data lacks; safe to call again."""
    for name, (vcpus, memory_mib, gpus) in _P3_SIZES.items():
        if name in INSTANCE_TYPES:
            continue
        INSTANCE_TYPES[name] = _p3(name, vcpus, memory_mib, gpus)
        InstanceTypeBackend.instance_types.append(InstanceType(name))
        for region, letters in _P3_REGIONS.items():
            zones = [f"{region}{letter}" for letter in letters]
            _offer(name, region, zones)


def is_known(instance_type: str) -> bool:
    return instance_type in INSTANCE_TYPES


def vcpus(instance_type: str) -> int:
    return int(INSTANCE_TYPES[instance_type]["VCpuInfo"]["DefaultVCpus"])


def zones_offering(region: str, instance_type: str) -> list[str]:
    """Zones of the region that offer the type, in order; empty when the region does not have it."""
    offerings = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
    return sorted({o["Location"] for o in offerings if o["InstanceType"] == instance_type})


def zones_of(region: str) -> list[str]:
    return sorted({o["Location"] for o in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])})


def gpu_types() -> list[str]:
    """Types with at least one NVIDIA GPU, sorted by name."""
    return sorted(name for name, facts in INSTANCE_TYPES.items() if _gpu_makers(facts) & {"NVIDIA"})


def _gpu_makers(facts: dict[str, Any]) -> set[str]:
    gpus: Iterable[dict[str, Any]] = (facts.get("GpuInfo") or {}).get("Gpus", [])
    return {gpu["Manufacturer"] for gpu in gpus}


def _p3(name: str, vcpus: int, memory_mib: int, gpus: int) -> dict[str, Any]:
    facts: dict[str, Any] = deepcopy(INSTANCE_TYPES["p3dn.24xlarge"])
    gpu = {"Name": "V100", "Manufacturer": "NVIDIA", "Count": gpus, "MemoryInfo": {"SizeInMiB": 16384}}
    facts |= {
        "InstanceType": name,
        "CurrentGeneration": True,
        "Hypervisor": "xen",
        "VCpuInfo": {"DefaultVCpus": vcpus, "DefaultCores": vcpus // 2, "DefaultThreadsPerCore": 2},
        "MemoryInfo": {"SizeInMiB": memory_mib},
        "GpuInfo": {"Gpus": [gpu], "TotalGpuMemoryInMiB": 16384 * gpus},
        "InstanceStorageSupported": False,
    }
    facts.pop("InstanceStorageInfo", None)
    return facts


def _offer(name: str, region: str, zones: list[str]) -> None:
    by_zone = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region)
    by_region = INSTANCE_TYPE_OFFERINGS["region"].get(region)
    if by_zone is None or by_region is None:
        return
    by_zone += [{"InstanceType": name, "LocationType": "availability-zone", "Location": zone} for zone in zones]
    by_region.append({"InstanceType": name, "LocationType": "region", "Location": region})
