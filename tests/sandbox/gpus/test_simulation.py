"""What the simulated GPUs show for each thing that can happen on a machine, and what is measured of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lessor.sandbox.gpus import Answers, Doing, Machine, Simulation, Use
from lessor.sandbox.gpus.promql import evaluate, parse
from tests.sandbox.gpus.fleet import EIGHT, FOUR, ONE, Stage

ENGINE, UTIL, USED = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED"


def asked(stage: Stage, query: str) -> dict[str, float]:
    """The answer at this moment, by machine (or by `gpu/slice` of one)."""
    found = evaluate(parse(query), stage.simulation.database, round(stage.clock.now * 1000))
    assert not isinstance(found, float)
    named = {
        "/".join(one.labels[name] for name in ("instance_id", "gpu", "GPU_I_ID") if name in one.labels): one.value
        for one in found
    }
    assert len(named) == len(found)
    return named


def of_machines(stage: Stage, name: str) -> dict[str, float]:
    return asked(stage, f"max by (instance_id) ({name})")


@pytest.mark.parametrize(
    ("use", "engine", "util", "memory", "processes", "cpu", "sessions"),
    [
        (Use.BUSY, (0.8, 1.0), (80, 100), 0.82, 1, (30, 45), 0),
        (Use.IDLE, (0, 0), (0, 0), 0, 0, (0, 5), 0),
        (Use.HELD, (0, 0), (0, 0), 0.88, 1, (0, 5), 0),
        (Use.STUCK, (0.9, 1.0), (90, 100), 0.61, 0, (0, 5), 0),
        (Use.PREPARING, (0, 0), (0, 0), 0, 0, (70, 95), 0),
        (Use.TYPING, (0, 0), (0, 0), 0, 0, (0, 5), 1),
    ],
)
def test_each_use_shows_itself_in_all_signals(
    use: Use,
    engine: tuple[float, float],
    util: tuple[float, float],
    memory: float,
    processes: int,
    cpu: tuple[float, float],
    sessions: int,
) -> None:
    stage = Stage(EIGHT)
    stage.does(EIGHT, use=use.value)
    stage.run(30)
    seen = {
        name: of_machines(stage, f"max_over_time({name}[30s])")[EIGHT.id]
        for name in (ENGINE, UTIL, USED, "lessor_host_gpu_processes", "lessor_host_cpu_percent", "lessor_host_sessions")
    }
    assert engine[0] <= seen[ENGINE] <= engine[1]
    assert util[0] <= seen[UTIL] <= util[1]
    assert seen[USED] / EIGHT.memory == pytest.approx(memory, abs=0.001)
    assert seen["lessor_host_gpu_processes"] == processes
    assert cpu[0] <= seen["lessor_host_cpu_percent"] <= cpu[1]
    assert seen["lessor_host_sessions"] == sessions


def test_some_of_its_gpus_work_and_the_others_do_not() -> None:
    stage = Stage(EIGHT)
    stage.does(EIGHT, working=1)
    stage.run(1)
    working = asked(stage, f"max by (gpu) ({ENGINE}) > 0")
    assert list(working) == ["0"]
    assert len(asked(stage, f"max by (gpu) ({ENGINE})")) == 8


def test_a_slice_works_although_its_utilisation_says_0() -> None:
    stage = Stage(FOUR)
    stage.does(FOUR, mig=True)
    stage.run(1)
    assert asked(stage, f"max by (gpu) ({UTIL})") == {"0": 0, "1": 0, "2": 0, "3": 0}
    assert sorted(asked(stage, f"max by (gpu, GPU_I_ID) ({ENGINE}) > 0")) == ["0/1", "1/1", "2/1", "3/1"]
    assert len(asked(stage, f"max by (gpu, GPU_I_ID) ({ENGINE})")) == 28


def test_an_exporter_that_goes_takes_the_gpus_with_it_at_once_and_not_the_host() -> None:
    stage = Stage(FOUR, ONE)
    stage.run(10)
    stage.does(FOUR, exporter="gone")
    stage.run(1)
    assert set(of_machines(stage, ENGINE)) == {ONE.id}
    assert set(of_machines(stage, "lessor_host_cpu_percent")) == {FOUR.id, ONE.id}
    assert set(of_machines(stage, f"max_over_time({ENGINE}[10s])")) == {FOUR.id, ONE.id}
    stage.does(FOUR, exporter="up")
    stage.run(1)
    assert set(of_machines(stage, ENGINE)) == {FOUR.id, ONE.id}


def test_a_gap_ends_by_itself_and_leaves_nothing_behind() -> None:
    stage = Stage(FOUR)
    stage.run(10)
    stage.does(FOUR, gap=20)
    stage.run(40)
    counted = f"count_over_time({ENGINE}{{gpu='0'}}[50s])"
    assert of_machines(stage, counted) == {FOUR.id: 30}
    assert of_machines(stage, counted.replace(ENGINE, "lessor_host_cpu_percent").replace("{gpu='0'}", "")) == {
        FOUR.id: 30
    }


def test_a_restart_of_the_exporter_is_seen_once() -> None:
    stage = Stage(FOUR)
    stage.run(5)
    stage.does(FOUR, restart=True)
    stage.run(5)
    restarted = "max by (instance_id) (changes(process_start_time_seconds{job='dcgm-exporter'}[%ss]))"
    assert asked(stage, restarted % 10) == {FOUR.id: 1}
    assert asked(stage, restarted % 4) == {FOUR.id: 0}


def test_a_clock_that_is_fast_puts_samples_into_the_future() -> None:
    stage = Stage(FOUR)
    stage.does(FOUR, ahead=600)
    stage.run(5)
    assert of_machines(stage, ENGINE) == {}
    assert of_machines(stage, f"timestamp({ENGINE} offset -10m)") == {FOUR.id: stage.clock.now - 1 + 600}


def test_without_labels_nobody_knows_whose_the_gpus_are() -> None:
    stage = Stage(FOUR)
    stage.does(FOUR, labelled=False)
    stage.run(1)
    assert asked(stage, f"max by (instance_id, Hostname) ({ENGINE})") == {"": pytest.approx(0.9, abs=0.1)}


def test_a_machine_that_is_stopped_vanishes_and_comes_back_as_it_was() -> None:
    stage = Stage(FOUR, ONE)
    stage.does(FOUR, use="idle")
    stage.run(2)
    stage.simulation.see([ONE])
    stage.run(1)
    assert set(of_machines(stage, ENGINE)) == {ONE.id}
    with pytest.raises(KeyError, match=f"no machine {FOUR.id} runs; there are: {ONE.id}"):
        stage.does(FOUR, use="busy")
    stage.simulation.see([FOUR, ONE])
    assert stage.simulation.doing(FOUR.id).use is Use.IDLE


def test_machines_that_are_new_do_what_newcomers_do() -> None:
    stage = Stage(FOUR)
    stage.simulation.switch(newcomers="idle")
    stage.simulation.see([FOUR, ONE])
    assert (stage.simulation.doing(FOUR.id).use, stage.simulation.doing(ONE.id).use) == (Use.BUSY, Use.IDLE)


def test_what_is_set_is_kept_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "gpus.json"
    stage = Stage(FOUR, EIGHT, path=path)
    stage.does(FOUR, use="held", working=2, mig=True, exporter="gone", ahead=600, labelled=False, gap=30)
    stage.simulation.switch(answers="empty", newcomers="typing")
    again = Simulation(path, stage.clock)
    assert again.doing(FOUR.id) == stage.simulation.doing(FOUR.id)
    assert again.doing(FOUR.id).silent_until == stage.clock.now + 30
    assert again.doing(EIGHT.id) == Doing()
    assert (again.answers, again.newcomers) == (Answers.EMPTY, Use.TYPING)


@pytest.mark.parametrize("content", ["{", "[]", '{"answers": "well", "newcomers": "busy", "machines": {"i-1": 5}}'])
def test_a_file_that_says_nothing_of_gpus_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "gpus.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"gpus\.json says nothing of GPUs .*; move it away to start afresh"):
        Simulation(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"use": "sleeping"}, "use is one of: busy, idle, held, stuck, preparing, typing"),
        ({"exporter": "down"}, "exporter is one of: up, gone"),
        ({"mig": "yes"}, "mig is true or false"),
        ({"working": -1}, "working is a number, and not negative"),
        ({"working": 5}, "working is at most 4, the GPUs that it has"),
        ({"ahead": "much"}, "ahead is a number, and not negative"),
        ({"temperature": 90}, "there is no temperature; there are: ahead, exporter, labelled, mig, restarted"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(changes: dict[str, Any], reason: str) -> None:
    stage = Stage(FOUR)
    with pytest.raises(ValueError, match=reason):
        stage.does(FOUR, **changes)
    assert stage.simulation.doing(FOUR.id) == Doing()


def test_switches_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="answers is one of: well, down, slow, empty"):
        Stage().simulation.switch(answers="sometimes")


def test_addresses_and_gpu_ids_follow_from_the_machine_s_id() -> None:
    again = Machine(FOUR.id, "p5.48xlarge", "H100", 8, 81_920)
    assert (again.hostname, again.gpu_id(0)) == (FOUR.hostname, FOUR.gpu_id(0))
    assert len({one.hostname for one in (FOUR, EIGHT, ONE)}) == 3
    assert len({EIGHT.gpu_id(index) for index in range(8)}) == 8
