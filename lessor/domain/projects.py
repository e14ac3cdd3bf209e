"""What a project may be called: quotas, budgets and idle terms of `lessor.yaml` speak of it."""

from __future__ import annotations

import re

from lessor.domain.errors import FieldError
from lessor.domain.readable import quoted

PROJECT_MAX = 40
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.IGNORECASE | re.ASCII)


def misnamed(project: str) -> FieldError | None:
    """What is wrong with the name of a project; none at all is fine. Quotas count it in lower case."""
    name = project.strip()
    if len(name) > PROJECT_MAX:
        return FieldError("project", f"has {len(name):,} characters; at most {PROJECT_MAX} are allowed")
    if not name or _NAME.fullmatch(name):
        return None
    return FieldError(
        "project", f"{quoted(name)} is no project; letters, digits and hyphens between them are allowed, as in llm-2"
    )
