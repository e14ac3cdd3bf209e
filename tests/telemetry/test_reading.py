"""What a tick tells of GPUs, by a real Prometheus whose samples the tests wrote themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.usage import HostUse, Subject
from lessor.telemetry import Metrics
from tests.telemetry.exporter import Exporter, Gpu, eight
from tests.telemetry.store import TICK, Store, gpus, hosts
from tests.telemetry.writing import STALE, lines


def test_a_gpu_is_told_by_the_most_that_it_did_in_the_tick(store: Store) -> None:
    machine = eight("node-1")
    store.keep(machine, until=-60.0)
    machine.gpus[3].busy(0.9)
    store.keep(machine, since=-60.0, until=-30.0)
    machine.gpus[3].idle()
    store.keep(machine, since=-30.0)

    seen = gpus(store.read())

    assert len(seen) == 8
    three, four = seen["node-1/3"], seen["node-1/4"]
    assert (three.engine, three.util, three.memory_used, three.memory_total) == (0.9, 90.0, 60_000.0, 81_004.0)
    assert (three.power, three.processes, three.slice) == (640.0, 1, False)
    assert (four.engine, four.util, four.sm, four.memory_used, four.power) == (0.0, 0.0, 0.0, 4.0, 62.0)
    assert four.processes is None


def test_a_sample_belongs_to_one_tick_only(store: Store) -> None:
    machine = eight("node-1")
    machine.gpus[0].busy()
    store.keep(machine, since=-315.0, until=-300.0)
    machine.gpus[0].idle()
    store.keep(machine)

    assert gpus(store.read())["node-1/0"].engine == 0.0
    assert gpus(store.read(at=store.end - timedelta(seconds=1)))["node-1/0"].engine == 0.9


def test_the_newest_sample_is_told_by_its_own_time(store: Store) -> None:
    machine = eight("node-1")
    store.keep(machine, until=-45.0)

    reading = store.read()

    assert {one.newest for one in reading.seen} == {store.end - timedelta(seconds=45)}
    assert not any(one.restarted for one in reading.seen)


def test_an_old_value_never_looks_new(store: Store) -> None:
    store.keep(eight("node-1"), since=-600.0, until=-315.0)

    # Prometheus itself would still show the value of 315 seconds ago had it been 15 seconds younger.
    assert store.read().seen == ()
    assert len(store.read(at=store.end - timedelta(seconds=30)).seen) == 8


def test_a_tick_with_a_gap_is_told_as_one(store: Store) -> None:
    machine = eight("node-1")
    store.keep(machine, since=-300.0, until=-285.0)
    store.keep(machine, since=-60.0)

    assert all(one.restarted for one in store.read().seen)


def test_a_gap_is_seen_where_the_first_gpu_is_not_among_those_that_are_read(store: Store) -> None:
    """It has fallen off its machine, or belongs to somebody else."""
    broken = Exporter("node-1", gpus=[Gpu(1), Gpu(2)])
    shared = Exporter("node-2", gpus=[Gpu(0), Gpu(3, namespace="gpu-7k3qxa2m", pod="train-0")])
    for exporter in (broken, shared):
        store.keep(exporter, since=-300.0, until=-285.0)
        store.keep(exporter, since=-60.0)
    store.keep(eight("node-3"))

    told = {one.origin.node: one.restarted for one in store.read().seen}
    alone = store.read(Subject("gpu-7k3qxa2m", 1, namespace="gpu-7k3qxa2m")).seen

    assert told == {"node-1": True, "node-2": True, "node-3": False}
    assert [one.restarted for one in alone] == [True]


def test_a_series_that_has_ended_is_told_as_a_gap_in_its_last_tick(store: Store) -> None:
    busy, steady = Gpu(index=0, namespace="gpu-7k3qxa2m", pod="train-0"), Gpu(index=1)
    busy.busy(0.9)
    node = Exporter("node-1", gpus=[busy, steady])
    store.keep(node, until=-30.0)
    ended = [
        line for line in lines(replace(node, gpus=[busy]), []) if line[0]["__name__"] != "process_start_time_seconds"
    ]
    store.put([(labels, [(store.end.timestamp() - 15.0, STALE)]) for labels, _ in ended])
    store.keep(replace(node, gpus=[steady]), since=-30.0)

    told = {one.gpu.device: one for one in store.read().seen if one.gpu}

    assert [(told[device].restarted, told[device].gpu.engine) for device in "01"] == [(True, 0.9), (False, 0.0)]
    assert store.end - TICK < told["0"].newest < store.end


def test_one_scrape_that_failed_is_no_gap(store: Store) -> None:
    machine = eight("node-1")
    store.keep(machine, until=-120.0)
    store.keep(machine, since=-90.0)

    seen = store.read().seen

    assert len(seen) == 8
    assert not any(one.restarted for one in seen)


def test_an_exporter_that_began_anew_is_told_by_its_start(store: Store) -> None:
    restarted, steady = eight("node-1"), eight("node-2")
    store.keep(restarted, until=-150.0)
    restarted.restart()
    store.keep(restarted, since=-150.0)
    store.keep(steady)

    told = {one.origin.node: one.restarted for one in store.read().seen}

    assert told == {"node-1": True, "node-2": False}


def test_slices_are_told_one_by_one_and_their_card_not_at_all(store: Store) -> None:
    """Case E04 and E05: the utilisation of a slice is 0 or absent whatever it does, so it says nothing."""
    busy = Gpu(uuid="GPU-a", slice_id="7", namespace="gpu-7k3qxa2m", pod="one", engine=0.8, util=0.0)
    idle = Gpu(uuid="GPU-a", slice_id="8", namespace="gpu-9w2mzk4p", pod="two", engine=0.0, util=None)
    store.keep(Exporter("node-1", gpus=[busy, idle, Gpu(uuid="GPU-a", engine=None, util=0.0)]))

    reading = store.read()
    seen = gpus(reading)

    assert sorted(seen) == ["node-1/0/7", "node-1/0/8"]
    assert all(one.slice and one.util is None for one in seen.values())
    assert [seen[f"node-1/0/{number}"].engine for number in "78"] == [0.8, 0.0]
    assert {one.origin.namespace for one in reading.seen} == {"gpu-7k3qxa2m", "gpu-9w2mzk4p"}


@pytest.mark.parametrize(
    ("word", "said", "known"),
    [
        ("engine", 1.2, 1.0),
        ("util", 250.0, 100.0),
        ("engine", -0.1, None),
        ("engine", float("nan"), None),
        ("util", float("inf"), None),
        ("util", 2_147_483_632.0, None),
        ("power", 9.223372036854775792e18, None),
        ("used", -1.0, None),
    ],
)
def test_what_cannot_be_is_capped_or_unknown_and_counted(
    store: Store, word: str, said: float, known: float | None
) -> None:
    gpu = Gpu(index=0)
    setattr(gpu, word, said)
    store.keep(Exporter("node-1", gpus=[gpu]))

    reading = store.read()

    told = "memory_used" if word == "used" else word
    assert getattr(gpus(reading)["node-1/0"], told) == known
    assert reading.capped == 1


def test_samples_from_the_future_are_counted_and_their_gpu_is_unknown(store: Store) -> None:
    """Case E27: a host whose clock is ten minutes fast tells of another time than it says."""
    fast, right = Exporter("node-1", gpus=[Gpu()]), Exporter("node-2", gpus=[Gpu()])
    store.keep(right)
    store.keep(fast, until=600.0)

    reading = store.read()

    assert sorted(gpus(reading)) == ["node-2/0"]
    assert 30 <= reading.dropped <= 40


def test_the_host_tells_of_people_kernels_and_processes(store: Store) -> None:
    gpu = Gpu(index=0, uuid="GPU-a")
    gpu.hold()
    gpu.processes = None
    host = {"lessor_host_cpu_percent": 3.5, "lessor_host_sessions": 2.0, "lessor_host_kernels": 0.0}
    store.keep(Exporter("node-1", gpus=[gpu]))
    store.keep(Exporter("node-1", host=host, labels={"instance": "node-1:9401", "job": "lessor-host"}))
    for target, count in (("node-1:9401", 1.0), ("10.0.0.5:9401", 0.0)):
        labels = {"__name__": "lessor_host_gpu_processes", "instance": target, "UUID": "GPU-a", "gpu": "0"}
        store.put([(labels, [(at, count) for at in store.moments()])])

    reading = store.read()

    assert hosts(reading) == [HostUse(cpu=3.5, sessions=2, kernels=0)]
    assert gpus(reading)["node-1/0"].processes == 1


def test_requests_are_told_by_a_gauge_or_by_the_rate_of_counters(store: Store) -> None:
    of = {"instance": "10.0.0.7:8000", "job": "vllm", "namespace": "gpu-7k3qxa2m", "pod": "serve-0"}
    for reason, rate in (("stop", 2.0), ("length", 0.5)):
        labels = {"__name__": "vllm:request_success_total", "finished_reason": reason, **of}
        store.put([(labels, [(at, rate * at) for at in store.moments()])])

    reading = store.source(Metrics(request_counters=("vllm:request_success_total",))).read(store.end, TICK)

    [seen] = reading.seen
    assert (seen.origin.namespace, seen.origin.pod) == ("gpu-7k3qxa2m", "serve-0")
    assert seen.host
    assert seen.host.requests == pytest.approx(2.5)


def test_a_store_without_samples_gives_an_empty_reading(store: Store) -> None:
    reading = store.read()

    assert (reading.source, reading.at, reading.seen) == ("fleet", store.end, ())


def test_an_exporter_that_began_anew_between_two_ticks_is_told_in_the_later_one(store: Store) -> None:
    """The last sample before a tick and its first one are in no range together."""
    exporter = eight("node-1")
    store.keep(exporter, since=-900.0, until=-600.0)
    exporter.restart()
    store.keep(exporter, since=-600.0)

    ticks = [store.read(at=store.end + step * TICK) for step in (-2, -1, 0)]

    assert [{one.restarted for one in tick.seen} for tick in ticks] == [{False}, {True}, {False}]
