"""What is amiss with what people started in a lease, for its owner: pods that do not run, or run on other GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lessor.domain.resource import Resource
from lessor.providers.kubernetes import pods
from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.misplaced import Around, misplaced
from lessor.providers.kubernetes.ours import note
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.stalled import stalled


def looked_over(site: Site, space: Obj, found: Sequence[Obj], around: Around, resource: Resource) -> Resource:
    """The namespace's `resource` with what is wrong with its pods; `unchecked` where that cannot all be seen."""
    wrong = [stalled(around.site, space, found)]
    away = misplaced(pods.uses(site, found), note(space, "resource"), note(space, "model"), around)
    fault = "; ".join(filter(None, [*wrong, away]))
    return replace(resource, fault=fault, unchecked=away is None and not fault)
