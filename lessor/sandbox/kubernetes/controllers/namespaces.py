"""Namespaces: an account in each, and their end when everything in them is gone."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.managed import Writer
from lessor.sandbox.kubernetes.registry import CONTROLLER, Request

Obj = dict[str, Any]


def run(world: World) -> None:
    for namespace in world.store.all(kind("Namespace")):
        if "deletionTimestamp" not in namespace["metadata"]:
            _account(world, namespace)
        elif namespace["spec"].get("finalizers"):
            _empty(world, namespace)


def _account(world: World, namespace: Obj) -> None:
    name = namespace["metadata"]["name"]
    if world.store.get(kind("ServiceAccount"), name, "default") is None:
        world.make(kind("ServiceAccount"), name, {"metadata": {"name": "default"}})


def _empty(world: World, namespace: Obj) -> None:
    """Delete what is in it; say what remains and what holds it; let go when nothing is left."""
    name = namespace["metadata"]["name"]
    away = set(world.settings.unavailable)
    for what in _kinds(world):
        if what.group not in away:
            for obj in world.store.all(what, name):
                if "deletionTimestamp" not in obj["metadata"]:
                    world.remove(what, obj, propagationPolicy="Background")
    remaining: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    for what in _kinds(world):
        for obj in world.store.all(what, name):
            remaining[f"{what.plural}.{what.group}"] += 1
            holding.update(obj["metadata"].get("finalizers") or [])
    if remaining or away:
        _say(world, namespace, remaining, holding, sorted(away))
        return
    done = copy.deepcopy(namespace)
    done["spec"]["finalizers"] = []
    done["metadata"].pop("resourceVersion")
    writer = Writer("kube-controller-manager", subresource="finalize")
    world.registry.replace(kind("Namespace"), "", name, done, Request(CONTROLLER, writer))


def _kinds(world: World) -> list[Kind]:
    return [one for one in world.served if one.namespaced]


def _say(world: World, namespace: Obj, remaining: Counter[str], holding: Counter[str], away: list[str]) -> None:
    status, now = copy.deepcopy(namespace.get("status", {})), world.clock.stamp()
    if away:
        groups = ", ".join(f"{one}/v1: stale GroupVersion discovery: {one}/v1" for one in away)
        text = f"Discovery failed for some groups, {len(away)} failing: unable to retrieve the complete list of server"
        text += f" APIs: {groups}"
        pods.conditioned(status, "NamespaceDeletionDiscoveryFailure", "True", now, "DiscoveryFailed", text)
    else:
        text = "All resources successfully discovered"
        pods.conditioned(status, "NamespaceDeletionDiscoveryFailure", "False", now, "ResourcesDiscovered", text)
    text = "All legacy kube types successfully parsed"
    pods.conditioned(status, "NamespaceDeletionGroupVersionParsingFailure", "False", now, "ParsedGroupVersions", text)
    text = "All content successfully deleted, may be waiting on finalization"
    pods.conditioned(status, "NamespaceDeletionContentFailure", "False", now, "ContentDeleted", text)
    left = ", ".join(f"{what} has {count} resource instances" for what, count in sorted(remaining.items()))
    if left:
        text = f"Some resources are remaining: {left}"
        pods.conditioned(status, "NamespaceContentRemaining", "True", now, "SomeResourcesRemain", text)
    else:
        text = "All content successfully removed"
        pods.conditioned(status, "NamespaceContentRemaining", "False", now, "ContentRemoved", text)
    held = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(holding.items()))
    if held:
        text = f"Some content in the namespace has finalizers remaining: {held}"
        pods.conditioned(status, "NamespaceFinalizersRemaining", "True", now, "SomeFinalizersRemain", text)
    else:
        text = "All content-preserving finalizers finished"
        pods.conditioned(status, "NamespaceFinalizersRemaining", "False", now, "ContentHasNoFinalizers", text)
    world.status(kind("Namespace"), namespace, status)
