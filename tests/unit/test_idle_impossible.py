"""Values that cannot be, signals that stay away, and machines without a figure: unknown, and the same when replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import pytest

from lessor.domain.idle import Verdict
from lessor.domain.usage import GpuUse, HostUse
from tests.unit.judged import MACHINE, QUIET, SIGNALS, START, Judged, at, gpu, mig, of, replayed, verdict


def test_a_machine_without_gpus_needs_more_than_a_notebook_server_that_is_quiet() -> None:
    judged = of(0)
    assert judged.ticks(200, host=HostUse(kernels=0, machine=MACHINE)).verdict is Verdict.UNKNOWN
    assert of(0).ticks(200).verdict is Verdict.IDLE


def test_a_signal_that_was_there_has_to_go_on_being_there() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    judged.ticks(2, gpu(), host=None)
    assert judged.standing.problem == "no longer reported: cpu, disk, network, sessions of i-0aaa by prometheus"
    assert judged.standing.verdict is Verdict.IDLE
    assert judged.ticks(200, gpu(), host=None).verdict is Verdict.UNKNOWN
    assert judged.ticks(59, gpu()).verdict is Verdict.UNKNOWN
    assert verdict(judged.tick(gpu())) == (Verdict.IDLE, at(292))


def test_one_signal_of_several_is_missed_as_well() -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    assert judged.ticks(3, gpu(), host=replace(QUIET, cpu=None)).verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "no longer reported: cpu of i-0aaa by prometheus"


def test_a_source_that_is_no_longer_configured_is_not_missed() -> None:
    judged = of(1)
    both = (*SIGNALS, f"cloudwatch {MACHINE} cpu")
    judged.ticks(90, gpu(), sources=both, asked=("cloudwatch", "prometheus"))
    assert judged.tick(gpu(), asked=("cloudwatch", "prometheus")).missed == 1
    assert judged.tick(gpu(), asked=("prometheus",)).missed == 0
    assert verdict(judged.ticks(10, gpu(), asked=("prometheus",))) == (Verdict.IDLE, START)


def test_a_lease_without_any_signal_of_its_machine_is_judged_by_its_gpus() -> None:
    assert verdict(of(1).ticks(60, gpu(), host=None)) == (Verdict.IDLE, START)


def test_nothing_at_all_is_unknown_for_ever() -> None:
    judged = of(1)
    assert verdict(judged.silence(60)) == (Verdict.UNKNOWN, at(60))
    assert verdict(judged.silence(5000)) == (Verdict.UNKNOWN, at(60))
    nothing = of(0)
    assert nothing.ticks(200, host=None).verdict is Verdict.UNKNOWN


def test_ticks_before_a_new_machine_reports_are_not_missed() -> None:
    judged = of(1)
    assert judged.silence(5).missed == 0
    assert judged.tick(gpu()).missed == 0
    assert judged.silence().missed == 1
    late = of(1)
    assert late.silence(62).missed == 3


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(gpu(-0.01), id="negative"),
        pytest.param(gpu(1.01), id="more than all of a whole GPU"),
        pytest.param(gpu(nan), id="nan"),
        pytest.param(gpu(inf), id="inf"),
        pytest.param(gpu(9.2e18), id="the exporter's blank"),
        pytest.param(mig(2.5), id="far more than all of a slice"),
        pytest.param(mig(None), id="a slice without its engine"),
        pytest.param(gpu(0.0, util=101.0), id="utilisation"),
        pytest.param(gpu(0.0, sm=-1.0), id="multiprocessors"),
        pytest.param(gpu(0.0, power=-1.0), id="power"),
        pytest.param(gpu(0.0, power=nan), id="no power"),
        pytest.param(gpu(0.0, memory_used=90_000.0), id="more memory than there is"),
        pytest.param(gpu(None, util=None), id="nothing but memory and power"),
    ],
)
def test_a_value_that_cannot_be_is_unknown(use: GpuUse) -> None:
    judged = of(1)
    judged.ticks(90, replace(gpu(), device=use.device, slice=use.slice))
    assert judged.standing.verdict is Verdict.IDLE
    judged.ticks(3, use)
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert judged.standing.problem.startswith("not seen, or with values that cannot be: GPU 0")


@pytest.mark.parametrize(
    "host",
    [
        replace(QUIET, cpu=-1.0),
        replace(QUIET, cpu=100.5),
        replace(QUIET, cpu=nan),
        replace(QUIET, network=-5.0),
        replace(QUIET, disk=nan),
    ],
)
def test_a_machines_value_that_cannot_be_is_unknown(host: HostUse) -> None:
    judged = of(1)
    judged.ticks(90, gpu())
    assert judged.ticks(3, gpu(), host=host).verdict is Verdict.UNKNOWN
    assert judged.standing.problem.startswith("values that cannot be: ")


Story = Callable[[Judged], object]


@pytest.mark.parametrize(
    "story",
    [
        lambda judged: judged.ticks(130, gpu()),
        lambda judged: (judged.ticks(70, gpu(0.5)), judged.silence(4), judged.ticks(70, gpu())),
        lambda judged: (judged.ticks(70, gpu()), judged.tick(gpu(), restarted=True), judged.ticks(70, gpu())),
        lambda judged: (judged.ticks(9, gpu()), judged.ticks(90, gpu(), host=None), judged.ticks(70, gpu())),
        lambda judged: (judged.ticks(40, gpu(1.0, processes=0)), judged.ticks(90, gpu(processes=0))),
    ],
)
def test_replaying_what_is_on_record_gives_the_same(story: Story) -> None:
    judged = of(1)
    story(judged)
    assert replayed(judged, judged.seen)[-1] == judged.standing
