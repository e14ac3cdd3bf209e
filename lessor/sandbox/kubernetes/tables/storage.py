"""Columns of disks, and of devices that are claimed as disks are."""

from __future__ import annotations

from collections.abc import Sequence

from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.tables.columns import AGE, NAME, Column, Columns, Obj, column, found, said

DEFAULT = "_default"
"""Marks, for its name, the class that is taken where none is named; never sent."""

_UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS = "volume.beta.kubernetes.io/storage-class"


def with_default(kind: Kind, objects: Sequence[Obj]) -> Sequence[Obj]:
    """Classes of storage with the newest of those that call themselves the default marked; others as they are."""
    if kind.kind != "StorageClass":
        return objects
    called = [one for one in objects if _calls_itself_default(one)]
    newest = max((one["metadata"]["creationTimestamp"] for one in called), default="")
    names = sorted(one["metadata"]["name"] for one in called if one["metadata"]["creationTimestamp"] == newest)
    return [one | {DEFAULT: True} if one["metadata"]["name"] in names[:1] else one for one in objects]


def _calls_itself_default(one: Obj) -> bool:
    told = one["metadata"].get("annotations") or {}
    return any(told.get(name) == "true" for name in _IS_DEFAULT)


def _modes(given: Sequence[str] | None) -> str:
    return ",".join(short for long, short in _MODES.items() if long in (given or ()))


def _class(obj: Obj) -> str:
    named = (obj["metadata"].get("annotations") or {}).get(_CLASS)
    return str(named or obj["spec"].get("storageClassName") or "")


def _phase(obj: Obj) -> str:
    leaving = "deletionTimestamp" in obj["metadata"]
    return "Terminating" if leaving else str(found(obj, "status", "phase") or "")


def _bound(claim: Obj, *path: str) -> object:
    """What a claim has, which is nothing before it is bound."""
    return found(claim, *path) if claim["spec"].get("volumeName") else None


def _claimed_by(volume: Obj) -> str:
    by = volume["spec"].get("claimRef")
    return f"{by.get('namespace', '')}/{by.get('name', '')}" if by else ""


def _state(claim: Obj) -> str:
    leaving, status = "deletionTimestamp" in claim["metadata"], claim.get("status", {})
    words = ["deleted"] if leaving else []
    if status.get("allocation"):
        words += ["allocated", *(["reserved"] if status.get("reservedFor") else ())]
    elif not leaving:
        words += ["pending"]
    return ",".join(words)


_ATTRIBUTES = said("VolumeAttributesClass", "spec", "volumeAttributesClassName", otherwise=_UNSET)
_MODE = said("VolumeMode", "spec", "volumeMode", otherwise=_UNSET, wide=True)

COLUMNS: dict[str, Columns] = {
    "PersistentVolumeClaim": (
        NAME,
        column("Status", _phase),
        said("Volume", "spec", "volumeName"),
        column("Capacity", lambda claim: _bound(claim, "status", "capacity", "storage") or ""),
        column("Access Modes", lambda claim: _modes(_bound(claim, "status", "accessModes"))),  # type: ignore[arg-type]
        column("StorageClass", _class),
        _ATTRIBUTES,
        AGE,
        _MODE,
    ),
    "PersistentVolume": (
        NAME,
        column("Capacity", lambda one: found(one, "spec", "capacity", "storage") or "0"),
        column("Access Modes", lambda one: _modes(one["spec"].get("accessModes"))),
        said("Reclaim Policy", "spec", "persistentVolumeReclaimPolicy"),
        column("Status", _phase),
        column("Claim", _claimed_by),
        column("StorageClass", _class),
        _ATTRIBUTES,
        said("Reason", "status", "reason"),
        AGE,
        _MODE,
    ),
    "StorageClass": (
        Column(
            "Name", lambda one, _: one["metadata"]["name"] + (" (default)" if DEFAULT in one else ""), format="name"
        ),
        said("Provisioner", "provisioner"),
        said("ReclaimPolicy", "reclaimPolicy", otherwise="Delete"),
        said("VolumeBindingMode", "volumeBindingMode", otherwise="Immediate"),
        column("AllowVolumeExpansion", lambda one: bool(one.get("allowVolumeExpansion"))),
        AGE,
    ),
    "ResourceClaim": (NAME, column("State", _state), AGE),
    "ResourceClaimTemplate": (NAME, AGE),
    "DeviceClass": (NAME, AGE),
    "ResourceSlice": (
        NAME,
        said("Node", "spec", "nodeName"),
        said("Driver", "spec", "driver"),
        said("Pool", "spec", "pool", "name"),
        AGE,
    ),
}
