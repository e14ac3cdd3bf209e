"""What leases are promised in a cluster, read from their namespaces and quotas, and quotas that promise nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lessor.contracts import LABEL_LEASE
from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.amounts import count
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, Obj
from lessor.providers.kubernetes.ours import created_at, ending, made_by_us, note
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

REQUESTS = "requests."


@dataclass(frozen=True)
class Tenant:
    """A lease in the cluster: its namespace is its name. `promised` is by resource, of GPUs of the `model`."""

    lease: str
    owner: str = ""
    model: str = ""
    promised: Mapping[str, int] = field(default_factory=dict)
    created_at: datetime | None = None

    @property
    def age(self) -> tuple[datetime, str]:
        """Sorts the oldest first; of two that began in the same second one has to be."""
        return self.created_at or datetime.max.replace(tzinfo=UTC), self.lease

    def promise(self, shape: GpuShape) -> int:
        """Units of the shape that it may take. Without a known model every one of the resource may be meant."""
        return self.promised.get(shape.resource, 0) if self.model in ("", shape.model) else 0


def read(site: Site) -> tuple[tuple[Tenant, ...], tuple[str, ...]]:
    """Every lease with a namespace here, oldest first, and which quotas of anybody are not enforced (case D02).

    Raises `ProviderError` when they cannot all be read.
    """
    quotas: dict[str, list[Obj]] = {}
    for quota in site.api.list(RESOURCE_QUOTA):
        quotas.setdefault(quota["metadata"]["namespace"], []).append(quota)
    spaces = (one for one in site.api.list(NAMESPACE, labels=LABEL_LEASE) if made_by_us(one, one["metadata"]["name"]))
    tenants = [_tenant(space, quotas.get(space["metadata"]["name"], ())) for space in spaces]
    notes = [note for found in quotas.values() for quota in found for note in _unenforced(site, quota)]
    return tuple(sorted(tenants, key=lambda one: one.age)), tuple(sorted(notes))


def _tenant(space: Obj, quotas: Iterable[Obj]) -> Tenant:
    return Tenant(
        lease=space["metadata"]["name"],
        owner=note(space, "owner"),
        model=note(space, "model"),
        promised={} if ending(space) else _promised(space, quotas),
        created_at=created_at(space),
    )


def _promised(space: Obj, quotas: Iterable[Obj]) -> dict[str, int]:
    """The least of each resource that any quota allows; what was ordered where no quota says anything of it yet."""
    found: dict[str, int] = {}
    ordered, units = note(space, "resource"), count(note(space, "gpus"))
    for quota in quotas:
        for key, hard in ((quota.get("spec") or {}).get("hard") or {}).items():
            most = count(hard)
            if key.startswith(REQUESTS) and most is not None:
                resource = key.removeprefix(REQUESTS)
                found[resource] = min(found.get(resource, most), most)
    if ordered and units is not None and not note(space, "stopped-at"):
        found.setdefault(ordered, units)
    return found


def _unenforced(site: Site, quota: Obj) -> Iterable[str]:
    """The server takes quotas on GPUs under other names than `requests.`, and then never looks at them."""
    used = (quota.get("status") or {}).get("used") or {}
    where = f"quota {quota['metadata']['namespace']}/{quota['metadata']['name']}"
    for key in (quota.get("spec") or {}).get("hard") or {}:
        resource = key.removeprefix(REQUESTS).removeprefix("limits.")
        if not gpus.is_gpu(site, resource):
            continue
        if not key.startswith(REQUESTS):
            yield f"{where} is not enforced for {key}; the cluster counts {REQUESTS}{resource} only"
        elif key not in used:
            yield f"{where} is not enforced for {key}: the cluster shows nothing used of it"
