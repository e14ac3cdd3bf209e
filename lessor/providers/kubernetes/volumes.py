"""Claims and the volumes behind them: how large, of which class, at what cost, and what becomes of them (case D08)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from lessor.domain.money import Money
from lessor.domain.resource import Disk, Kind
from lessor.providers.kubernetes import owners
from lessor.providers.kubernetes.amounts import digits, quantity
from lessor.providers.kubernetes.api import CLAIM, Obj
from lessor.providers.kubernetes.ours import Record, created_at, noted_at, path
from lessor.providers.kubernetes.site import Site

GIB = 1024**3
DRIVEN = "pv.kubernetes.io/provisioned-by"
STOPPED_AT = "stopped-at"


def size(obj: Mapping[str, Any]) -> Fraction | None:
    """GiB of a claim or a volume: what it has got, else what was asked for; `None` where nobody says."""
    status, spec = obj.get("status", {}), obj.get("spec", {})
    said = (
        (status.get("capacity") or {}).get("storage"),
        (spec.get("capacity") or {}).get("storage"),
        ((spec.get("resources") or {}).get("requests") or {}).get("storage"),
    )
    exact = next((quantity(one) for one in said if one), None)
    return exact / GIB if exact is not None else None


def gib_month(site: Site, at: datetime) -> Money | None:
    """What a GiB costs for a month in the place; `None` is unknown (law 1)."""
    return site.config.disk_monthly if at.astimezone(UTC).date() >= site.config.disk_since else None


def monthly(site: Site, obj: Mapping[str, Any], at: datetime) -> Money | None:
    """What it costs a month at the place's price; `None` is unknown (law 1)."""
    price, gib = gib_month(site, at), size(obj)
    if price is None or gib is None:
        return None
    return Money.of(Fraction(price.amount) * gib, price.currency)


def added(site: Site, volume: Mapping[str, Any], claims: Mapping[str, Obj], at: datetime) -> Disk | None:
    """The disk behind a volume that is bound to one of these claims of people's, by uid; `None` of any other volume.

    It is the lease's since both were there: a volume may be older than the claim that took it.
    """
    claim = claims.get(str((volume.get("spec", {}).get("claimRef") or {}).get("uid", "")))
    if claim is None:
        return None
    since = max(created_at(volume) or at, created_at(claim) or at)
    gib = size(volume)
    return Disk(since, None if gib is None else digits(gib), gib_month(site, at), path(claim))


def kind_of_disk(obj: Mapping[str, Any]) -> str:
    """`100 GiB fast-ssd`."""
    gib = size(obj)
    how_large = "? GiB" if gib is None else f"{float(gib):g} GiB"
    return f"{how_large} {obj.get('spec', {}).get('storageClassName') or ''}".strip()


def cost(site: Site, obj: Mapping[str, Any], at: datetime) -> str:
    """`12.50 USD a month`, or that nobody has said what it costs."""
    priced = monthly(site, obj, at)
    return f"{priced} a month" if priced is not None else "at an unknown cost"


def told(site: Site, obj: Mapping[str, Any], at: datetime) -> str:
    """`claim gpu-7k3qxa2m/data, 100 GiB of class fast-ssd, 12.50 USD a month`."""
    what = "claim" if obj.get("kind") == CLAIM.kind else "volume"
    gib, of_class = size(obj), obj.get("spec", {}).get("storageClassName")
    how_large = "of unknown size" if gib is None else f"{float(gib):g} GiB"
    return f"{what} {path(obj)}, {how_large}{f' of class {of_class}' if of_class else ''}, {cost(site, obj, at)}"


def mounting(claim: Mapping[str, Any], pods: Iterable[Obj]) -> list[str]:
    """Names of the pods that have not ended and mount the claim."""
    name = claim["metadata"]["name"]
    return [pod["metadata"]["name"] for pod in pods if not owners.finished(pod) and name in _mounts(pod)]


def kept_until(site: Site, space: Mapping[str, Any], at: datetime) -> datetime:
    """Until when claims that people made outlive their workloads: from when those were stopped, or else from now on."""
    return (noted_at(space, STOPPED_AT) or at) + site.config.claims_kept


def bound_in(volume: Mapping[str, Any], namespace: str) -> bool:
    """Whether it was made for, or is bound to, a claim in the namespace, which may be gone by now."""
    return str((volume.get("spec", {}).get("claimRef") or {}).get("namespace", "")) == namespace


def proven(volume: Mapping[str, Any], record: Record, claims: Sequence[Obj]) -> bool:
    """Whether the claim that it was bound to is, or was, one of the lease's: a name alone can come again (case D23)."""
    uid = str((volume.get("spec", {}).get("claimRef") or {}).get("uid", ""))
    living = {claim["metadata"]["uid"] for claim in claims}
    return record.has(Kind.VOLUME, volume) or uid in living or record.has_uid(Kind.CLAIM, uid)


def retained(volume: Mapping[str, Any]) -> bool:
    """Whether the disk stays when the claim goes."""
    return str(volume.get("spec", {}).get("persistentVolumeReclaimPolicy")) != "Delete"


def driven(volume: Mapping[str, Any]) -> bool:
    """Whether a driver made it, which also deletes the disk when it is told to; of others only the object would go."""
    return DRIVEN in (volume["metadata"].get("annotations") or {})


def _mounts(pod: Mapping[str, Any]) -> set[str]:
    """The claims that a pod mounts: those named, and those that come and go with it."""
    found = set()
    for one in pod.get("spec", {}).get("volumes") or ():
        if one.get("persistentVolumeClaim"):
            found.add(str(one["persistentVolumeClaim"].get("claimName")))
        elif one.get("ephemeral"):
            found.add(f"{pod['metadata']['name']}-{one['name']}")
    return found
