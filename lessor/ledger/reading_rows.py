"""The row of one lease and tick: what was seen and where it stands, packed, beside the figures that are added up."""

from __future__ import annotations

from collections.abc import Iterable

from lessor.domain.idle import Standing
from lessor.domain.judging import working
from lessor.domain.usage import GpuUse, Observation
from lessor.ledger.packing import Packed

OBSERVATION = Packed(Observation)
STANDING = Packed(Standing)

Reading = tuple[object, ...]


def reading_row(seconds: int, observation: Observation, standing: Standing) -> Reading:
    """The values of `ReadingRow` in the order of its columns, for the tick at `seconds` since 1970."""
    gpus = observation.gpus
    return (
        seconds,
        standing.lease_id,
        standing.verdict.value,
        not standing.missed,
        working(standing) / standing.gpus if standing.gpus else 0.0,
        _most(gpu.engine for gpu in gpus),
        _most(gpu.util for gpu in gpus),
        _most(map(held_memory, gpus)),
        _most(gpu.power for gpu in gpus),
        _most(host.cpu for host in observation.hosts),
        OBSERVATION.dump(observation),
        STANDING.dump(standing),
    )


def held_memory(gpu: GpuUse) -> float | None:
    """The share of its memory that is in use, 0 to 1."""
    if gpu.memory_used is None or not gpu.memory_total:
        return None
    return gpu.memory_used / gpu.memory_total


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
