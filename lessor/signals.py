"""What was measured of a lease as people read it: the same figures in a message and on a page.

An empty text is what is not known, or not looked at; it is never shown as nothing (law 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from lessor.domain.idle import Evidence, IdleTerms

_KILO = 1_000.0


@dataclass(frozen=True)
class Signal:
    """One thing that was measured: its name, the highest value, and above which it counts; empty is unknown, or none.

    The words for the name are in the templates.
    """

    name: str
    value: str
    limit: str = ""


def signals(evidence: Evidence, terms: IdleTerms) -> tuple[Signal, ...]:
    """Every signal with the most that was seen of it, whether or not it counts here (case E10)."""
    return (
        Signal("engine", ratio(evidence.peak_engine), ratio(terms.engine)),
        Signal("util", percent(evidence.peak_util), percent(terms.util)),
        Signal("memory", ratio(evidence.peak_memory), ratio(terms.memory)),
        Signal("power", watts(evidence.peak_power), watts(terms.power)),
        Signal("cpu", percent(evidence.peak_cpu), percent(terms.cpu)),
        Signal("network", throughput(evidence.peak_network), throughput(terms.network)),
        Signal("disk", throughput(evidence.peak_disk), throughput(terms.disk)),
        Signal("sessions", _count(evidence.peak_sessions)),
        Signal("requests", rate(evidence.peak_requests), rate(terms.requests)),
    )


def ratio(value: float | None) -> str:
    """A share of 0 to 1: `0.4 %`."""
    return "" if value is None else f"{_number(value * 100)} %"


def percent(value: float | None) -> str:
    """`12.5 %`."""
    return "" if value is None else f"{_number(value)} %"


def watts(value: float | None) -> str:
    """`380 W`."""
    return "" if value is None else f"{_number(value)} W"


def rate(value: float | None) -> str:
    """So many a second: `3/s`."""
    return "" if value is None else f"{_number(value)}/s"


def throughput(value: float | None) -> str:
    """Bytes a second: `1.2 MB/s`."""
    if value is None:
        return ""
    for unit in ("B/s", "kB/s", "MB/s"):
        if value < _KILO:
            return f"{_number(value)} {unit}"
        value /= _KILO
    return f"{_number(value)} GB/s"


def _number(value: float) -> str:
    """At most three figures, without zeros that say nothing: `0.4`, `12.5`, `780`."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}".removesuffix(".0")


def _count(value: int | None) -> str:
    return "" if value is None else str(value)
