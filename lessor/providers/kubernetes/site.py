"""One cluster with everything that the modules of this provider need to work in it: each of them takes a `Site`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lessor.catalog import Catalogue
from lessor.domain.request import Place
from lessor.providers.kubernetes.api import Api
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.rendering import Renderer

Subjects = Callable[[str, str], tuple[str, ...]]
"""The user names in a cluster, without the place's prefix, of a lease's owner (by id) and of who else answers for its
team (by key): those that get the role in the lease's namespace. Owner first; empty where nobody has an address."""


@dataclass(frozen=True)
class Site:
    """Where calls go. `config` is what the organisation has set for the cluster, `place` how leases name it.

    `sleep` takes seconds; everything that waits calls it between two looks, never `time.sleep`.
    """

    api: Api
    config: KubernetesPlace
    place: Place
    catalogue: Catalogue
    renderer: Renderer
    subjects: Subjects
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]

    def __str__(self) -> str:
        return f"cluster {self.config.name}"
