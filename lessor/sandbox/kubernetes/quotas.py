"""What a namespace's quota counts, and what it lets through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.errors import forbidden
from lessor.sandbox.kubernetes.kinds import Kind, Served, kind
from lessor.sandbox.kubernetes.quantities import amount, written
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
_OBJECTS = {
    "services": "Service", "secrets": "Secret", "configmaps": "ConfigMap", "resourcequotas": "ResourceQuota",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}  # fmt: skip
_DEVICES, _ALL_DEVICES = ".deviceclass.resource.k8s.io/devices", 32
_MUST_SAY = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}


def counted(name: str) -> bool:
    """Whether a quota of that name is enforced: a device by its bare name, or its limits, is never counted."""
    if name.startswith(("limits.", "requests.")) or "/" not in name:
        return not (name.startswith("limits.") and "/" in name)
    return name.startswith("count/") or name.endswith(_DEVICES)


def used(store: Store, served: Served, namespace: str, names: Iterable[str]) -> dict[str, Decimal]:
    """What is used of each name that counts."""
    total = {name: Decimal(0) for name in names if counted(name)}
    for one in served:
        if not one.namespaced or not any(_concerns(one, name) for name in total):
            continue
        for obj in store.all(one, namespace):
            for name, value in of(one, obj).items():
                if name in total:
                    total[name] += value
    return total


def of(what: Kind, obj: Obj) -> dict[str, Decimal]:
    """What one object takes of each name."""
    one = Decimal(1)
    found = {f"count/{what.resource}": one}
    found |= {name: one for name, of_kind in _OBJECTS.items() if of_kind == what.kind}
    if what.kind == "PersistentVolumeClaim":
        size = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
        found["requests.storage"] = amount(size)
        if obj["spec"].get("storageClassName"):
            found[f"{obj['spec']['storageClassName']}.storageclass.storage.k8s.io/requests.storage"] = amount(size)
    if what.kind == "ResourceClaim":
        found |= _devices(obj)
    if what.kind == "Pod" and not pods.finished(obj):
        found["pods"] = one
        for name, value in pods.requests(obj["spec"]).items():
            found[f"requests.{name}"] = value
            if name in ("cpu", "memory"):
                found[name] = value
        found |= {
            f"limits.{name}": value for name, value in pods.requests(obj["spec"], "limits").items() if "/" not in name
        }
    return found


def admit(store: Store, what: Kind, obj: Obj) -> None:
    """Let a new object through, or not. Raises `Refused` (403) as the server words it."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")
    asked = of(what, obj)
    for quota in store.all(kind("ResourceQuota"), namespace):
        hard = {one: amount(value) for one, value in (quota["spec"].get("hard") or {}).items()}
        status = quota.get("status", {})
        mine = [one for one in hard if _concerns(what, one) and counted(one)]
        title = quota["metadata"]["name"]
        if mine and any(one not in (status.get("used") or {}) for one in mine if asked.get(one)):
            unknown = ",".join(sorted(mine))
            raise forbidden(what, name, f"status unknown for quota: {title}, resources: {unknown}")
        if what.kind == "Pod":
            _must_say(what, name, title, obj, mine)
        over = {one: asked[one] for one in mine if one in asked}
        have = {one: amount(status["used"][one]) for one in over}
        if any(have[one] + value > hard[one] for one, value in over.items() if value):
            passed = [one for one, value in over.items() if value and have[one] + value > hard[one]]
            raise forbidden(
                what,
                name,
                f"exceeded quota: {title}, requested: {_told(over, passed)}, used: {_told(have, passed)}, "
                f"limited: {_told(hard, passed)}",
            )


def charge(store: Store, what: Kind, obj: Obj) -> None:
    """Note what a new object takes, so that the next one is held against it."""
    for quota in store.all(kind("ResourceQuota"), obj["metadata"]["namespace"]):
        used_ = dict(quota.get("status", {}).get("used") or {})
        taken = {name: value for name, value in of(what, obj).items() if name in used_ and value}
        if taken:
            used_ |= shown({name: amount(used_[name]) + value for name, value in taken.items()}, used_)
            store.put(kind("ResourceQuota"), quota | {"metadata": dict(quota["metadata"]),
                                                      "status": quota["status"] | {"used": used_}})  # fmt: skip


def shown(values: Mapping[str, Decimal], like: Mapping[str, Any]) -> dict[str, str]:
    """Amounts as quantities, in the units of the quota."""
    return {name: written(value, str(like.get(name, ""))) for name, value in values.items()}


def _devices(claim: Obj) -> dict[str, Decimal]:
    """What a claim asks for of each class; of what it would take instead of another, the most."""
    found: dict[str, Decimal] = {}
    for wanted in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        most: dict[str, Decimal] = {}
        for one in wanted.get("firstAvailable") or [wanted.get("exactly") or {}]:
            name = f"{one.get('deviceClassName', '')}{_DEVICES}"
            count = _ALL_DEVICES if one.get("allocationMode") == "All" else one.get("count", 1)
            most[name] = max(most.get(name, Decimal(0)), Decimal(count))
        found |= {name: found.get(name, Decimal(0)) + count for name, count in most.items()}
    return found


def _must_say(what: Kind, name: str, title: str, pod: Obj, mine: list[str]) -> None:
    silent = []
    for one in sorted(set(mine) & _MUST_SAY):
        word, resource = (
            ("limits", one[7:]) if one.startswith("limits.") else ("requests", one.removeprefix("requests."))
        )
        lacking = [
            container["name"]
            for container in pod["spec"].get("containers") or []
            if resource not in ((container.get("resources") or {}).get(word) or {})
        ]
        silent += [f"{one} for: {','.join(lacking)}"] if lacking else []
    if silent:
        raise forbidden(what, name, f"failed quota: {title}: must specify {'; '.join(silent)}")


def _concerns(what: Kind, name: str) -> bool:
    if name == f"count/{what.resource}" or _OBJECTS.get(name) == what.kind:
        return True
    storage = name == "requests.storage" or name.endswith(".storageclass.storage.k8s.io/requests.storage")
    if what.kind == "PersistentVolumeClaim":
        return storage
    if what.kind == "ResourceClaim":
        return name.endswith(_DEVICES)
    if what.kind == "Pod":
        plain = name in ("pods", "cpu", "memory") or name.startswith(("requests.", "limits."))
        return plain and not storage
    return False


def _told(values: Mapping[str, Decimal], names: list[str]) -> str:
    return ",".join(f"{name}={written(values[name])}" for name in sorted(names))
