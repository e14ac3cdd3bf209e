"""What exists in the simulated cluster, each change under a number of its own, with a history for those who watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lessor.sandbox.kubernetes.kinds import Kind, kind

Obj = dict[str, Any]
_HISTORY = 4_000


@dataclass(frozen=True)
class Change:
    """One change: ADDED, MODIFIED or DELETED, and the object as it was afterwards, or last."""

    version: int
    type: str
    kind: Kind
    obj: Obj


class Store:
    """Objects by kind, namespace and name. What is handed out is never altered: a change stores another object."""

    def __init__(self) -> None:
        self.version = 1
        self.forgotten = 0
        """Up to this version there is no history: whoever asks for more has to begin anew."""
        self.history: deque[Change] = deque()
        self._objects: dict[Kind, dict[tuple[str, str], Obj]] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        return self._objects.get(kind, {}).get((namespace if kind.namespaced else "", name))

    def all(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """In the order of namespaces and names, as the server lists them."""
        found = sorted(self._objects.get(kind, {}).items())
        return [obj for (where, _), obj in found if namespace in ("", where)]

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Store it as the newest version; `obj` now belongs to the store."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        objects, key = self._objects.setdefault(kind, {}), _key(kind, obj)
        self._note("MODIFIED" if key in objects else "ADDED", kind, obj)
        objects[key] = obj
        return obj

    def drop(self, kind: Kind, obj: Obj) -> None:
        """It is gone."""
        self.version += 1
        self._objects[kind].pop(_key(kind, obj))
        last = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}
        self._note("DELETED", kind, last)

    def since(self, version: int, kind: Kind) -> Iterable[Change]:
        return (one for one in self.history if one.version > version and one.kind == kind)

    def forget(self) -> None:
        """Compact: no history is kept, and lists that were begun cannot be gone on with."""
        self.history.clear()
        self.forgotten = self.version

    def to_json(self) -> dict[str, Any]:
        objects = [obj | {"kind": kind.kind} for kind, found in self._objects.items() for obj in found.values()]
        return {"version": self.version, "objects": objects}

    def load(self, stored: dict[str, Any]) -> None:
        """What `to_json` gave. Raises `KeyError` or `ValueError` for what is none."""
        self._objects = {}
        for obj in stored["objects"]:
            what = kind(obj["kind"])
            self._objects.setdefault(what, {})[_key(what, obj)] = obj
        self.version = int(stored["version"]) + 1
        self.forget()

    def _note(self, type_: str, kind: Kind, obj: Obj) -> None:
        self.history.append(Change(self.version, type_, kind, obj))
        while len(self.history) > _HISTORY:
            self.forgotten = self.history.popleft().version


def _key(kind: Kind, obj: Obj) -> tuple[str, str]:
    metadata = obj["metadata"]
    return (metadata.get("namespace", "") if kind.namespaced else "", metadata["name"])
