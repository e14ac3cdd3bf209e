"""The namespace of a lease: whether it is there and ours, and what it is for, as it says itself.

A later look knows nothing of the order: model, resource and number of GPUs are annotations that only we write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lessor.domain.request import LeaseKind
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import naming
from lessor.providers.kubernetes.api import NAMESPACE, Obj
from lessor.providers.kubernetes.ours import ending, made_by_us, note
from lessor.providers.kubernetes.site import Site


@dataclass(frozen=True)
class Tenancy:
    """What a lease's namespace holds: `gpus` of `resource`, which are of `model`."""

    obj: Obj
    kind: LeaseKind
    model: str
    resource: str
    gpus: int

    @property
    def lease_id(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])

    def metadata(self, name: str) -> dict[str, Any]:
        """Name, labels and annotations of one thing in it: those of the lease, as the namespace has them now."""
        meta = self.obj["metadata"]
        return {
            "name": name,
            "namespace": self.lease_id,
            "labels": {key: text for key, text in meta["labels"].items() if key in naming.LABELS},
            "annotations": {key: text for key, text in meta["annotations"].items() if key in naming.ANNOTATIONS},
        }

    def __str__(self) -> str:
        return f"{self.gpus} x {self.model} ({self.resource})"


def find(site: Site, lease_id: str) -> Tenancy | None:
    """The lease's namespace; `None` when there is none.

    Raises `PermanentError` ("foreign") when somebody else's namespace has its name, `RetryableError` ("terminating")
    while an earlier one is still being deleted.
    """
    obj = site.api.get(NAMESPACE, lease_id)
    if obj is None:
        return None
    if not made_by_us(obj, lease_id):
        raise foreign(site, lease_id)
    if ending(obj):
        raise RetryableError(
            f"the namespace {lease_id} in {site} is being deleted; nothing is made in it before it is gone",
            "terminating",
        )
    return read(obj)


def require(site: Site, lease_id: str) -> Tenancy:
    """The lease's namespace. Raises as `find`, and `PermanentError` ("none-seen") when there is none."""
    found = find(site, lease_id)
    if found is None:
        raise PermanentError(
            f"{site} has no namespace {lease_id}; nothing was changed, look whether somebody has deleted it",
            "none-seen",
        )
    return found


def read(obj: Obj) -> Tenancy:
    """What a namespace of ours says of itself. Raises `PermanentError` ("spoilt") when that was changed by hand."""
    kind, gpus, resource = note(obj, "kind"), note(obj, "gpus"), note(obj, "resource")
    if kind not in (LeaseKind.NAMESPACE, LeaseKind.WORKSPACE) or not gpus.isdecimal() or not resource:
        raise PermanentError(
            f"the annotations of namespace {obj['metadata']['name']} do not say any more what it is for (kind "
            f"{kind!r}, gpus {gpus!r}, resource {resource!r}); nothing was changed. Release the lease and ask anew",
            "spoilt",
        )
    return Tenancy(obj, LeaseKind(kind), note(obj, "model"), resource, int(gpus))


def vanished(site: Site, lease_id: str) -> PermanentError:
    """The word that there is nothing to work on."""
    return PermanentError(
        f"{site} has no namespace {lease_id}; nothing was changed, look whether somebody has deleted it", "none-seen"
    )


def foreign(site: Site, lease_id: str) -> PermanentError:
    """The refusal to touch a namespace that has the lease's name and was not made by us (case D23)."""
    return PermanentError(
        f"{site} has a namespace {lease_id} that lessor did not make; it was left alone. "
        "An administrator of the cluster has to look whose it is",
        "foreign",
    )
