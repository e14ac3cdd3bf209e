"""The simulated Prometheus beside a real one that has the same samples: the same answers, and the same refusals."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.usage import Subject
from lessor.sandbox.gpus.promql import Database, QueryError, evaluate, parse
from lessor.telemetry.promql import Metrics, expression
from tests.browser import refuse
from tests.sandbox.gpus.fleet import BEGIN, EIGHT, FOUR, ONE, Stage, told_the_same
from tests.telemetry.server import PrometheusServer, program

ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
END = BEGIN + 150


@dataclass(frozen=True)
class Pair:
    """Both, with the same samples."""

    real: PrometheusServer
    simulated: Database


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    try:
        program()
    except FileNotFoundError as missing:
        refuse(str(missing))
    stage = Stage(FOUR, EIGHT, ONE)
    stage.does(FOUR, mig=True)
    stage.does(EIGHT, working=1)
    stage.does(ONE, use="held")
    stage.run(60)
    stage.does(EIGHT, gap=20)
    stage.does(ONE, use="busy", restart=True)
    stage.run(90)
    with told_the_same(stage.simulation.database, tmp_path_factory.mktemp("prometheus")) as real:
        yield Pair(real, stage.simulation.database)


SUBJECTS = (Subject("gpu-7k3qxa2m", 4, (FOUR.id,)), Subject("gpu-8k3qxa2m", 8, (EIGHT.id,), namespace="gpu-8k3qxa2m"))
ASKED = [
    expression(Metrics(), timedelta(seconds=60), END),
    expression(Metrics(), timedelta(seconds=5), END),
    expression(Metrics(), timedelta(seconds=60), END, SUBJECTS),
    ENGINE,
    f'{ENGINE}{{gpu="0"}}',
    f'{ENGINE}{{gpu!="0",instance_id=~"i-0a+2"}}',
    f'{ENGINE}{{GPU_I_ID=""}}',
    f'{ENGINE}{{GPU_I_ID!~".+"}} offset 40s',
    f"{ENGINE} @ {BEGIN + 40:.3f}",
    '{__name__=~"lessor_host_.*",job="lessor-host"}',
    f"max_over_time({ENGINE}[1m])",
    f"min_over_time({ENGINE}[1m30s] offset 10s)",
    f"avg_over_time({ENGINE}[20s])",
    f"sum_over_time(DCGM_FI_DEV_GPU_UTIL[20s] @ {BEGIN + 70:.3f})",
    f"count_over_time({ENGINE}[149999ms])",
    f"last_over_time({ENGINE}[1m])",
    f"changes({ENGINE}[2m])",
    "resets(process_start_time_seconds[3m])",
    "changes(process_start_time_seconds[3m]) > 0",
    f"max by (instance_id) ({ENGINE})",
    f"sum({ENGINE}) without (gpu, UUID, GPU_I_ID, GPU_I_PROFILE, device, pci_bus_id)",
    f"count({ENGINE})",
    f"avg by (modelName, nothing) ({ENGINE} > 0.5)",
    f"min by (gpu) ({ENGINE} >= bool 0.5)",
    f"timestamp({ENGINE}) > time() - 30",
    f"timestamp({ENGINE} > 0)",
    f"max_over_time((timestamp({ENGINE}) > time() - 2)[1m:6s])",
    f"count_over_time(({ENGINE} or lessor_host_cpu_percent)[37s:10s] offset 5s)",
    f'label_replace({ENGINE}, "host", "$1-${{2}}", "instance", "(.*)[.]([0-9]+):.*")',
    f'label_replace({ENGINE}, "gpu", "", "gpu", ".*")',
    f"{ENGINE} and {ENGINE} > 0.5",
    f"{ENGINE} unless {ENGINE} > 0.5",
    f'{ENGINE}{{gpu="0"}} or {ENGINE}{{gpu=~"0|1"}} or vector(7)',
    f"-{ENGINE} * 100 / 3 + 1",
    f"2 - {ENGINE} % 0.1",
    f"{ENGINE} * DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_FREE",
    f"{ENGINE} > DCGM_FI_PROF_SM_ACTIVE",
    f"{ENGINE} == bool DCGM_FI_PROF_SM_ACTIVE",
    f"{ENGINE} + lessor_host_cpu_percent",
    "process_start_time_seconds != process_start_time_seconds offset 1m",
    "lessor_host_cpu_percent == 2 or lessor_host_cpu_percent > 30",
    "vector(time())",
    'scalar(lessor_host_cpu_percent{instance_id="none"}) == bool 1',
    "1 + 2 * 3 - 4 / 8",
    "1 > bool 2",
    "nothing_of_that_name",
    "# a remark\n1",
]


@pytest.mark.parametrize("query", ASKED)
@pytest.mark.parametrize("at", [END - 1, BEGIN + 50.25])
def test_both_answer_the_same(pair: Pair, query: str, at: float) -> None:
    assert simulated(pair, query, at) == pytest.approx(real(pair, query, at), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "(",
        f"max by (gpu) {ENGINE}",
        f"{ENGINE}{{gpu=0}}",
        f'{ENGINE}{{gpu=="0"}}',
        f'{ENGINE}{{gpu=~"["}}',
        '{gpu=""}',
        '{gpu=~".*"}',
        f"{ENGINE}[5m",
        f"{ENGINE}[5]",
        f"{ENGINE}[0.5m]",
        f"max_over_time({ENGINE})",
        f"max_over_time(max({ENGINE})[5m])",
        f"timestamp({ENGINE}[5m])",
        f"max({ENGINE}[5m])",
        f"unheard_of({ENGINE})",
        f"label_replace({ENGINE}, gpu)",
        f"{ENGINE} or 1",
        "1 > 2",
        "1 2",
        f'"text" + {ENGINE}',
        f"{ENGINE} offset 5m offset 5m",
        f"({ENGINE} + 1) offset 5m",
        "1 @ 5",
        '"\\q"',
        f"{ENGINE} ~ 1",
        f'label_replace({ENGINE}, "0", "x", "gpu", ".*")',
        f'label_replace({ENGINE}, "gpu", "x", "gpu", "(")',
        f'label_replace(max by (gpu) ({ENGINE}), "gpu", "", "gpu", ".*")',
        f"{ENGINE} / {{__name__=~'DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_SM_ACTIVE'}}",
        f"{{__name__=~'DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_SM_ACTIVE'}} / {ENGINE}",
        "max_over_time({__name__=~'DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_SM_ACTIVE'}[5m])",
    ],
)
def test_both_refuse_the_same(pair: Pair, query: str) -> None:
    with pytest.raises(QueryError) as refused:
        evaluate(parse(query), pair.simulated, round((END - 1) * 1000))
    with pytest.raises(urllib.error.HTTPError) as refused_too:
        ask(pair.real, query, END - 1)
    with refused_too.value as answer:
        said = json.load(answer)
    assert (refused.value.kind, {"bad_data": 400, "execution": 422}[refused.value.kind]) == (
        said["errorType"],
        answer.code,
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (f"rate({ENGINE}[5m])", 'unknown function with name "rate"'),
        (f"{ENGINE} / on (UUID, GPU_I_ID) {ENGINE}", "matching with `on` is not simulated"),
        (f"topk(3, {ENGINE})", 'unknown function with name "topk"'),
    ],
)
def test_what_only_a_real_one_understands_is_refused_and_never_guessed(pair: Pair, query: str, said: str) -> None:
    assert ask(pair.real, query, END)["status"] == "success"
    with pytest.raises(QueryError, match=said.replace("(", r"\(").replace("|", r"\|")):
        evaluate(parse(query), pair.simulated, round(END * 1000))


def simulated(pair: Pair, query: str, at: float) -> dict[frozenset[tuple[str, str]], float]:
    found = evaluate(parse(query), pair.simulated, round(at * 1000))
    if isinstance(found, float):
        return {frozenset(): found}
    answer = {frozenset(one.labels.items()): one.value for one in found}
    assert len(answer) == len(found)
    return answer


def real(pair: Pair, query: str, at: float) -> dict[frozenset[tuple[str, str]], float]:
    data = ask(pair.real, query, at)["data"]
    if data["resultType"] == "scalar":
        return {frozenset(): float(data["result"][1])}
    return {frozenset(one["metric"].items()): float(one["value"][1]) for one in data["result"]}


def ask(server: PrometheusServer, query: str, at: float) -> dict[str, Any]:
    form = urllib.parse.urlencode({"query": query, "time": f"{at:.3f}"}).encode()
    with urllib.request.urlopen(f"{server.url}/api/v1/query", form, timeout=20) as answer:
        said: dict[str, Any] = json.load(answer)
    return said
