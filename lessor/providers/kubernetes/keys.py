"""Access that runs out by itself: a kubeconfig with a token of the namespace's own account, made anew for each request.

It is kept nowhere here. Whoever has one can only work in that namespace, with the place's role.
"""

from __future__ import annotations

import base64
from datetime import timedelta

import yaml

from lessor.domain.provisioning import Credentials
from lessor.ports import Heartbeat
from lessor.providers.kubernetes import access, tenancy
from lessor.providers.kubernetes.ours import noted_at
from lessor.providers.kubernetes.site import Site

SHORTEST, LONGEST = timedelta(minutes=10), timedelta(hours=24)
"""What API servers hand out at least, and what lessor asks for at most."""


def credentials(site: Site, lease_id: str, heartbeat: Heartbeat) -> Credentials:
    """A new kubeconfig for the lease's namespace, no longer than until the lease's end.

    Raises `PermanentError` ("none-seen") when there is no namespace to get into.
    """
    there = tenancy.require(site, lease_id)
    access.ensure_account(site, there, heartbeat)
    ends, longest = noted_at(there.obj, "ends"), min(site.config.access, LONGEST)
    length = min(longest, ends - site.clock()) if ends is not None else longest
    heartbeat(f"asking for a token of {access.ACCOUNT} in {lease_id}")
    token, until = site.api.token(lease_id, access.ACCOUNT, max(length, SHORTEST))
    return Credentials(_kubeconfig(site, lease_id, token), until, f"{lease_id}.kubeconfig")


def _kubeconfig(site: Site, lease_id: str, token: str) -> str:
    server, authority = site.api.endpoint()
    cluster = {"server": site.config.address or server}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    name = site.config.name
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": lease_id, "user": {"token": token}}],
        "contexts": [{"name": lease_id, "context": {"cluster": name, "namespace": lease_id, "user": lease_id}}],
        "current-context": lease_id,
    }
    return yaml.safe_dump(document, sort_keys=False)
