"""What a lease is made of in a cluster: the namespace, its limits and its rules, as objects to apply.

Choices that people will ask about: GPUs stand in the quota as `requests.NAME` only, since no other spelling is enforced
(case D02), and every other kind of GPU of the cluster is set to 0 there, or a lease for a slice would open whole cards.
From outside of the namespace nothing gets in. Out goes everything, since training reads data from everywhere, except to
link-local addresses, where clouds hand out the credentials of the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind
from lessor.providers.kubernetes import naming
from lessor.providers.kubernetes.api import LIMIT_RANGE, NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, Obj
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.tenancy import Tenancy

QUOTA = "lessor"
LIMITS = "lessor"
POLICY = "lessor"
REQUESTS = "requests."
DEVICE_CLAIMS = "count/resourceclaims.resource.k8s.io"
DEVICES_OF = ".deviceclass.resource.k8s.io/devices"
"""Behind the name of a class: how many of its devices claims may ask for."""

SECURITY = {LeaseKind.NAMESPACE: "baseline", LeaseKind.WORKSPACE: "restricted"}
"""The Pod Security level: what people bring along runs as root more often than not; what we make never does."""
_PSA = "pod-security.kubernetes.io/"

_LINK_LOCAL = (("0.0.0.0/0", ["169.254.0.0/16"]), ("::/0", ["fe80::/10", "fd00:ec2::/32"]))


def namespace(order: Order, kind: LeaseKind, shape: GpuShape) -> Obj:
    """The namespace; what it is for is written on it at once, so that whoever finds it can go on."""
    level = SECURITY[kind]
    security = {f"{_PSA}enforce": level, f"{_PSA}warn": "restricted", f"{_PSA}audit": "restricted"}
    content = naming.content(kind, shape.model, shape.resource, order.quote.offer.gpu_count)
    return {
        "apiVersion": NAMESPACE.api_version,
        "kind": NAMESPACE.kind,
        "metadata": {
            "name": order.lease_id,
            "labels": {**naming.labels(order.lease_id, order.team), **security},
            "annotations": {**naming.described(order), **content},
        },
    }


def quota(there: Tenancy, disk_gib: int, others: Iterable[str], classes: Mapping[str, str]) -> Obj:
    """The lease's GPUs, none of `others`, its disk; no device claims, which would get around all that.

    `classes` are those of devices, with the resource that each hands out. Where one hands out the lease's own, the
    scheduler itself makes a claim for each pod: only claims on other classes are shut out then, and the server counts
    claims on that one as the resource.
    """
    hard = {f"{REQUESTS}{other}": "0" for other in sorted(others)} | _claims(there, classes)
    hard |= {f"{REQUESTS}{there.resource}": str(there.gpus), f"{REQUESTS}storage": f"{disk_gib}Gi"}
    return {
        "apiVersion": RESOURCE_QUOTA.api_version,
        "kind": RESOURCE_QUOTA.kind,
        "metadata": there.metadata(QUOTA),
        "spec": {"hard": hard},
    }


def _claims(there: Tenancy, classes: Mapping[str, str]) -> dict[str, str]:
    if there.resource not in classes.values():
        return {DEVICE_CLAIMS: "0"}
    own = {name for name, resource in classes.items() if resource == there.resource}
    return {f"{name}{DEVICES_OF}": str(there.gpus) if name in own else "0" for name in sorted(classes)}


def enforced(found: Obj, resource: str) -> bool:
    """Whether the server counts the resource: a quota without a figure for what is used holds nobody back (D02)."""
    name = f"{REQUESTS}{resource}"
    status = found.get("status") or {}
    return name in (status.get("used") or {}) and name in (status.get("hard") or {})


def limit_range(there: Tenancy) -> Obj:
    """What a container gets that says nothing, so that the scheduler counts it. There is no default for GPUs: each
    container would take one. There is no default limit either: it would refuse whoever asks for more and says so.
    """
    return {
        "apiVersion": LIMIT_RANGE.api_version,
        "kind": LIMIT_RANGE.kind,
        "metadata": there.metadata(LIMITS),
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "256Mi"}}]},
    }


def network_policy(there: Tenancy) -> Obj:
    """Nothing in but from the namespace itself; out to names, to the namespace and to all but link-local addresses."""
    names = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    outside = [{"ipBlock": {"cidr": cidr, "except": but}} for cidr, but in _LINK_LOCAL]
    within: list[Obj] = [{"podSelector": {}}]
    return {
        "apiVersion": NETWORK_POLICY.api_version,
        "kind": NETWORK_POLICY.kind,
        "metadata": there.metadata(POLICY),
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": within}],
            "egress": [{"ports": names}, {"to": within}, {"to": outside}],
        },
    }
