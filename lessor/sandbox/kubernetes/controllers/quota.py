"""Quotas: what is used is written down, and only then do they let anything through."""

from __future__ import annotations

from lessor.sandbox.kubernetes import quotas
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import kind


def run(world: World) -> None:
    for quota in world.store.all(kind("ResourceQuota")):
        hard = quota["spec"].get("hard") or {}
        used = quotas.used(world.store, world.served, quota["metadata"]["namespace"], hard)
        world.status(
            kind("ResourceQuota"), quota, {"hard": dict(hard)} | ({"used": quotas.shown(used, hard)} if used else {})
        )
