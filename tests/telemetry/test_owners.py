"""Whose the series of a real Prometheus are, by the labels that they have or lack."""

from __future__ import annotations

import pytest

from lessor.domain.usage import Origin, Subject
from tests.telemetry.exporter import Exporter, Gpu, eight
from tests.telemetry.store import Store


@pytest.mark.parametrize("labels", [{"lessor_lease": "gpu-7k3qxa2m"}, {"instance_id": "i-0abc1234def567890"}])
def test_a_target_label_says_whose_all_gpus_of_a_machine_are(store: Store, labels: dict[str, str]) -> None:
    store.keep(eight("ip-10-0-0-5", labels=labels))

    lease, machine = labels.get("lessor_lease", ""), labels.get("instance_id", "")

    assert {one.origin for one in store.read().seen} == {Origin(lease, machine, "ip-10-0-0-5")}


def test_the_name_of_an_ec2_host_that_is_its_id_says_which_machine_it_is(store: Store) -> None:
    store.keep(eight("i-0abc1234def567890.ec2.internal"))

    assert {one.origin.machine for one in store.read().seen} == {"i-0abc1234def567890"}


def test_the_workload_is_told_before_the_exporter(store: Store) -> None:
    """Without honor_labels Prometheus keeps the target's own pod, and moves the workload's to exported_pod."""
    labels = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p"}
    gpu = Gpu(extra={"exported_namespace": "gpu-7k3qxa2m", "exported_pod": "train-0"})
    store.keep(Exporter("node-1", gpus=[gpu, Gpu(index=1)], labels=labels))

    told = {one.gpu.device: one.origin for one in store.read().seen if one.gpu}

    assert told["0"] == Origin(node="node-1", namespace="gpu-7k3qxa2m", pod="train-0")
    assert told["1"] == Origin(node="node-1")


def test_gpus_in_use_that_nobody_is_named_for_are_counted_by_node(store: Store) -> None:
    """Case E03: some nodes' exporters do not say which pod uses a GPU."""
    pod = {"namespace": "gpu-7k3qxa2m", "pod": "train-0"}
    named, nameless = Gpu(index=0, **pod), Gpu(index=1)
    held, free = Gpu(index=2), Gpu(index=3)
    named.busy()
    nameless.busy()
    held.hold()
    store.keep(Exporter("node-1", gpus=[named, nameless, held, free], labels={"pod": "dcgm-exporter-1"}))
    store.keep(Exporter("node-2", gpus=[Gpu(index=0, **pod)]))

    assert store.read().unlabelled == {"node-1": 2}


def test_a_gpu_that_two_targets_tell_of_is_one_gpu(store: Store) -> None:
    one, other = Exporter("node-1", gpus=[Gpu(engine=0.2)]), Exporter("node-1", gpus=[Gpu(engine=0.5)])
    other.labels = {"instance": "10.0.0.5:9400"}
    store.keep(one)
    store.keep(other, until=-195.0)

    reading = store.read()

    assert [seen.gpu.engine for seen in reading.seen if seen.gpu] == [0.5]
    assert [(seen.newest, seen.restarted) for seen in reading.seen] == [(store.end, False)]


@pytest.mark.parametrize(
    ("subject", "machines"),
    [
        (Subject("gpu-7k3qxa2m", 8), {"a"}),
        (Subject("gpu-none", 8, machines=("i-0bbbbbbbb",)), {"b"}),
        (Subject("gpu-none", 8, namespace="gpu-9w2mzk4p"), {"c"}),
        (Subject("gpu-none", 8, machines=("i-0dddddddd",)), {"i-0dddddddd.ec2.internal"}),
        (Subject("gpu-none", 8, machines=("i-0eeeeeeee",)), {"i-0eeeeeeee.ec2.internal:8000"}),
        (Subject("gpu-7k3qxa2.", 8, machines=("i-.*",), namespace=".*"), set()),
    ],
)
def test_only_what_is_asked_for_is_read(store: Store, subject: Subject, machines: set[str]) -> None:
    store.keep(Exporter("a", gpus=[Gpu()], labels={"lessor_lease": "gpu-7k3qxa2m"}))
    store.keep(Exporter("b", gpus=[Gpu()], labels={"instance_id": "i-0bbbbbbbb"}))
    store.keep(Exporter("c", gpus=[Gpu(namespace="gpu-9w2mzk4p", pod="train-0")]))
    store.keep(Exporter("i-0dddddddd.ec2.internal", gpus=[Gpu()]))
    served = {"__name__": "lessor_host_requests_per_second", "instance": "i-0eeeeeeee.ec2.internal:8000", "job": "vllm"}
    store.put([(served, [(at, 1.0) for at in store.moments()])])

    assert {one.origin.node for one in store.read(subject).seen} == machines
    assert len(store.read().seen) == 5


def test_a_restart_is_told_to_who_reads_one_lease_alone(store: Store) -> None:
    node = Exporter("node-1", gpus=[Gpu(index=3, namespace="gpu-7k3qxa2m", pod="train-0")])
    store.keep(node, until=-150.0)
    node.restart()
    store.keep(node, since=-150.0)

    assert [one.restarted for one in store.read(Subject("gpu-7k3qxa2m", 1, namespace="gpu-7k3qxa2m")).seen] == [True]
