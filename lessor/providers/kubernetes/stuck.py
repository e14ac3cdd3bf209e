"""What holds things that should be gone: the cluster's own conditions, and the finalizers that nobody has taken off.

They are told and never taken off: whoever set one still has something to do, and would leave it undone (case D01).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.ours import ending, path

MOST = 10
"""How many objects are named in one message; the others are counted."""

GROUPS = "NamespaceDeletionDiscoveryFailure"


def namespace(space: Mapping[str, Any], inside: Iterable[Mapping[str, Any]] = ()) -> str:
    """Why a namespace is still there, in the server's words; `inside` is what could be read of what is left in it."""
    name, meta = space["metadata"]["name"], space["metadata"]
    told = [f"namespace {name} has been terminating since {meta.get('deletionTimestamp', 'an unknown time')}"]
    told += [f"{one['type']}: {one.get('message', '')}".strip(": ") for one in conditions(space)]
    finalizers = [*(meta.get("finalizers") or ()), *_added(space)]
    told += [f"it is held by its finalizers {', '.join(finalizers)}"] if finalizers else []
    told += [words for words in (held(inside),) if words]
    return "; ".join(told) + f". {_next(space)}"


def conditions(space: Mapping[str, Any]) -> list[Obj]:
    """The conditions by which the server says what keeps a namespace from going."""
    found = space.get("status", {}).get("conditions") or ()
    return [one for one in found if one.get("status") == "True" and str(one.get("type", "")).startswith("Namespace")]


def held(objects: Iterable[Mapping[str, Any]]) -> str:
    """Which of them are on their way out and what they wait for; empty when none is."""
    going = [one for one in objects if ending(one)]
    told = [_held(one) for one in going[:MOST]]
    more = [f"{len(going) - MOST} more"] if len(going) > MOST else []
    return "; ".join([*told, *more])


def _held(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    what = f"{str(obj.get('kind', 'object')).lower()} {path(obj)}"
    finalizers = meta.get("finalizers") or ()
    if finalizers:
        return f"{what} is held by the finalizers {', '.join(finalizers)}"
    node = obj.get("spec", {}).get("nodeName")
    where = f" on {node}" if node else ""
    return f"{what} has until {meta['deletionTimestamp']} to end{where}"


def _added(space: Mapping[str, Any]) -> list[str]:
    """Finalizers of the namespace itself besides the one that every namespace has."""
    return [one for one in space.get("spec", {}).get("finalizers") or () if one != "kubernetes"]


def _next(space: Mapping[str, Any]) -> str:
    if any(one["type"] == GROUPS for one in conditions(space)):
        return "Nothing was forced: bring back what serves that part of the API, or delete its APIService"
    return "Nothing was forced: whoever set a finalizer has to finish and take it off, see to its controller"
