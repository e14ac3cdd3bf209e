"""The search attributes of a lease: plaintext in the server, so ids only, and only what changed is written."""

from __future__ import annotations

from typing import Any

from temporalio.common import SearchAttributeKey, SearchAttributePair, SearchAttributeUpdate, TypedSearchAttributes

from lessor.domain.lease import Lease, State
from lessor.domain.request import Request

Values = dict[SearchAttributeKey[Any], Any]

KEYWORD_MAX = 255

GPU_STATE = SearchAttributeKey.for_keyword("GpuState")
GPU_OWNER = SearchAttributeKey.for_keyword("GpuOwner")
GPU_TEAM = SearchAttributeKey.for_keyword("GpuTeam")
GPU_PROVIDER = SearchAttributeKey.for_keyword("GpuProvider")
GPU_MODEL = SearchAttributeKey.for_keyword("GpuModel")
GPU_MARKET = SearchAttributeKey.for_keyword("GpuMarket")
GPU_WORKLOAD = SearchAttributeKey.for_keyword("GpuWorkload")
GPU_COUNT = SearchAttributeKey.for_int("GpuCount")
GPU_HOURLY_USD = SearchAttributeKey.for_float("GpuHourlyUsd")
GPU_ENDS = SearchAttributeKey.for_datetime("GpuEnds")
GPU_RESOURCES = SearchAttributeKey.for_keyword_list("GpuResources")

KEYS = (
    *(GPU_STATE, GPU_OWNER, GPU_TEAM, GPU_PROVIDER, GPU_MODEL, GPU_MARKET, GPU_WORKLOAD),
    *(GPU_COUNT, GPU_HOURLY_USD, GPU_ENDS, GPU_RESOURCES),
)
"""All of them; `contracts.SEARCH_ATTRIBUTES` says the same to who registers them, without Temporal's library."""


def at_start(request: Request) -> list[SearchAttributePair[Any]]:
    """What is known when the workflow is started, so that the first task needs no update."""
    values: Values = {
        GPU_STATE: "requested",
        GPU_OWNER: request.requester,
        GPU_TEAM: request.team,
        GPU_PROVIDER: request.place.provider,
        GPU_MARKET: request.market.value,
        GPU_WORKLOAD: request.workload.value,
        GPU_COUNT: request.need.count,
        GPU_MODEL: request.need.model,
    }
    return [SearchAttributePair(key, _fit(value)) for key, value in values.items() if value]


def shown(attributes: TypedSearchAttributes) -> Values:
    """What an execution was started with, or took over from the run before."""
    return {pair.key: pair.value for pair in attributes}


def of(lease: Lease) -> Values:
    """All attributes of a lease as they should be now; what is unknown is absent."""
    values: Values = {GPU_STATE: lease.state.value, GPU_COUNT: lease.gpus}
    values |= {GPU_OWNER: lease.owner, GPU_TEAM: lease.request.team}
    if lease.model:
        values[GPU_MODEL] = lease.model
    hourly = lease.quote.offer.hourly if lease.quote else None
    if hourly is not None and hourly.currency == "USD":
        values[GPU_HOURLY_USD] = float(hourly.amount)
    if lease.ends_at:
        values[GPU_ENDS] = lease.ends_at
    if lease.resources:
        values[GPU_RESOURCES] = [r.id for r in lease.resources[:50]]
    return {key: _fit(value) for key, value in values.items()}


def in_passing(lease: Lease) -> bool:
    """Whether the lease leaves its state within moments, unless something goes wrong: then it is not worth a write.

    Each write costs the server about as much as an activity; the next one shows where the lease came to rest.
    """
    if lease.state is State.APPROVED:
        return lease.request.start is None
    return lease.state is State.ENDING and not lease.problem


def updates(before: Values, after: Values) -> list[SearchAttributeUpdate[Any]]:
    """The smallest update that turns `before` into `after`."""
    return [key.value_set(value) for key, value in after.items() if before.get(key) != value]


def _fit(value: Any) -> Any:
    return value[:KEYWORD_MAX] if isinstance(value, str) else value
