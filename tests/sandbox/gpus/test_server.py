"""The HTTP face: queries as lessor's own source asks them, pages for a Prometheus of one's own, and the controls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from lessor.domain.usage import Subject
from lessor.refusals import TelemetryError
from lessor.sandbox.gpus import GpusClient, Simulation
from lessor.sandbox.gpus.server import listening
from lessor.telemetry import PrometheusSource
from tests.browser import refuse
from tests.sandbox.gpus.fleet import EIGHT, FOUR, ONE, Stage
from tests.telemetry.server import eventually, program, prometheus

MINUTE = timedelta(minutes=1)


@pytest_asyncio.fixture
async def served() -> AsyncIterator[tuple[Stage, str]]:
    stage = Stage(FOUR, EIGHT, ONE)
    async with listening(stage.simulation) as url:
        yield stage, url


def source(stage: Stage, url: str, timeout: timedelta = timedelta(seconds=5)) -> PrometheusSource:
    return PrometheusSource("sandbox", url, timeout=timeout, clock=stage.clock)


def at(stage: Stage) -> datetime:
    return datetime.fromtimestamp(stage.clock.now, UTC)


async def test_lessor_s_own_source_reads_what_every_gpu_does(served: tuple[Stage, str]) -> None:
    stage, url = served
    stage.does(EIGHT, working=1)
    stage.does(ONE, use="held")
    stage.run(61)
    reading = await asyncio.to_thread(source(stage, url).read, at(stage), MINUTE)
    gpus = [(seen.origin.machine, seen.gpu) for seen in reading.seen if seen.gpu is not None]
    assert sorted(machine for machine, _ in gpus) == sorted([FOUR.id] * 4 + [EIGHT.id] * 8 + [ONE.id])
    working = [(machine, gpu.device) for machine, gpu in gpus if (gpu.engine or 0) > 0.5]
    assert sorted(working) == sorted([(EIGHT.id, "0"), *((FOUR.id, str(index)) for index in range(4))])
    [held] = [gpu for machine, gpu in gpus if machine == ONE.id]
    assert (held.engine, held.util, held.processes) == (0.0, 0.0, 1)
    assert (held.memory_used or 0) / (held.memory_total or 1) == pytest.approx(0.88, abs=0.001)
    hosts = {seen.origin.machine for seen in reading.seen if seen.host is not None}
    assert hosts == {FOUR.id, EIGHT.id, ONE.id}
    only = await asyncio.to_thread(source(stage, url).read, at(stage), MINUTE, [Subject("gpu-1", 1, (ONE.id,))])
    assert {seen.origin.machine for seen in only.seen} == {ONE.id}


async def test_a_prometheus_that_is_down_slow_or_empty(served: tuple[Stage, str]) -> None:
    stage, url = served
    stage.run(61)
    stage.simulation.switch(answers="down")
    with pytest.raises(TelemetryError, match="503"):
        await asyncio.to_thread(source(stage, url).read, at(stage), MINUTE)
    stage.simulation.switch(answers="slow")
    with pytest.raises(TelemetryError):
        await asyncio.to_thread(source(stage, url, timedelta(milliseconds=50)).read, at(stage), MINUTE)
    stage.simulation.switch(answers="empty")
    reading = await asyncio.to_thread(source(stage, url).read, at(stage), MINUTE)
    assert reading.seen == ()
    stage.simulation.switch(answers="well")
    assert len((await asyncio.to_thread(source(stage, url).read, at(stage), MINUTE)).seen) == 16


@pytest.mark.parametrize(
    ("given", "status", "answer"),
    [
        ({"query": "1+"}, 400, {"errorType": "bad_data", "error": 'invalid parameter "query": 1:3: parse error'}),
        ({}, 400, {"errorType": "bad_data", "error": 'invalid parameter "query": unknown position: parse error: no'}),
        ({"query": "rate(x[5m])"}, 400, {"errorType": "bad_data", "error": "unknown function"}),
        ({"query": "1", "time": "noon"}, 400, {"errorType": "bad_data", "error": 'invalid parameter "time"'}),
        (
            {"query": "label_replace(a, '0', '', '', '')"},
            422,
            {"errorType": "execution", "error": "invalid destination label"},
        ),
    ],
)
@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_bad_query_is_answered_as_prometheus_does(
    served: tuple[Stage, str], verb: str, given: dict[str, str], status: int, answer: dict[str, str]
) -> None:
    _, url = served
    sent: dict[str, Any] = {"params": given} if verb == "GET" else {"data": given}
    async with aiohttp.ClientSession() as session, session.request(verb, f"{url}/api/v1/query", **sent) as said:
        body = await said.json()
    assert (said.status, body["status"], body["errorType"]) == (status, "error", answer["errorType"])
    assert answer["error"] in body["error"]


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("1/3", "0.3333333333333333"),
        ("1e21", "1000000000000000000000"),
        ("0/0", "NaN"),
        ("-1/0", "-Inf"),
        ("1/0", "+Inf"),
        ("2", "2"),
    ],
)
async def test_numbers_are_written_as_prometheus_writes_them(served: tuple[Stage, str], query: str, value: str) -> None:
    stage, url = served
    when = {"query": query, "time": "2026-11-27T09:00:00.5Z"}
    async with aiohttp.ClientSession() as session, session.get(f"{url}/api/v1/query", params=when) as said:
        assert (await said.json())["data"] == {"resultType": "scalar", "result": [1795770000.5, value]}
    assert (stage.simulation.asked[-1].query, stage.simulation.asked[-1].outcome) == (query, "a number")


async def test_what_is_not_there_is_not_found(served: tuple[Stage, str]) -> None:
    _, url = served
    async with aiohttp.ClientSession() as session, session.get(f"{url}/api/v1/query_range") as said:
        assert said.status == 404


async def test_a_real_prometheus_finds_and_scrapes_the_exporters(served: tuple[Stage, str]) -> None:
    try:
        program()
    except FileNotFoundError as missing:
        refuse(str(missing))
    stage, url = served
    stage.does(EIGHT, working=3)
    stage.does(ONE, exporter="gone")
    config = {
        "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
        "scrape_configs": [{"job_name": "gpus", "http_sd_configs": [{"url": f"{url}/sd", "refresh_interval": "1s"}]}],
    }

    def look() -> bool:
        with prometheus(config=json.dumps(config)) as real:
            working = "count by (instance_id, instance, job) (DCGM_FI_PROF_GR_ENGINE_ACTIVE > 0)"
            found = eventually(lambda: len(seen := real.query(working)) == 2 and seen)
            labels = {frozenset(one["metric"].items()): one["value"][1] for one in found}
            assert labels == {
                frozenset(stage.simulation.target(FOUR, "dcgm-exporter").items()): "4",
                frozenset(stage.simulation.target(EIGHT, "dcgm-exporter").items()): "3",
            }
            hosts = eventually(lambda: len(seen := real.query("lessor_host_cpu_percent")) == 3 and seen)
            assert {one["metric"]["job"] for one in hosts} == {"lessor-host"}
            down = eventually(lambda: len(seen := real.query("up == 0")) == 1 and seen)
            assert down[0]["metric"]["instance_id"] == ONE.id
        return True

    assert await asyncio.to_thread(look)


async def test_one_page_tells_of_all_machines(served: tuple[Stage, str]) -> None:
    _, url = served
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as said:
        text = await said.text()
    assert said.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert text.count("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n") == 1
    lines = [line for line in text.splitlines() if line.startswith("DCGM_FI_DEV_FB_FREE{")]
    assert len(lines) == 13
    first = FOUR.gpu_id(0)
    assert lines[0].startswith(
        f'DCGM_FI_DEV_FB_FREE{{gpu="0",UUID="{first}",pci_bus_id="00000000:10:00.0",device="nvidia0",'
        f'modelName="NVIDIA L4",Hostname="{FOUR.hostname}",instance_id="{FOUR.id}"}} '
    )


async def test_the_client_sets_and_reads_and_is_told_why_not(served: tuple[Stage, str]) -> None:
    _, url = served
    client = GpusClient(url)

    def act() -> dict[str, Any]:
        client.change(FOUR.id, use="idle", gap=60)
        client.change_all(mig=True)
        with pytest.raises(ValueError, match="the simulated GPUs refused: no machine i-none runs"):
            client.change("i-none", use="idle")
        with pytest.raises(ValueError, match="refused: use is one of"):
            client.change(FOUR.id, use="asleep")
        with pytest.raises(ValueError, match="refused: answers is one of"):
            client.switch(answers="no")
        return client.switch(answers="slow", newcomers="held")

    state = await asyncio.to_thread(act)
    assert (state["answers"], state["newcomers"]) == ("slow", "held")
    first = state["machines"][0]
    assert (first["id"], first["lease"], first["silent"]) == (FOUR.id, FOUR.lease, 60)
    assert (first["doing"]["use"], first["loads"][0]) == ("idle", {"use": "idle", "engine": 0.0, "memory": 0.0})
    assert [one["doing"]["mig"] for one in state["machines"]] == [True, True, True]


def test_an_empty_simulation_needs_no_file() -> None:
    assert Simulation().state()["machines"] == []
