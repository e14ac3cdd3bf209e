"""A cluster during one reading of many leases: what they all ask of it is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from lessor.ports import PermanentError
from lessor.providers.kubernetes.api import Api, ApiKind, Obj
from lessor.providers.kubernetes.site import Site


class Once:
    """An `Api` that keeps its lists, and that one may not be read; what may come at another try is tried again."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lists: dict[tuple[ApiKind, str, str, str], Sequence[Obj] | PermanentError] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def list(self, kind: ApiKind, namespace: str = "", *, labels: str = "", fields: str = "") -> Sequence[Obj]:
        key = (kind, namespace, labels, fields)
        if key not in self._lists:
            try:
                self._lists[key] = self._api.list(kind, namespace, labels=labels, fields=fields)
            except PermanentError as error:
                self._lists[key] = error
        found = self._lists[key]
        if isinstance(found, PermanentError):
            raise found
        return found


def asked_once(site: Site) -> Site:
    """The same place for one reading of it; never for what is looked at again before an act (law 2)."""
    return replace(site, api=cast(Api, Once(site.api)))
