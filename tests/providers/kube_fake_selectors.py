"""Label and field selectors, as an API server reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REQUIREMENT = re.compile(r"!?[\w./-]+(?:\s+(?:not)?in\s+\([^)]*\)|\s*(?:==|=|!=)\s*[\w.-]*)?")


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    return dict(obj["metadata"].get("labels") or {})


def selected(obj: Mapping[str, Any], selector: str) -> bool:
    """Whether the labels fit: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."""
    labels = labels_of(obj)
    return all(_fits(labels, one.strip()) for one in REQUIREMENT.findall(selector) if one.strip())


def _fits(labels: Mapping[str, str], one: str) -> bool:
    if " in " in one or " notin " in one:
        name, word, rest = one.split(None, 2)
        values = {value.strip() for value in rest.strip("() ").split(",")}
        return (labels.get(name) in values) is (word == "in")
    if "!=" in one:
        name, _, value = one.partition("!=")
        return labels.get(name.strip()) != value.strip()
    if "=" in one:
        name, _, value = one.replace("==", "=").partition("=")
        return labels.get(name.strip()) == value.strip()
    return one.removeprefix("!") not in labels if one.startswith("!") else one in labels


def placed(obj: Mapping[str, Any], selector: str) -> bool:
    """Whether the fields fit: `spec.nodeName=a,status.phase!=Failed`."""
    for one in filter(None, selector.split(",")):
        path, _, value = one.replace("==", "=").partition("!=" if "!=" in one else "=")
        found: Any = obj
        for part in path.split("."):
            found = (found or {}).get(part, "")
        if (str(found or "") == value) is ("!=" in one):
            return False
    return True
