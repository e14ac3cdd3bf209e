"""Whose the series are: what was seen is joined to what was allocated, and nobody is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.attribution import attribute, crowded, subject, unlabelled
from lessor.domain.idle import Verdict
from lessor.domain.lease import Span
from lessor.domain.resource import Condition, Kind, Resource
from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen, Subject
from tests.builders import HOURLY, LEASE_ID, READY, a_lease, a_volume, an_instance
from tests.unit.judged import START, Judged, at, gpu

NOW = at(1)
ONE = Subject("gpu-00000001", 2, ("i-0aaa",))
TWO = Subject("gpu-00000002", 1, ("i-0bbb",))
POD = Subject("gpu-00000003", 1, namespace="gpu-00000003")


def saw(origin: Origin, device: str = "0", source: str = "prometheus", newest: float = 1, **use: object) -> Seen:
    return Seen(origin, at(newest), GpuUse(device, **({"engine": 0.5} | use)))  # type: ignore[arg-type]


def reading(*seen: Seen, source: str = "prometheus", **changes: object) -> Reading:
    return Reading(source, NOW, seen, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("origin", "lease"),
    [
        (Origin(machine="i-0aaa"), ONE.lease_id),
        (Origin(node="i-0bbb"), TWO.lease_id),
        (Origin(lease="gpu-00000002", machine="i-0aaa"), TWO.lease_id),
        (Origin(namespace="gpu-00000003", machine="i-0aaa"), POD.lease_id),
        (Origin(lease="gpu-99999999", machine="i-0aaa"), ONE.lease_id),
        (Origin(machine="i-0ccc"), ""),
        (Origin(node="node-7"), ""),
        (Origin(), ""),
    ],
)
def test_a_series_belongs_to_its_label_then_its_namespace_then_its_machine(origin: Origin, lease: str) -> None:
    found = attribute((ONE, TWO, POD), [reading(saw(origin))], NOW)
    assert [one.lease_id for one in found] == [ONE.lease_id, TWO.lease_id, POD.lease_id]
    assert [one.lease_id for one in found if one.gpus] == ([lease] if lease else [])


def test_a_namespace_of_another_name_is_found_too() -> None:
    named = Subject("gpu-00000004", 1, namespace="team-a")
    found = attribute((named,), [reading(saw(Origin(namespace="team-a")))], NOW)
    assert found[0].gpus[0].engine == 0.5


def test_a_lease_without_any_series_is_there_and_says_which_source_gave_no_answer() -> None:
    (found,) = attribute((ONE,), [reading()], NOW, silent=("cloudwatch",))
    assert (found.gpus, found.hosts, found.newest) == ((), (), None)
    assert found.problems == ("cloudwatch gave no answer",)
    assert (found.asked, found.silent) == (("cloudwatch", "prometheus"), ("cloudwatch",))


def test_two_sources_of_one_gpu_are_one_gpu_with_the_most_of_both() -> None:
    first = reading(saw(Origin(machine="i-0aaa"), util=10.0, memory_used=500.0))
    second = reading(saw(Origin(node="ip-10-0-0-1", lease=ONE.lease_id), engine=0.2, util=40.0, power=90.0), source="c")
    (found,) = attribute((ONE,), [first, second], NOW)
    assert found.gpus == (GpuUse("0", "i-0aaa", engine=0.5, util=40.0, memory_used=500.0, power=90.0),)


def test_the_gpus_of_two_machines_are_told_apart() -> None:
    cluster = Subject("gpu-00000005", 2, ("i-0aaa", "i-0bbb"))
    seen = [saw(Origin(machine=machine), engine=share) for machine, share in (("i-0bbb", 0.1), ("i-0aaa", 0.9))]
    (found,) = attribute((cluster,), [reading(*seen)], NOW)
    assert [(one.machine, one.engine) for one in found.gpus] == [("i-0aaa", 0.9), ("i-0bbb", 0.1)]


def test_the_newest_sample_of_a_lease_is_that_of_the_gpu_whose_samples_are_oldest() -> None:
    seen = [saw(Origin(machine="i-0aaa"), "0", newest=1), saw(Origin(machine="i-0aaa"), "1", newest=0.2)]
    host = Seen(Origin(machine="i-0aaa"), at(0.1), host=HostUse(cpu=1.0))
    (found,) = attribute((ONE,), [reading(*seen, host)], NOW)
    assert found.newest == at(0.2)
    (only_host,) = attribute((ONE,), [reading(host)], NOW)
    assert only_host.newest == at(0.1)


def test_signals_of_machines_are_named_by_source_machine_and_kind() -> None:
    host = Seen(Origin(machine="i-0aaa"), NOW, host=HostUse(cpu=1.0, sessions=0, kernels=0, requests=0.0))
    (found,) = attribute((ONE,), [reading(host)], NOW)
    assert found.sources == ("prometheus i-0aaa cpu", "prometheus i-0aaa sessions")
    assert found.hosts == (HostUse(cpu=1.0, sessions=0, kernels=0, requests=0.0, machine="i-0aaa"),)


def test_an_exporter_that_restarted_is_told_of_its_leases_only() -> None:
    seen = replace(saw(Origin(machine="i-0aaa")), restarted=True)
    one, two = attribute((ONE, TWO), [reading(seen, saw(Origin(machine="i-0bbb")))], NOW)
    assert (one.restarted, one.problems) == (True, ("the exporter on i-0aaa restarted or left a gap",))
    assert (two.restarted, two.problems) == (False, ())


def test_the_share_without_labels_is_told_by_node_above_a_tenth() -> None:
    labelled = [saw(Origin(namespace=f"ns-{number}", node="node-1"), str(number)) for number in range(9)]
    assert crowded(reading(*labelled, unlabelled={"node-1": 1})) == {}
    assert unlabelled(reading(*labelled, unlabelled={"node-1": 1, "node-2": 0})) == {"node-1": (1, 10)}
    assert crowded(reading(*labelled[:8], unlabelled={"node-1": 1})) == {
        "node-1": "1 of 9 GPUs in use on node-1 have no label that says whose they are"
    }
    assert crowded(reading(*labelled, unlabelled={"node-1": 0})) == {}
    assert list(crowded(reading(unlabelled={"node-2": 1}))) == ["node-2"]


def test_labels_that_are_missing_concern_only_who_is_found_by_them() -> None:
    seen = [saw(Origin(namespace=POD.lease_id, node="node-1")), saw(Origin(machine="i-0aaa", node="node-1"))]
    one, pod = attribute((ONE, POD), [reading(*seen, unlabelled={"node-1": 2})], NOW)
    assert one.problems == ()
    assert pod.problems == ("2 of 4 GPUs in use on node-1 have no label that says whose they are",)


def test_a_lease_is_metered_by_its_machines_from_when_it_became_usable() -> None:
    lease = a_lease()
    assert subject(lease) == Subject(LEASE_ID, 8, ("i-0aaa",), "", "aws", "research", READY)
    gone = an_instance("i-0old", Condition.GONE)
    spaces = (a_volume(), gone, Resource(Kind.NAMESPACE, "gpu-7k3qxa2m"))
    assert subject(replace(lease, resources=spaces)).machines == ()
    assert subject(replace(lease, resources=spaces)).namespace == "gpu-7k3qxa2m"


def test_a_namespace_is_known_to_its_metrics_by_name_and_not_by_its_uid() -> None:
    space = Resource(Kind.NAMESPACE, "gpu-7k3qxa2m@0b6c2f1e-5a0c-4c0d-8a49-0f3d3f6f7a10")
    assert subject(replace(a_lease(), resources=(space,))).namespace == "gpu-7k3qxa2m"


def test_a_lease_that_was_stopped_is_metered_from_its_new_start_and_a_new_price_is_none() -> None:
    first, second = READY + timedelta(hours=1), READY + timedelta(hours=3)
    repriced = (Span(READY, first, HOURLY), Span(first, None, HOURLY))
    assert subject(replace(a_lease(), spans=repriced)).ready_at == READY
    stopped = (Span(READY, first, HOURLY), Span(second, second, HOURLY), Span(second, None, HOURLY))
    assert subject(replace(a_lease(), spans=stopped)).ready_at == second


def test_what_is_seen_of_nobody_spoils_nothing() -> None:
    (found,) = attribute((ONE,), [reading(saw(Origin(machine="i-0ddd")), saw(Origin(machine="i-0aaa")))], START)
    assert len(found.gpus) == 1


def test_a_machine_that_two_sources_name_differently_makes_up_for_no_other() -> None:
    """Of two machines one is read by its id and by its host name, and the other not at all."""
    both = Subject("gpu-7k3qxa2m", 2, ("i-0aaa", "i-0bbb"), ready_at=START)
    judged = Judged(subject=both)
    named = GpuUse("0", "ip-10-0-0-5", engine=0.0)
    judged.ticks(90, gpu(), named)
    assert judged.standing
    assert judged.standing.verdict is Verdict.UNKNOWN
    other = replace(named, machine="ip-10-0-0-6")
    judged = Judged(subject=both)
    assert judged.ticks(90, named, other).verdict is Verdict.IDLE
