"""The words that mean something in a typed request, whatever the spelling."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from lessor.domain.request import Market, Workload
from lessor.when.days import MONTH, WEEKDAY
from lessor.when.spans import NUMBERS, UNIT

WORKLOADS = {
    "training": Workload.TRAINING,
    "finetuning": Workload.FINE_TUNING,
    "batchinference": Workload.BATCH_INFERENCE,
    "realtimeinference": Workload.REALTIME_INFERENCE,
    "notebook": Workload.NOTEBOOK,
    "experiment": Workload.EXPERIMENT,
}
MARKETS = {"ondemand": Market.ON_DEMAND, "spot": Market.SPOT, "capacityblock": Market.CAPACITY_BLOCK}
OPTIONS = {
    "team": "team",
    "purpose": "purpose",
    "reason": "purpose",
    "why": "purpose",
    "end": "end",
    "for": "end",
    "until": "end",
    "duration": "end",
    "start": "start",
    "starts": "start",
    "from": "start",
    "schedule": "schedule",
    "hours": "schedule",
    "place": "place",
    "region": "place",
    "zone": "place",
    "where": "place",
    "market": "market",
    "workload": "workload",
    "class": "workload",
    "gpu": "gpu",
    "gpus": "count",
    "model": "gpu",
    "count": "count",
    "memory": "memory",
    "type": "type",
    "instance": "type",
    "disk": "disk",
    "snapshot": "snapshot",
    "tag": "tag",
    "tags": "tag",
    "costcenter": "cost_center",
    "project": "project",
    "data": "data",
    "sensitivity": "data",
    "checkpoints": "checkpoints",
    "checkpointing": "checkpoints",
    "kind": "kind",
}
OPTION = re.compile(r"(?:[-–—]{1,2})?([a-z][\w-]*)[:=](.*)", re.IGNORECASE | re.DOTALL)
FLAG = re.compile(r"(?:--|—|–)([a-z][\w-]*)", re.IGNORECASE)
CLOCKED = re.compile(r"[:\-]|\d\s?[ap]\.?m")
"""What makes a number after `from` a time or a date: `from 9:00`, `from 2026-12-24`, `from 9 am`."""
LENGTH = re.compile(rf"\s\d+(\.\d+)?\s?({'|'.join(UNIT)})$")
YES = ("yes", "true", "y", "1", "on")
NO = ("no", "false", "n", "0", "off")
POINTS = ("until", "till", "til", "through")
END_STARTERS = frozenset(
    {"today", "tomorrow", "day", "noon", "midnight", "end", "the", "next", "this", "coming", "eod", "eom", "eow", "eoy"}
    | set(NUMBERS)
    | set(WEEKDAY)
    | set(MONTH)
)
"""With these, or with a digit, an end may begin."""
START_WORDS = frozenset({"from", "start", "starts", "starting", "begin", "begins", "beginning"})
TIME_NAMES = frozenset(
    {"today", "tomorrow", "yesterday", "tonight", "noon", "midnight", "eod", "eow", "eom", "eoy"}
    | {"week", "weekend", "month", "quarter", "year", "morning", "afternoon", "evening", "night"}
    | set(WEEKDAY)
    | set(MONTH)
)
"""After a word such as `starting`, any of these speaks of a time."""
TIME_WORDS = TIME_NAMES | {"this", "next", "coming", "last", "the", "end", "of", "day", "after"}
END_CONNECTORS = frozenset({"for", "until", "till", "til", "through", "in", "on", "at"})
CONNECTORS = frozenset({"for", "until", "till", "til", "through", "in", "on", "at", "as", "with", "using", "and", ","})


def squeezed(text: str) -> str:
    """Letters and digits only, lower case: `Fine-Tuning` and `fine tuning` are the same word."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def near_option(key: str) -> str:
    """The option that a mistyped key is close to; empty if it is close to none."""
    close = difflib.get_close_matches(squeezed(key), OPTIONS, n=1, cutoff=0.75)
    return close[0] if close and len(key) > 3 else ""


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
