"""What somebody may, and who they are, by the cluster's own word."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes.calls import Target
from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.rbac import Access
from lessor.sandbox.kubernetes.registry import User

Obj = dict[str, Any]


def reviewed(cluster: SimulatedCluster, user: User, of: Target, review: Obj) -> Obj:
    """The review with its status."""
    spec = review.get("spec") or {}
    head = {"apiVersion": f"{of.group}/v1", "metadata": {}}
    if of.plural == "selfsubjectreviews":
        who = {"username": user.name, "groups": list(user.groups)}
        return {"kind": "SelfSubjectReview", **head, "status": {"userInfo": who}}
    if of.plural == "selfsubjectrulesreviews":
        rules = [dict(rule) for rule in cluster.rights.rules(user, spec.get("namespace", ""))]
        listed = [rule for rule in rules if "resources" in rule]
        status = {"resourceRules": listed, "nonResourceRules": [], "incomplete": False}
        return {"kind": "SelfSubjectRulesReview", **head, "spec": spec, "status": status}
    asked = spec.get("resourceAttributes") or {}
    sub = asked.get("subresource", "")
    resource = f"{asked.get('resource', '')}/{sub}" if sub else asked.get("resource", "")
    where = asked.get("namespace", ""), asked.get("name", "")
    allowed = cluster.rights.may(user, Access(asked.get("verb", ""), asked.get("group", ""), resource, *where))
    return {"kind": "SelfSubjectAccessReview", **head, "spec": spec, "status": {"allowed": allowed}}
