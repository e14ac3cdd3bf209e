"""What pods ask for, and how far they have come."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lessor.sandbox.kubernetes.quantities import added, amount

Obj = dict[str, Any]


def requests(spec: Obj, word: str = "requests") -> dict[str, Decimal]:
    """What a pod asks for: its containers together, or a container that runs before them if that is more."""
    total = added(*((one.get("resources") or {}).get(word) or {} for one in spec.get("containers") or []))
    for one in spec.get("initContainers") or []:
        for name, value in ((one.get("resources") or {}).get(word) or {}).items():
            total[name] = max(total.get(name, Decimal(0)), amount(value))
    return total


def finished(pod: Obj) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def ready(pod: Obj) -> bool:
    return condition(pod, "Ready") == "True"


def condition(obj: Obj, type_: str) -> str:
    """True, False, Unknown, or nothing."""
    conditions: list[Obj] = obj.get("status", {}).get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == type_), "")


def conditioned(status: Obj, type_: str, value: str, now: str, reason: str = "", message: str = "") -> None:
    """Set a condition; the time of its transition only changes with its value."""
    conditions = status.setdefault("conditions", [])
    new = {"type": type_, "status": value, "lastTransitionTime": now}
    new |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
    for index, one in enumerate(conditions):
        if one["type"] == type_:
            if one["status"] == value:
                new["lastTransitionTime"] = one.get("lastTransitionTime", now)
            conditions[index] = new
            return
    conditions.append(new)


def owner(obj: Obj) -> Obj | None:
    """The owner that controls it."""
    return next((one for one in obj["metadata"].get("ownerReferences") or [] if one.get("controller")), None)
