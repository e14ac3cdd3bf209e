"""Finds contradictions in a document that has mistakes of form as well, so that both are told at once.

What has no form is taken out, and the rest is checked. Only what cannot come from the taking out is told.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from lessor.config.checks import check
from lessor.config.configuration import Config
from lessor.config.problems import Problem
from lessor.config.reading import Document

ROUNDS = 3
"""Taking something out can leave something else without form, which is taken out then."""

NAMED_ELSEWHERE = frozenset({"organisation", "places", "schedules", "security"})
"""Sections whose entries others refer to: with a part of them gone, a reference may only seem to be wrong."""

BY_THEMSELVES = frozenset({"guard", "lease", "notifications"})
"""Sections that refer to nothing else."""


STAND_INS: dict[str, Any] = {
    "organisation": {
        "name": "?",
        "people": [{"id": "U00"}],
        "teams": {"x": {"lead": "U00"}},
        "admins": ["U00"],
    },
    "places": [{"name": "x", "regions": ["us-east-1"]}],
}
"""What stands for the sections that have to be there, while the others are checked."""


def contradictions(document: Document, error: ValidationError) -> list[Problem]:
    """What `check` finds in the well-formed sections of `document`; nothing when too much of it has no form."""
    data = copy.deepcopy(document.data)
    if not isinstance(data, dict):
        return []
    gone: set[str] = set()
    for _ in range(ROUNDS):
        for found in sorted(error.errors(include_url=False), key=lambda one: -len(one["loc"])):
            section = str(found["loc"][0])
            if section in STAND_INS and found["type"] == "missing":
                data[section] = STAND_INS[section]
            else:
                _cut(data, found["loc"])
            if found["type"] != "extra_forbidden":
                gone.add(section)
        try:
            config = Config.model_validate_json(json.dumps(data))
        except ValidationError as again:
            error = again
            continue
        config._document = document
        whole = BY_THEMSELVES if gone & NAMED_ELSEWHERE else set(Config.model_fields)
        return [document.problem(path, message) for path, message in check(config) if path[0] in whole - gone]
    return []


def _cut(data: Any, location: Iterable[str | int]) -> None:
    """Take out the innermost thing of `location` that is there.

    Entries of lists keep their places, since paths count them: of those the whole list goes.
    """
    here = data
    holders: list[tuple[Any, str | int]] = []
    for part in location:
        if not (part in here if isinstance(here, dict) else _is_entry(here, part)):
            break
        holders.append((here, part))
        here = here[part]
    for holder, part in reversed(holders):
        if isinstance(holder, dict):
            del holder[part]
            return


def _is_entry(here: Any, part: str | int) -> bool:
    return isinstance(here, list) and isinstance(part, int) and part < len(here)
