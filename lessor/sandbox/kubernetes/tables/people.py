"""Columns of accounts and of who may what."""

from __future__ import annotations

from lessor.sandbox.kubernetes.tables.columns import AGE, NAME, Columns, Obj, column


def _named(kind: str) -> Columns:
    def cell(binding: Obj) -> str:
        given = [one for one in binding.get("subjects") or () if one["kind"] == kind]
        return ", ".join(
            f"{one.get('namespace', '')}/{one['name']}" if kind == _ACCOUNT else one["name"] for one in given
        )

    return (column(f"{kind}s", cell, wide=True),)


_ACCOUNT = "ServiceAccount"
_BINDING = (
    NAME,
    column("Role", lambda one: f"{one['roleRef']['kind']}/{one['roleRef']['name']}"),
    AGE,
    *_named("User"),
    *_named("Group"),
    *_named(_ACCOUNT),
)

COLUMNS: dict[str, Columns] = {"ServiceAccount": (NAME, AGE), "RoleBinding": _BINDING, "ClusterRoleBinding": _BINDING}
