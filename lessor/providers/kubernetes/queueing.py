"""Kueue: a lease's namespace has a queue of its own that leads to the cluster's, where the place names one.

The queue is called `default`, so that what people run in the namespace waits in it without being told to.
"""

from __future__ import annotations

from lessor.providers.kubernetes import versions
from lessor.providers.kubernetes.api import LOCAL_QUEUE, ApiKind, Obj
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

NAME = "default"


def kind(site: Site) -> ApiKind | None:
    """How the cluster spells queues; `None` without Kueue. Raises `ProviderError` when that cannot be known."""
    return versions.served(site.api, LOCAL_QUEUE, versions.QUEUES)


def queued(site: Site) -> bool:
    """Whether a queue decides when a lease gets its GPUs. Raises `ProviderError` when that cannot be known."""
    return bool(site.config.cluster_queue) and kind(site) is not None


def local_queue(site: Site, there: Tenancy, kind: ApiKind) -> Obj:
    """The way from a namespace to the place's ClusterQueue."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": there.metadata(NAME),
        "spec": {"clusterQueue": site.config.cluster_queue},
    }
