"""Devices that are held by claims (dynamic resource allocation): with a pod or without one, they are nobody else's.

An allocated claim holds its devices until the server has taken the allocation away, whatever happened to the pod
(case D20). Nothing here is ever deleted: claims are shown with what is known of their owners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from lessor.catalog.cluster import load_names
from lessor.domain.pools import Holder, Pool
from lessor.domain.slices import profile
from lessor.ports import PermanentError, ProviderError
from lessor.providers.kubernetes.amounts import moment, quantity
from lessor.providers.kubernetes.api import DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_SLICE, Obj
from lessor.providers.kubernetes.gpus import NO_MODEL
from lessor.providers.kubernetes.ours import created_at
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.versions import DEVICES, served

_BY_CLAIM = " (by claim)"
ORPHAN_AFTER = timedelta(minutes=30)
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
"""On claims that the cluster made from a template for one pod; those that people made do not have it."""
INSTEAD = "resource.kubernetes.io/extended-resource-claim"
"""On claims that stand for a resource that the pod asked for by its old name: the pod is counted already."""

Device = tuple[str, str, str]
Who = Callable[[Obj, str], str]


@dataclass(frozen=True)
class Devices:
    """What devices are, by driver, pool and name: the model of the GPU and what part of one it is."""

    models: Mapping[Device, tuple[str, Fraction]]

    def of(self, device: Device) -> tuple[str, Fraction]:
        return self.models.get(device, (NO_MODEL, Fraction(1)))


@dataclass(frozen=True)
class Claims:
    """All claims that hold GPUs, and all devices that are GPUs; `problem` says why the devices are not known."""

    claims: tuple[Obj, ...] = ()
    devices: Devices = field(default_factory=lambda: Devices({}))
    problem: str = ""

    def holders(self, site: Site, live: Mapping[str, Obj] | None, leases: Iterable[str], who: Who) -> Iterator[Holder]:
        """One holder for each claim and model. `live` are the pods by uid, `None` where they are not known."""
        ours = frozenset(leases)
        for claim in self.claims:
            space, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
            for (model, share), units in _held(claim, self.devices).items():
                yield Holder(
                    place=site.place,
                    ref=f"{'pod claim' if _from_template(claim) else 'claim'} {space}/{name}",
                    model=_by_claim(model),
                    units=units,
                    share=share,
                    lease=space if space in ours else "",
                    who=who(claim, space),
                    since=_allocated_at(claim),
                    flag=_flag(claim, live, site.clock()),
                )

    def units(self, namespace: str) -> int:
        """How many devices the claims of a namespace hold."""
        mine = (one for one in self.claims if one["metadata"]["namespace"] == namespace)
        return sum(_held(one, self.devices).total() for one in mine)

    def pools(self, site: Site) -> tuple[Pool, ...]:
        """The GPUs that are handed out by claims only; what of them a lease could get is not known."""
        held: Counter[tuple[str, Fraction]] = Counter()
        for claim in self.claims:
            held.update(_held(claim, self.devices))
        total = Counter(self.devices.models.values())
        return tuple(
            Pool(
                site.place,
                _by_claim(model),
                "GPU" if share == 1 else "slice",
                share,
                total=total[model, share] if model != NO_MODEL and not self.problem else None,
                held=held[model, share],
            )
            for model, share in sorted({*total, *held})
        )


def read(site: Site) -> Claims:
    """All claims on GPUs. Without dynamic resource allocation there are none. Raises `ProviderError` if unread."""
    kind = served(site.api, RESOURCE_CLAIM, DEVICES)
    if kind is None:
        return Claims()
    found = tuple(claim for claim in site.api.list(kind) if any(_results(claim)) and not _instead(claim))
    try:
        return Claims(found, _devices(site))
    except ProviderError as error:
        return Claims(found, problem=f"the models of claimed devices are not known: {error}")


def classes(site: Site) -> Mapping[str, str]:
    """Classes of devices, each with the resource under whose name pods get its devices as well, if there is one.

    There are none without dynamic resource allocation, and none are known where they may not be read: claims stay shut
    out then. Raises `ProviderError` when the cluster does not answer.
    """
    kind = served(site.api, DEVICE_CLASS, DEVICES)
    try:
        found = site.api.list(kind) if kind is not None else ()
    except PermanentError as error:
        if error.code != "forbidden":
            raise
        return {}
    return {one["metadata"]["name"]: str((one.get("spec") or {}).get("extendedResourceName") or "") for one in found}


def spelled(site: Site) -> str:
    """The GPUs that only claims get, as `A100-80GB x8`; empty where there are none or they are not known."""
    try:
        pools = [one for one in read(site).pools(site) if one.total]
    except ProviderError:
        return ""
    return ", ".join(f"{one.model.removesuffix(_BY_CLAIM)} x{one.total}" for one in pools)


def _devices(site: Site) -> Devices:
    kind = served(site.api, RESOURCE_SLICE, DEVICES)
    found: dict[Device, tuple[str, Fraction]] = {}
    for piece in site.api.list(kind) if kind is not None else ():
        spec = piece.get("spec") or {}
        driver, pool = spec.get("driver", ""), (spec.get("pool") or {}).get("name", "")
        for device in spec.get("devices") or () if load_names().driver(driver) else ():
            found[driver, pool, device["name"]] = _model(site, device)
    return Devices(found)


def _model(site: Site, device: Mapping[str, Any]) -> tuple[str, Fraction]:
    """By the product name that the driver tells, with the profile of a slice where it is one."""
    told = device.get("basic") or device
    attributes = told.get("attributes") or {}
    product = _text(attributes, "productName")
    if not product:
        return NO_MODEL, Fraction(1)
    memory = quantity(((told.get("capacity") or {}).get("memory") or {}).get("value", 0)) or Fraction(0)
    model = site.catalogue.reported(product, int(memory / 1024**2)).name
    cut = profile(_text(attributes, "profile"))
    if cut is None:
        return model, Fraction(1)
    return f"{model}-{cut.name}", cut.share(load_names().slices_of(model))


def _text(attributes: Mapping[str, Any], name: str) -> str:
    """An attribute, with or without the driver's name before it."""
    found = next((value for key, value in attributes.items() if key.rpartition("/")[2] == name), None) or {}
    return str(found.get("string", ""))


