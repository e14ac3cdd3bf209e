"""The values that facts can have at all, so that `request.market == "spto"` is found when the file is read.

Some are fixed, others are what the file itself names: its teams, places and classes of data. They are read from the
plain document, so that a mistake elsewhere in it hides none here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from lessor.catalog import load_catalogue
from lessor.domain.request import LeaseKind, Market, Workload
from lessor.policyfile.gathering import WEEKDAYS

Closed = Mapping[str, tuple[Any, ...]]
"""Every value that a fact can have, by its name; for a list, every value that can be in it."""

FIXED: Closed = {
    "request.workload": tuple(kind.value for kind in Workload),
    "request.market": tuple(market.value for market in Market),
    "request.kind": tuple(kind.value for kind in LeaseKind),
    "place.provider": ("aws", "kubernetes", "machines"),
    "time.weekday": WEEKDAYS,
    "time.hour": tuple(range(24)),
}

LEAST: Mapping[str, int] = {
    "request.count": 1,
    "request.memory_gib": 1,
    "request.disk_gib": 1,
    "request.hours": 0,
    "request.days": 0,
    "request.start_in_hours": 0,
    "quote.hourly": 0,
    "quote.total": 0,
    "quote.market_hourly": 0,
    "team.quota": 0,
    "team.used": 0,
    "team.after": 1,
    "budget.ceiling": 0,
    "budget.spent": 0,
    "budget.committed": 0,
    "budget.share": 0,
    "budget.hours_ceiling": 0,
    "budget.hours_used": 0,
    "similar.count": 0,
    "lease.extensions": 0,
}
"""Numbers are never below these."""


def closed_values(data: Any) -> Closed:
    """The fixed values, and those that the document names; what has not the right form closes nothing."""
    found = dict(FIXED)
    teams = _keys(data, "organisation", "teams")
    if teams is not None:
        found |= {"team.key": teams, "person.teams": teams}
    places = _inner(data, "places")
    if isinstance(places, list) and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in places):
        found["place.name"] = tuple(one["name"] for one in places)
        found["place.residency"] = tuple(str(one["residency"]) for one in places if one.get("residency"))
    if isinstance(data, dict) and isinstance(_inner(data, "security") or {}, dict):
        classes = _keys(data, "security", "data")
        if classes is not None or "data" not in (data.get("security") or {}):
            found["request.data"] = ("", *(classes or ()))
    schedules = _keys(data, "schedules")
    if schedules is not None:
        found["request.schedule"] = ("", *schedules)
    return found


def never(fact: str, value: Any, closed: Closed) -> str:
    """Why `fact` can never be (or hold) `value`, in words; empty when it can."""
    if fact == "request.model":
        return _misspelt_model(value)
    if fact not in closed or value in closed[fact]:
        return ""
    known = [str(one) for one in closed[fact] if one != ""]
    if isinstance(value, int):
        return f"{fact} is never {value}; it goes from {known[0]} to {known[-1]}"
    if not known:
        return f"{fact} is never '{value}': lessor.yaml has none at all"
    return f"{fact} is never '{value}'{_near(str(value), known)}; there are: {', '.join(known)}"


def _misspelt_model(value: Any) -> str:
    """Only names that mean a model of the catalogue under another spelling: a provider may have models beyond it."""
    catalogue = load_catalogue()
    meant = catalogue.canonical(value) if isinstance(value, str) else None
    if meant is None or catalogue.model(value):
        return ""
    return f"request.model is never '{value}'; write '{meant}', as the catalogue has it"


def _near(word: str, known: Iterable[str]) -> str:
    by_fold = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(word.casefold(), list(by_fold), n=1, cutoff=0.6)
    return f"; did you mean '{by_fold[close[0]]}'?" if close else ""


def _inner(data: Any, *path: str) -> Any:
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _keys(data: Any, *path: str) -> tuple[str, ...] | None:
    found = _inner(data, *path)
    return tuple(str(key) for key in found) if isinstance(found, dict) else None
