"""Who may do what: roles and bindings as the cluster stores them, read anew at each question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lessor.sandbox.kubernetes.errors import Refused, forbidden
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.registry import User
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
MASTERS, EVERYBODY = "system:masters", "system:authenticated"


@dataclass(frozen=True)
class Access:
    """One thing that somebody wants to do. `resource` has its subresource behind a slash."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class Rights:
    """The answers of RBAC."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def may(self, user: User, access: Access) -> bool:
        if MASTERS in user.groups or _own_review(user, access):
            return True
        return any(_allows(rule, access) for rule in self.rules(user, access.namespace))

    def check(self, user: User, access: Access) -> None:
        """Raises `Refused` (403) in the server's words."""
        if self.may(user, access):
            return
        plural = access.resource.partition("/")[0]
        whole = f"{plural}.{access.group}" if access.group else plural
        where = f' in the namespace "{access.namespace}"' if access.namespace else " at the cluster scope"
        what = (
            f'User "{user.name}" cannot {access.verb} resource "{access.resource}" in API group "{access.group}"{where}'
        )
        named = f'{whole} "{access.name}" is' if access.name else f"{whole} is"
        details = {"name": access.name, "group": access.group, "kind": plural}
        raise Refused(403, "Forbidden", f"{named} forbidden: {what}", {k: v for k, v in details.items() if v})

    def check_grant(self, user: User, what: Kind, obj: Obj) -> None:
        """Nobody hands out rights that they have not themselves, without `bind` of the role or `escalate` of roles."""
        if MASTERS in user.groups or what.group != "rbac.authorization.k8s.io":
            return
        namespace = obj["metadata"].get("namespace", "")
        if what.kind in ("RoleBinding", "ClusterRoleBinding"):
            ref = obj.get("roleRef") or {}
            plural = "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
            if self.may(user, Access("bind", what.group, plural, namespace, ref.get("name", ""))):
                return
            rules = self._rules_of(ref, namespace)
        else:
            if self.may(user, Access("escalate", what.group, what.plural, namespace, obj["metadata"].get("name", ""))):
                return
            rules = obj.get("rules") or []
        lacking = [one for one in rules for part in _parts(one) if not self._covers(user, namespace, part)]
        if lacking:
            who = f'user "{user.name}" (groups={json.dumps(user.groups)})'
            why = f"{who} is attempting to grant RBAC permissions not currently held:\n{json.dumps(lacking[0])}"
            raise forbidden(what, obj["metadata"].get("name", ""), why)

    def rules(self, user: User, namespace: str) -> Iterator[Mapping[str, Any]]:
        """All rules that hold for somebody: everywhere, and in one namespace."""
        for binding in self._store.all(kind("ClusterRoleBinding")):
            if _meant(binding, user, ""):
                yield from self._rules_of(binding["roleRef"], "")
        if namespace:
            for binding in self._store.all(kind("RoleBinding"), namespace):
                if _meant(binding, user, namespace):
                    yield from self._rules_of(binding["roleRef"], namespace)

    def _covers(self, user: User, namespace: str, access: Access) -> bool:
        wanted = Access(access.verb, access.group, access.resource, namespace, access.name)
        return any(_allows(rule, wanted, literally=True) for rule in self.rules(user, namespace))

    def _rules_of(self, ref: Mapping[str, Any], namespace: str) -> list[Mapping[str, Any]]:
        what = kind("ClusterRole" if ref.get("kind") == "ClusterRole" else "Role")
        role = self._store.get(what, namespace, ref.get("name", ""))
        return list((role or {}).get("rules") or [])


def _allows(rule: Mapping[str, Any], access: Access, *, literally: bool = False) -> bool:
    plural, _, sub = access.resource.partition("/")
    names = rule.get("resourceNames") or []
    resources = rule.get("resources") or []
    return (
        _in(access.verb, rule.get("verbs"))
        and _in(access.group, rule.get("apiGroups"))
        and (_in(access.resource, resources) or (bool(sub) and f"*/{sub}" in resources))
        and (not names or access.name in names)
        and ("*" not in (access.verb, access.group, plural) or not literally or _stars(rule, access))
    )


def _stars(rule: Mapping[str, Any], access: Access) -> bool:
    pairs = ((access.verb, "verbs"), (access.group, "apiGroups"), (access.resource, "resources"))
    return all(value != "*" or "*" in (rule.get(word) or []) for value, word in pairs)


def _in(value: str, given: list[str] | None) -> bool:
    return value in (given or []) or "*" in (given or [])


def _parts(rule: Mapping[str, Any]) -> Iterator[Access]:
    for verb in rule.get("verbs") or []:
        for group in rule.get("apiGroups") or []:
            for resource in rule.get("resources") or []:
                for name in rule.get("resourceNames") or [""]:
                    yield Access(verb, group, resource, "", name)


def _meant(binding: Obj, user: User, namespace: str) -> bool:
    for one in binding.get("subjects") or []:
        if one["kind"] == "User" and one["name"] == user.name:
            return True
        if one["kind"] == "Group" and one["name"] in user.groups:
            return True
        account = f"system:serviceaccount:{one.get('namespace') or namespace}:{one['name']}"
        if one["kind"] == "ServiceAccount" and user.name == account:
            return True
    return False


def _own_review(user: User, access: Access) -> bool:
    """Everybody who is known may ask what they may."""
    return EVERYBODY in user.groups and access.resource in (
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
    )
