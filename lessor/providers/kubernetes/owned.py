"""Who may be asked about what holds GPUs without a lease: what the object or its namespace say of an owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lessor.catalog.cluster import load_names
from lessor.domain.tags import said
from lessor.providers.kubernetes.api import Obj


class Owners:
    """Looks owners up. `spaces` are all namespaces, `None` where they are not known."""

    def __init__(self, spaces: Iterable[Obj] | None) -> None:
        self._spaces: Mapping[str, Obj] = {one["metadata"]["name"]: one for one in spaces or ()}

    def of(self, obj: Obj, namespace: str) -> str:
        """By the object itself, else by its namespace; empty where neither says anything."""
        return _said(obj) or _said(self._spaces.get(namespace, {"metadata": {}}))


def _said(obj: Obj) -> str:
    meta = obj["metadata"]
    told = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    return said({key: str(value) for key, value in told.items()}, load_names().owners)
