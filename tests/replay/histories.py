"""Where histories are stored, and in which form: small, readable in a diff, and free of whoever recorded them.

`histories/<version>/<story>.json` holds the workflow's id and the events of one run, one a line, with the fields that
`temporal workflow show` prints.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

HERE = Path(__file__).parent
STORE = HERE / "histories"
RECORDER = "worker"
"""Stands in for process and host (`1234@name`), which a server notes as who did something and as a worker's queue."""
LEFT_OUT = frozenset({"binaryChecksum", "meteringMetadata", "stackTrace", "workerVersion"})
"""Says where and by which build it was recorded; a replay reads none of it."""

_IDENTITY = re.compile(r"(?<![\w.-])\d+@[\w.-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Stored:
    """One history on disk."""

    path: Path

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    def load(self) -> WorkflowHistory:
        found = json.loads(self.path.read_text(encoding="utf-8"))
        return WorkflowHistory.from_json(found["workflowId"], {"events": found["events"]})


def stored() -> list[Stored]:
    """Every history of every version, in order."""
    return [Stored(path) for path in sorted(STORE.glob("*/*.json"))]


def version() -> str:
    """The version that is being worked on, as the project file says it."""
    with (HERE.parents[1] / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def write(history: WorkflowHistory, path: Path) -> None:
    """Store one history without a trace of the machine that it was recorded on."""
    events = ",\n".join(json.dumps(event, sort_keys=True) for event in _without(history.to_json_dict()["events"]))
    text = f'{{"workflowId": {json.dumps(history.workflow_id)}, "events": [\n{events}\n]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_counted(_IDENTITY.sub(RECORDER, text)), encoding="utf-8")


def _without(found: Any) -> Any:
    """`found` without any key of `LEFT_OUT` at any depth."""
    if isinstance(found, list):
        return [_without(one) for one in found]
    if not isinstance(found, dict):
        return found
    return {key: _without(value) for key, value in found.items() if key not in LEFT_OUT}


def _counted(text: str) -> str:
    """Random ids replaced by numbers in order of appearance, so that two recordings differ in less."""
    seen: dict[str, str] = {}
    return _UUID.sub(lambda found: seen.setdefault(found[0], f"00000000-0000-4000-8000-{len(seen) + 1:012d}"), text)
