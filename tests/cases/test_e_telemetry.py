"""Cases of telemetry as a real Prometheus tells it: what its answers become, up to the verdict on the lease."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.domain.attribution import attribute
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.judging import advance, certain
from lessor.domain.usage import Reading, Subject
from lessor.ports import TelemetryError
from lessor.telemetry import PrometheusSource
from tests.telemetry.answering import Answers, answering
from tests.telemetry.exporter import Exporter, Gpu, eight
from tests.telemetry.fixtures import installed, prometheus_server, store
from tests.telemetry.server import prometheus
from tests.telemetry.store import TICK, Store

__all__ = ["installed", "prometheus_server", "store"]

LEASE = "gpu-7k3qxa2m"
MACHINE = "i-0abc1234def567890"
HOURS = 2.5
TERMS = IdleTerms(window=timedelta(hours=1))
QUIET = {"lessor_host_cpu_percent": 1.0, "lessor_host_sessions": 0.0}


class Watched:
    """A lease that is read and judged tick by tick over the last hours."""

    def __init__(self, store: Store, gpus: int, namespace: str = "") -> None:
        self.store = store
        self.start = store.end - timedelta(hours=HOURS)
        machines = () if namespace else (MACHINE,)
        self.subject = Subject(LEASE, gpus, machines, namespace, ready_at=self.start)

    def exporter(self, *gpus: Gpu, **changes: object) -> Exporter:
        labels = {"instance_id": MACHINE} if self.subject.machines else {}
        made = Exporter("node-1", gpus=list(gpus), host=dict(QUIET), labels=labels)
        return replace(made, **changes)  # type: ignore[arg-type]

    def keep(self, exporter: Exporter, since: float = -HOURS * 60, until: float = 0.0) -> None:
        """What the exporter says, between these minutes from the end."""
        self.store.keep(exporter, since * 60, until * 60)

    def judged(self) -> Standing:
        """Where the lease stands at the end."""
        standing, at = None, self.start
        source = self.store.source()
        while at < self.store.end:
            at += TICK
            standing = self.after(standing, source.read(at, TICK), at)
        assert standing
        return standing

    def after(self, standing: Standing | None, reading: Reading, at: datetime) -> Standing:
        (observation,) = attribute((self.subject,), [reading], at)
        return advance(standing, observation, TERMS, self.subject, TICK)


def test_E01_a_store_that_lost_its_data_answers_and_is_unknown(store: Store, installed: str) -> None:
    watched = Watched(store, 1)
    watched.keep(watched.exporter(Gpu()))
    idle = watched.judged()
    lost, at = [idle], store.end
    with prometheus() as empty:
        for _ in range(3):
            at += TICK
            lost.append(watched.after(lost[-1], PrometheusSource("fleet", empty.url).read(at, TICK), at))

    assert idle.verdict is Verdict.IDLE
    assert [certain(standing) for standing in lost] == [True, False, False, False]
    assert lost[-1].verdict is Verdict.UNKNOWN


def test_E01_an_exporter_that_is_gone_is_unknown_and_the_clock_starts_anew(store: Store) -> None:
    watched = Watched(store, 1)
    watched.keep(watched.exporter(Gpu()), until=-70)
    watched.keep(watched.exporter(Gpu()), since=-55)

    assert watched.judged().verdict is Verdict.UNKNOWN

    again = Watched(store, 1)
    again.store.end -= timedelta(minutes=70)
    again.start -= timedelta(minutes=70)
    assert again.judged().verdict is not Verdict.UNKNOWN


def test_E02_a_source_that_errs_is_slow_or_malformed_gives_no_reading_at_all(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TelemetryError, match="'fleet' gave no whole answer"):
            PrometheusSource("fleet", slow, timeout=timedelta(milliseconds=100)).read(store.end, TICK)
    for answers in (Answers(500, ""), Answers(body="0"), Answers(body='{"status":"error"}')):
        with answering(answers) as url, pytest.raises(TelemetryError, match="'fleet'"):
            PrometheusSource("fleet", url).read(store.end, TICK)


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf")])
def test_E02_a_value_outside_its_range_stops_nothing(store: Store, value: float) -> None:
    watched = Watched(store, 1)
    watched.keep(watched.exporter(Gpu(engine=value, util=None)))

    assert watched.judged().verdict is Verdict.UNKNOWN


def test_E03_a_pod_whose_gpus_have_no_labels_is_unknown(store: Store) -> None:
    watched = Watched(store, 2, namespace=LEASE)
    named, nameless = Gpu(index=0, namespace=LEASE, pod="train-0"), Gpu(index=1)
    nameless.busy()
    target = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p"}
    watched.keep(watched.exporter(named, nameless, labels=target))

    assert watched.judged().verdict is Verdict.UNKNOWN
    assert store.read().unlabelled == {"node-1": 1}


def test_E04_a_busy_slice_is_busy_whatever_its_classic_field_says(store: Store) -> None:
    watched = Watched(store, 1)
    slices = [
        Gpu(uuid="GPU-a", slice_id=number, engine=engine, util=0.0) for number, engine in (("7", 0.7), ("8", 0.6))
    ]
    watched.keep(watched.exporter(*slices, Gpu(uuid="GPU-a", engine=None, util=0.0)))

    standing = watched.judged()

    assert (standing.verdict, standing.idle_gpus, standing.gpus) == (Verdict.BUSY, 0, 2)


def test_E05_a_ratio_above_one_is_work_and_slices_are_judged_by_themselves(store: Store) -> None:
    watched = Watched(store, 1)
    slices = [
        Gpu(uuid="GPU-a", slice_id=number, engine=engine, util=0.0) for number, engine in (("7", 1.4), ("8", 0.0))
    ]
    watched.keep(watched.exporter(*slices))

    standing = watched.judged()

    assert (standing.verdict, standing.idle_gpus, standing.gpus) == (Verdict.BUSY, 1, 2)
    assert store.read().capped == 1


def test_E07_a_full_card_without_a_living_process_is_a_faulty_card(store: Store) -> None:
    watched = Watched(store, 1)
    stuck = Gpu(engine=0.99, util=100.0, used=70_000.0, free=11_000.0, processes=0)
    watched.keep(watched.exporter(stuck))

    assert watched.judged().faulty == (f"0 of {MACHINE}",)


def test_E08_a_loaded_model_that_waits_holds_its_memory(store: Store) -> None:
    watched = Watched(store, 1)
    model = Gpu()
    model.hold()
    watched.keep(watched.exporter(model))

    assert watched.judged().verdict is Verdict.HELD


def test_E14_somebody_who_types_is_activity_and_an_open_terminal_is_none(store: Store) -> None:
    watched = Watched(store, 1)
    watched.keep(watched.exporter(Gpu(), host={**QUIET, "lessor_host_sessions": 1.0}), until=-15)
    watched.keep(watched.exporter(Gpu()), since=-15)

    standing = watched.judged()

    assert (standing.verdict, standing.active_kind) == (Verdict.BUSY, "session")


def test_E19_one_gpu_of_eight_at_work_is_not_hidden_by_the_mean(store: Store) -> None:
    watched = Watched(store, 8)
    machine = eight("node-1", labels={"instance_id": MACHINE}, host=dict(QUIET))
    machine.gpus[5].busy(1.0)
    watched.keep(machine)

    standing = watched.judged()

    assert (standing.verdict, standing.idle_gpus, standing.gpus) == (Verdict.BUSY, 7, 8)


@pytest.mark.parametrize("gpus", [1, 8])
def test_E20_an_allocation_without_any_series_is_there_and_unknown(store: Store, gpus: int) -> None:
    assert Watched(store, gpus).judged().verdict is Verdict.UNKNOWN


def test_E27_a_machine_whose_clock_is_ten_minutes_fast_is_unknown(store: Store) -> None:
    watched = Watched(store, 1)
    watched.keep(watched.exporter(Gpu()), until=10)

    assert store.read().dropped > 0
    assert watched.judged().verdict is Verdict.UNKNOWN
