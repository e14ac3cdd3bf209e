"""The evidence of a verdict as text, for the record."""

from __future__ import annotations

from collections.abc import Mapping

from lessor.domain import unheld
from lessor.domain.idle import Evidence

PEAKS = ("engine", "util", "memory", "power", "cpu", "network", "disk", "sessions", "requests")


def figures(evidence: Evidence) -> dict[str, str]:
    """All that is known, by name. What is unknown is left out, since it is not nothing (law 1)."""
    peaks = {f"peak_{name}": getattr(evidence, f"peak_{name}") for name in PEAKS}
    known: dict[str, object] = {
        "verdict": evidence.verdict.value,
        "since": evidence.since.isoformat(),
        "at": evidence.at.isoformat(),
        "gpus": evidence.gpus,
        "idle_gpus": evidence.idle_gpus,
        "covered": f"{evidence.covered:.3f}",
        **{name: peak for name, peak in peaks.items() if peak is not None},
        **unheld.recorded(evidence),
    }
    if evidence.active_at:
        known["active"] = f"{evidence.active_kind} at {evidence.active_at.isoformat()}"
    if evidence.faulty:
        known["faulty"] = ", ".join(evidence.faulty)
    if evidence.problem:
        known["problem"] = evidence.problem
    return {name: str(value) for name, value in known.items()}


def peaks_of(data: Mapping[str, str]) -> str:
    """The peaks of such a record for people, to three decimals: `engine 0.004, util 3`; empty if there are none."""
    known = ((name, data[f"peak_{name}"]) for name in PEAKS if f"peak_{name}" in data)
    return ", ".join(f"{name} {round(float(peak), 3):.12g}" for name, peak in known)
