"""Ways into the cluster, as files that every client reads."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml


def kubeconfig(
    address: str, context: str, *, token: str = "", token_file: Path | None = None, authority: str = ""
) -> str:
    """A kubeconfig with one cluster, one user and one context of that name; `authority` in PEM."""
    trust = {"certificate-authority-data": b64encode(authority.encode()).decode()} if authority else {}
    user: dict[str, Any] = {"tokenFile": str(token_file)} if token_file else {"token": token}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": address, **trust}}],
        "users": [{"name": context, "user": user}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }
    return yaml.safe_dump(document, sort_keys=False)


def lay(path: Path, text: str) -> None:
    """Write it so that only its owner reads it, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
