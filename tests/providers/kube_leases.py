"""A cluster in memory with GPU nodes, and orders for leases in it, for tests of how leases begin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from lessor.catalog import load_catalogue
from lessor.domain.money import Money
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.request import LeaseKind, Market, Need, Place
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat
from lessor.providers.kubernetes import launching, offers, removal, usable
from lessor.providers.kubernetes.api import RESOURCE_QUOTA, ApiKind, Obj
from lessor.providers.kubernetes.place import KubernetesPlace, Rate
from lessor.providers.kubernetes.site import Site
from lessor.rendering import manifest_renderer
from tests.builders import a_request
from tests.providers.attempts import silent
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import gpu_node

LEASE = "gpu-7k3qxa2m"
BEGIN = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
ENDS = BEGIN + timedelta(hours=8)
PEOPLE = {"U0REQUESTER": "ana@x.test", "U0OTHER": "ben@x.test", "U0LEAD": "lea@x.test", "team:ml": ""}
LEADS = {"ml": "lea@x.test", "vision": "vic@x.test"}
PIECES = [
    "LimitRange/lessor",
    f"Namespace/{LEASE}",
    "NetworkPolicy/lessor",
    "ResourceQuota/lessor",
    "RoleBinding/lessor-access",
    "ServiceAccount/lessor-access",
]
"""All that there is of a namespace lease."""


def subjects(owner: str, team: str) -> tuple[str, ...]:
    """The owner, then the team's lead, as far as they have addresses."""
    return tuple(name for name in (PEOPLE.get(owner, ""), LEADS.get(team, "")) if name)


@dataclass
class Beginning:
    """Eight A100 on one node and eight on another. `now` moves only when somebody waits, or a test says so."""

    now: datetime = BEGIN
    config: KubernetesPlace = field(
        default_factory=lambda: KubernetesPlace(
            "lab",
            rates={"A100-80GB": Rate(Money(Decimal("2.50")))},
            disk_monthly=Money(Decimal("0.10")),
            user_prefix="oidc:",
        )
    )
    templates: Path | None = None
    api: FakeApi = field(init=False)

    def __post_init__(self) -> None:
        self.api = FakeApi(clock=lambda: self.now)
        for name in ("node-a", "node-b"):
            self.api.add(gpu_node(name))

    @property
    def site(self) -> Site:
        return Site(
            self.api,
            self.config,
            Place("kubernetes", "lab"),
            load_catalogue(),
            manifest_renderer(self.templates),
            subjects,
            lambda: self.now,
            self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def order(self, lease_id: str = LEASE, gpus: int = 2, kind: LeaseKind | None = None, **changes: Any) -> Order:
        """An approved order for A100s, as a namespace unless said otherwise."""
        fields: dict[str, Any] = {"need": Need("A100-80GB", gpus), "place": Place("kubernetes", "lab"), "kind": kind}
        request = replace(a_request(), **(fields | {"market": Market.ON_DEMAND} | changes))
        quote = offers.quote(self.site, request.need, Market.ON_DEMAND, self.now)
        return Order(lease_id, request, quote, "U0REQUESTER", "ml", "cc-7", ENDS)

    def candidate(self, order: Order) -> Candidate:
        return offers.candidates(self.site, order)[0]

    def launch(self, order: Order, heartbeat: Heartbeat = silent) -> tuple[Resource, ...]:
        return launching.launch(self.site, order, self.candidate(order), heartbeat)

    def lease(self, order: Order) -> Provisioned:
        return usable.await_usable(self.site, order, self.launch(order), silent)

    def delete(self, lease_id: str = LEASE) -> None:
        removal.delete(self.site, lease_id, (), silent)

    def obj(self, kind: ApiKind, name: str, namespace: str = LEASE) -> Obj:
        return self.api.objects[(kind, namespace if kind.namespaced else "", name)]

    def hard(self, lease_id: str = LEASE) -> dict[str, str]:
        """What the quota of a lease lets in."""
        return dict(self.obj(RESOURCE_QUOTA, "lessor", lease_id)["spec"]["hard"])
