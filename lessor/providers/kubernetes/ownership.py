"""Whose a lease is and until when, written on what it has in the cluster; and who gets into it because of that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lessor.contracts import LABEL_LEASE, LABEL_TEAM
from lessor.providers.instants import instant
from lessor.providers.kubernetes import access, naming, queueing, tenancy
from lessor.providers.kubernetes.api import NAMESPACE, ROLE_BINDING, SERVICE_ACCOUNT, ApiKind, Obj
from lessor.providers.kubernetes.furnishing import MADE
from lessor.providers.kubernetes.ours import made_by_us
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy


def set_end(site: Site, lease_id: str, ends: datetime) -> None:
    """Write the end on the namespace first, which the guard reads, then on everything of ours in it."""
    there = tenancy.require(site, lease_id)
    _mark(site, there, {"annotations": {naming.ENDS: instant(ends)}})


def set_owner(
    site: Site, lease_id: str, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
) -> None:
    """Write whose it is and who pays, and let in exactly the people whose it is now.

    When somebody loses the lease, all accesses that were handed out end at once; the others ask for new ones.
    """
    marks: dict[str, Any] = {
        "labels": {LABEL_TEAM: naming.label_value(team) if team else None},
        "annotations": naming.holding(owner, team, cost_center),
    }
    there = _mark(site, tenancy.require(site, lease_id), marks)
    _let_in(site, there, access.holders(site, owner, team, co_owners))


def _mark(site: Site, there: Tenancy, marks: dict[str, Any]) -> Tenancy:
    """The same marks on the namespace and on everything of ours in it; a second time changes nothing."""
    change = {"metadata": marks}
    space = site.api.patch(NAMESPACE, there.lease_id, "", change, there.uid)
    if space is None:
        raise tenancy.vanished(site, there.lease_id)
    queue = queueing.kind(site)
    for kind in (*MADE, *([queue] if queue else [])):
        for obj in _ours(site, there, kind):
            site.api.patch(kind, obj["metadata"]["name"], there.lease_id, change, obj["metadata"]["uid"])
    return tenancy.read(space)


def _ours(site: Site, there: Tenancy, kind: ApiKind) -> list[Obj]:
    found = site.api.list(kind, there.lease_id, labels=f"{LABEL_LEASE}={there.lease_id}")
    return [obj for obj in found if made_by_us(obj, there.lease_id)]


def _let_in(site: Site, there: Tenancy, users: Sequence[str]) -> None:
    """Bind the role to these users. The account goes before the binding changes: whatever dies in between, the next
    run still sees who has to go.
    """
    binding = site.api.get(ROLE_BINDING, access.BINDING, there.lease_id)
    if binding is None:
        binding = site.api.apply(access.role_binding(site, there, users))
    elif access.users_of(binding) - set(users):
        account = site.api.get(SERVICE_ACCOUNT, access.ACCOUNT, there.lease_id)
        if account is not None:
            site.api.delete(SERVICE_ACCOUNT, access.ACCOUNT, there.lease_id, account["metadata"]["uid"])
    access.ensure_account(site, there)
    if access.users_of(binding) != set(users):
        change = {"subjects": access.subjects(there.lease_id, users)}
        site.api.patch(ROLE_BINDING, access.BINDING, there.lease_id, change, binding["metadata"]["uid"])
