"""Kinds that clusters have in several versions, newest first: the first that is served is the one to read."""

from __future__ import annotations

from dataclasses import replace

from lessor.providers.kubernetes.api import Api, ApiKind

DEVICES = ("v1", "v1beta2", "v1beta1")
QUEUES = ("v1beta1", "v1beta2")


def served(api: Api, kind: ApiKind, versions: tuple[str, ...]) -> ApiKind | None:
    """The kind in a version that the cluster has; `None` where it has none of them. Raises rather than guesses."""
    return next((one for one in (replace(kind, version=version) for version in versions) if api.served(one)), None)
