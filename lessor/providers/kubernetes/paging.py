"""Reads a list to its last page, or not at all: half a list would read as if the rest were gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lessor.ports import RetryableError
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.errors import Answer, refusal

PAGE = 500
AFRESH = 3
"""How often a list is begun anew when the server has forgotten the version that its pages are of (410, case D12)."""

Ask = Callable[[Mapping[str, str]], Answer]
"""One page, by the parameters of its query."""


def whole_list(ask: Ask, kind: ApiKind, query: Mapping[str, str], cluster: str, doing: str) -> tuple[Obj, ...]:
    """Every object of every page, each with its kind. Raises `ProviderError` when any page is missing."""
    for _ in range(AFRESH):
        found = _pages(ask, kind, query, cluster, doing)
        if found is not None:
            return found
    raise RetryableError(
        f"cluster {cluster} forgot its list {AFRESH} times while {doing}: it changes faster than it is read; "
        "what is there is unknown",
        "expired",
    )


def _pages(ask: Ask, kind: ApiKind, query: Mapping[str, str], cluster: str, doing: str) -> tuple[Obj, ...] | None:
    """All pages; `None` when one of them has expired, so that none of the others may be kept either."""
    found: list[Obj] = []
    token = ""
    while True:
        page = ask({**query, "limit": str(PAGE), **({"continue": token} if token else {})})
        if page.status == 410:
            return None
        if not page.fine:
            raise refusal(page, cluster, doing)
        found += [_whole(item, kind) for item in _items(page.body, kind, cluster, doing)]
        token = str((page.body.get("metadata") or {}).get("continue") or "")
        if not token:
            return tuple(found)


def _items(body: Obj, kind: ApiKind, cluster: str, doing: str) -> list[dict[str, Any]]:
    """The objects of a page. An answer of another kind, such as an error sent with status 200, is no empty list."""
    listed = str(body.get("kind")).endswith("List") and body.get("apiVersion", kind.api_version) == kind.api_version
    items = (body.get("items") or []) if listed else None
    if not isinstance(items, list) or not all(isinstance(item, dict) and item.get("metadata") for item in items):
        raise RetryableError(f"cluster {cluster} sent no list when {doing}; what is there is unknown", "no-list")
    return items


def _whole(item: Obj, kind: ApiKind) -> Obj:
    """Lists leave out of each object what is the same for all of them."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **item}
