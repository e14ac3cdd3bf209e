"""What the organisation has set for one cluster: how it is reached, what it offers, and at what rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from lessor.domain.money import Money
from lessor.domain.request import LeaseKind


@dataclass(frozen=True)
class Rate:
    """What the organisation charges for one GPU, or slice of one, an hour, from the start of `since` in UTC."""

    hourly: Money
    since: date = date.min

    def holds(self, at: datetime) -> bool:
        return at.astimezone(UTC).date() >= self.since


@dataclass(frozen=True)
class Workspace:
    """What runs in a workspace; `cpu` and `memory` are for each GPU, `images` by workload class."""

    image: str = "docker.io/jupyter/base-notebook:python-3.11"
    images: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    port: int = 8888
    mount: str = "/workspace"
    cpu: str = "4"
    memory: str = "32Gi"
    user: int = 1000
    template: str = ""


@dataclass(frozen=True)
class KubernetesPlace:
    """One cluster, as `lessor.yaml` describes it. `rates` are by GPU model; one that is missing is unknown.

    `resources` name models for resources that the catalogue does not have. `disk_monthly` is for a GiB and month.
    """

    name: str
    context: str = ""
    in_cluster: bool = False
    uid: str = ""
    address: str = ""
    kinds: tuple[LeaseKind, ...] = (LeaseKind.NAMESPACE, LeaseKind.WORKSPACE)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    disk_monthly: Money | None = None
    disk_since: date = date.min
    storage_class: str = ""
    claims_kept: timedelta = timedelta(days=7)
    delete_retained: bool = False
    cluster_queue: str = ""
    role: str = "edit"
    user_prefix: str = ""
    access: timedelta = timedelta(hours=8)
    tolerations: Mapping[str, str] = field(default_factory=lambda: {"nvidia.com/gpu": "", "amd.com/gpu": ""})
    node_selector: Mapping[str, str] = field(default_factory=dict)
    timeout: timedelta = timedelta(seconds=10)
    pending_after: timedelta = timedelta(minutes=15)
    workspace: Workspace = field(default_factory=Workspace)