def _results(claim: Obj) -> Iterator[Mapping[str, Any]]:
    """The devices that a claim has, GPUs only; looking on from outside takes no device from anybody."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for one in (allocation.get("devices") or {}).get("results") or ():
        if load_names().driver(one.get("driver", "")) and not one.get("adminAccess"):
            yield one


def _held(claim: Obj, devices: Devices) -> Counter[tuple[str, Fraction]]:
    return Counter(devices.of((one["driver"], one.get("pool", ""), one.get("device", ""))) for one in _results(claim))


def _by_claim(model: str) -> str:
    """The name of GPUs that only claims get: no quota of a lease has a hold on them."""
    return f"{model or 'unknown model'}{_BY_CLAIM}"


def _flag(claim: Obj, live: Mapping[str, Obj] | None, now: datetime) -> str:
    """Nobody uses it, and that for a while; empty while somebody does, and where pods are not known."""
    since = _unused_since(claim)
    if live is None or since is None or now - since <= ORPHAN_AFTER:
        return ""
    for one in (claim.get("status") or {}).get("reservedFor") or ():
        if one.get("resource") != "pods" or one.get("uid") in live:
            return ""
    made = "made from a template" if _from_template(claim) else "made by somebody"
    leaving = ", being deleted" if claim["metadata"].get("deletionTimestamp") else ""
    return f"claim without a consumer ({made}{leaving})"


def _unused_since(claim: Obj) -> datetime | None:
    """The earliest that it can have lost its last consumer: when its status was last written, if that is told."""
    managed = claim["metadata"].get("managedFields") or ()
    written = [moment(one.get("time")) for one in managed if one.get("subresource") == "status"]
    return max([at for at in (*written, _allocated_at(claim)) if at], default=None)


def _allocated_at(claim: Obj) -> datetime | None:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return moment(allocation.get("allocationTimestamp")) or created_at(claim)


def _from_template(claim: Obj) -> bool:
    meta = claim["metadata"]
    owned = any(one.get("kind") == "Pod" for one in meta.get("ownerReferences") or ())
    return POD_CLAIM in (meta.get("annotations") or {}) or owned


def _instead(claim: Obj) -> bool:
    return INSTEAD in (claim["metadata"].get("annotations") or {})
