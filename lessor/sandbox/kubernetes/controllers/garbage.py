"""Garbage collection: what an owner that is gone has left behind goes too."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.registry import FOREGROUND, ORPHAN

Obj = dict[str, Any]


def run(world: World) -> None:
    everything = [(what, obj) for what in world.served for obj in world.store.all(what)]
    alive = {obj["metadata"]["uid"]: obj for _, obj in everything}
    for what, obj in everything:
        owners = obj["metadata"].get("ownerReferences") or []
        left_behind = owners and not any(one["uid"] in alive for one in owners)
        if left_behind and "deletionTimestamp" not in obj["metadata"]:
            world.remove(what, obj, propagationPolicy="Background")
    for what, obj in everything:
        held = obj["metadata"].get("finalizers") or []
        if "deletionTimestamp" in obj["metadata"] and (FOREGROUND in held or ORPHAN in held):
            _release(world, what, obj, everything)


def _release(world: World, what: Kind, owner: Obj, everything: list[tuple[Kind, Obj]]) -> None:
    uid = owner["metadata"]["uid"]
    below = [
        (of, obj)
        for of, obj in everything
        if any(one["uid"] == uid for one in obj["metadata"].get("ownerReferences") or [])
        and world.store.get(of, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    ]
    if ORPHAN in owner["metadata"]["finalizers"]:
        for of, obj in below:
            world.registry.change(of, obj, lambda one: _disown(one, uid))
        world.registry.change(what, owner, lambda one: one["metadata"]["finalizers"].remove(ORPHAN))
        return
    for of, obj in below:
        if "deletionTimestamp" not in obj["metadata"]:
            world.remove(of, obj, propagationPolicy="Foreground")
    if not below:
        world.registry.change(what, owner, lambda one: one["metadata"]["finalizers"].remove(FOREGROUND))


def _disown(obj: Obj, uid: str) -> None:
    references = [one for one in obj["metadata"].get("ownerReferences") or [] if one["uid"] != uid]
    obj["metadata"]["ownerReferences"] = references
