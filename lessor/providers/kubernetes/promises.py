"""What leases are promised in a cluster, read from their namespaces and quotas, and quotas that promise nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lessor.contracts import LABEL_LEASE
from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.amounts import count
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, Obj
from lessor.providers.kubernetes.ours import created_at, ending, made_by_us, note
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

REQUESTS = "requests."
COUNTED_AFTER = timedelta(minutes=1)


@dataclass(frozen=True)
class Tenant:
    """A lease in the cluster: its namespace is its name. `promised` is by resource, of GPUs of the `model`.

    One that is `starting` was stopped, and is promised something again that it may have to give way with.
    """

    lease: str
    owner: str = ""
    model: str = ""
    promised: Mapping[str, int] = field(default_factory=dict)
    created_at: datetime | None = None
    starting: bool = False

    @property
    def age(self) -> tuple[datetime, str]:
        """Sorts the oldest first; of two that began in the same second one has to be."""
        return self.created_at or datetime.max.replace(tzinfo=UTC), self.lease

    def promise(self, shape: GpuShape) -> int:
        """Units of the shape that it may take. Without a known model every one of the resource may be meant."""
        return self.promised.get(shape.resource, 0) if self.model in ("", shape.model) else 0


def read(site: Site) -> tuple[Tenant, ...]:
    """Every lease with a namespace here, oldest first. Raises `ProviderError` when they cannot all be read."""
    return of(site.api.list(NAMESPACE, labels=LABEL_LEASE), site.api.list(RESOURCE_QUOTA))


def of(spaces: Iterable[Obj], quotas: Iterable[Obj]) -> tuple[Tenant, ...]:
    """The leases among all namespaces, oldest first."""
    found: dict[str, list[Obj]] = {}
    for quota in quotas:
        found.setdefault(quota["metadata"]["namespace"], []).append(quota)
    ours = (one for one in spaces if made_by_us(one, one["metadata"]["name"]))
    return tuple(
        sorted((_tenant(one, found.get(one["metadata"]["name"], ())) for one in ours), key=lambda one: one.age)
    )


def unenforced(site: Site, quotas: Iterable[Obj]) -> tuple[str, ...]:
    """Which quotas, of anybody, promise what the cluster does not hold anybody to (case D02)."""
    return tuple(sorted(told for quota in quotas for told in _unenforced(site, quota)))


def _tenant(space: Obj, quotas: Iterable[Obj]) -> Tenant:
    promised = {} if ending(space) else _promised(space, quotas)
    return Tenant(
        lease=space["metadata"]["name"],
        owner=note(space, "owner"),
        model=note(space, "model"),
        promised=promised,
        created_at=created_at(space),
        starting=bool(note(space, "stopped-at")) and promised.get(note(space, "resource"), 0) > 0,
    )


def _promised(space: Obj, quotas: Iterable[Obj]) -> dict[str, int]:
    """The least of each resource that any quota allows; what was ordered where no quota says anything of it yet."""
    found: dict[str, int] = {}
    ordered, units = note(space, "resource"), count(note(space, "gpus"))
    for quota in quotas:
        spec = quota.get("spec") or {}
        # One with a scope holds some pods back and lets all others in.
        hards = {} if spec.get("scopes") or spec.get("scopeSelector") else spec.get("hard") or {}
        for key, hard in hards.items():
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
        elif key not in used and not _new(site, quota):
            yield f"{where} is not enforced for {key}: the cluster shows nothing used of it"


def _new(site: Site, quota: Obj) -> bool:
    """Whether the cluster may not have counted it yet, as in the seconds after it was made."""
    made = created_at(quota)
    return made is not None and site.clock() - made < COUNTED_AFTER
