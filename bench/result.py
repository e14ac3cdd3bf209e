"""What a benchmark found: ours beside the reference, as a table for people and as JSON for machines."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

OUT = Path(__file__).parent / "out"


@dataclass(frozen=True)
class Result:
    """One comparison. `target` bounds `ratio` where there is a reference, else `ours`; `at_least` turns it round."""

    name: str
    ours: float
    unit: str
    target: float | None = None
    reference: float | None = None
    at_least: bool = False

    @property
    def ratio(self) -> float | None:
        return self.ours / self.reference if self.reference else None

    @property
    def holds(self) -> bool | None:
        """Whether the target is met; `None` for figures that are only told."""
        if self.target is None:
            return None
        measured = self.ours if self.ratio is None else self.ratio
        return measured >= self.target if self.at_least else measured <= self.target


def write(results: Iterable[Result], directory: Path = OUT) -> Path:
    """`results.json` holds the results, `machine.json` what they were measured on and under which load."""
    directory.mkdir(exist_ok=True)
    path = directory / "results.json"
    path.write_text(json.dumps([_row(result) for result in results], indent=2) + "\n")
    (directory / "machine.json").write_text(json.dumps(machine(), indent=2) + "\n")
    return path


def machine() -> dict[str, object]:
    """The date and the machine: figures mean nothing without them."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_average": [round(load, 1) for load in psutil.getloadavg()],
        "python": platform.python_version(),
        "system": platform.system(),
    }


def table(results: Iterable[Result]) -> None:
    """Print the results; a target with `>=` is a least value."""
    shown = Table(title="lessor beside its floors", title_justify="left")
    for heading in ("benchmark", "ours", "reference", "unit", "ratio", "target", "holds"):
        shown.add_column(heading, justify="left" if heading in ("benchmark", "unit") else "right")
    for result in results:
        sign = ">=" if result.at_least else "<="
        shown.add_row(
            result.name,
            f"{result.ours:,.2f}",
            "" if result.reference is None else f"{result.reference:,.2f}",
            result.unit,
            "" if result.ratio is None else f"{result.ratio:.2f}",
            "" if result.target is None else f"{sign} {result.target:g}",
            {True: "yes", False: "NO", None: ""}[result.holds],
        )
    Console(width=140).print(shown)


def _row(result: Result) -> dict[str, object]:
    ratio = None if result.ratio is None else round(result.ratio, 3)
    return {**asdict(result), "ratio": ratio, "holds": result.holds}
