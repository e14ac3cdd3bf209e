"""Who gets into a namespace: its holders by name, and a service account for the accesses that are handed out."""

from __future__ import annotations

from collections.abc import Sequence

from lessor.ports import Heartbeat
from lessor.providers.kubernetes.api import ROLE_BINDING, SERVICE_ACCOUNT, Obj
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

ACCOUNT = "lessor-access"
BINDING = "lessor-access"
_RBAC = "rbac.authorization.k8s.io"


def holders(site: Site, owner: str, team: str, co_owners: Sequence[str] = ()) -> tuple[str, ...]:
    """The user names, as the cluster spells them, of everybody who may work in a lease's namespace, owner first."""
    names = [*site.subjects(owner, team), *(name for one in co_owners for name in site.subjects(one, ""))]
    return tuple(dict.fromkeys(f"{site.config.user_prefix}{name}" for name in names if name))


def service_account(there: Tenancy) -> Obj:
    """Nothing runs under it by itself: its tokens are asked for one by one and run out."""
    return {
        "apiVersion": SERVICE_ACCOUNT.api_version,
        "kind": SERVICE_ACCOUNT.kind,
        "metadata": there.metadata(ACCOUNT),
        "automountServiceAccountToken": False,
    }


def role_binding(site: Site, there: Tenancy, users: Sequence[str]) -> Obj:
    """The place's role for these users and the service account, in this namespace only."""
    return {
        "apiVersion": ROLE_BINDING.api_version,
        "kind": ROLE_BINDING.kind,
        "metadata": there.metadata(BINDING),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": site.config.role},
        "subjects": subjects(there.lease_id, users),
    }


def subjects(lease_id: str, users: Sequence[str]) -> list[dict[str, str]]:
    """Who is bound: the service account, and these users."""
    account = {"kind": SERVICE_ACCOUNT.kind, "name": ACCOUNT, "namespace": lease_id}
    return [account, *({"kind": "User", "apiGroup": _RBAC, "name": user} for user in users)]


def ensure_account(site: Site, there: Tenancy, heartbeat: Heartbeat | None = None) -> None:
    """Make the account if somebody has deleted it; the binding means it by its name."""
    if site.api.get(SERVICE_ACCOUNT, ACCOUNT, there.lease_id) is None:
        if heartbeat is not None:
            heartbeat(f"creating {SERVICE_ACCOUNT.kind} {ACCOUNT} in {there.lease_id}")
        site.api.apply(service_account(there))


def users_of(binding: Obj) -> frozenset[str]:
    """The people whom a binding lets in."""
    return frozenset(str(one["name"]) for one in binding.get("subjects") or () if one.get("kind") == "User")
