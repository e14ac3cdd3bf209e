"""Cases of counting what a cluster has and who holds it: slices, finished pods, pods that never ran."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from lessor.domain.attribution import attribute
from lessor.domain.holding import CRASHING, NEVER_RAN
from lessor.domain.idle import Verdict
from lessor.domain.money import Money
from lessor.domain.slices import profile, whole_gpus
from lessor.domain.usage import Origin, Reading, Seen, Subject
from lessor.providers.kubernetes import capacity, pods
from lessor.providers.kubernetes.api import Obj
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import (
    A100,
    NOW,
    a_cluster,
    a_site,
    ago,
    gpu_node,
    node,
    pod,
    space,
    the_holder,
    the_pool,
)
from tests.unit.judged import START, Judged, at, gpu

GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"


# -- D04 --------------------------------------------------------------------------------------------------------------

MIXED = {"nvidia.com/gpu.product": A100, "nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.count": "8"}
MIXED |= {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-1g.10gb.count": "14"}


def test_D04_a_pod_with_two_slices_holds_two_slices_and_two_sevenths_of_a_gpu() -> None:
    api = a_cluster(node("node-a", {GPU: 6, SLICE: 14}, MIXED), space("team"), pod("notebook", 2, resource=SLICE))
    found = the_holder(capacity.census(a_site(api)), "pod team/notebook")
    assert (found.model, found.units, found.share) == ("A100-80GB-1g.10gb", 2, Fraction(1, 7))
    assert whole_gpus(found.units, found.share) == Fraction(2, 7)


def test_D04_the_label_with_the_physical_number_is_not_added_to_the_slices() -> None:
    census = capacity.census(a_site(a_cluster(node("node-a", {GPU: 6, SLICE: 14}, MIXED))))
    assert [(one.model, one.unit, one.total, one.free) for one in census.pools] == [
        ("A100-80GB", "GPU", 6, 6),
        ("A100-80GB-1g.10gb", "slice", 14, 14),
    ]
    assert sum(whole_gpus(one.total or 0, one.share) for one in census.pools) == 8


def test_D04_a_node_of_slices_only_has_no_whole_gpus_although_its_label_says_eight() -> None:
    census = capacity.census(a_site(a_cluster(node("node-a", {GPU: 0, SLICE: 56}, MIXED))))
    assert [(one.model, one.total) for one in census.pools] == [("A100-80GB-1g.10gb", 56)]


def test_D04_slices_of_one_size_under_the_name_of_whole_gpus_are_slices() -> None:
    labels = {"nvidia.com/gpu.product": f"{A100}-MIG-1g.10gb", "nvidia.com/gpu.memory": "9856"}
    labels |= {"nvidia.com/gpu.count": "56", "nvidia.com/mig.strategy": "single"}
    api = a_cluster(node("node-a", {GPU: 56}, labels), space("team"), pod("notebook", 2))
    census = capacity.census(a_site(api))
    pool = the_pool(census, "A100-80GB-1g.10gb")
    assert (pool.total, pool.held, pool.free, pool.share) == (56, 2, 54, Fraction(1, 7))
    assert the_holder(census, "pod team/notebook").share == Fraction(1, 7)


def test_D04_slices_that_the_node_itself_cannot_name_are_counted_and_of_no_model() -> None:
    labels = {"nvidia.com/gpu.product": f"{A100}-MIG-INVALID", "nvidia.com/mig.strategy": "single"}
    census = capacity.census(a_site(a_cluster(node("node-a", {GPU: 4}, labels))))
    assert [(one.model, one.total, one.free) for one in census.pools] == [("", 4, None)]
    assert "node-a does not say what model" in census.notes[0]


@pytest.mark.parametrize(
    ("text", "of", "share"),
    [
        ("1g.5gb", 7, Fraction(1, 7)),
        ("3g.40gb", 7, Fraction(3, 7)),
        ("7g.80gb", 7, Fraction(1)),
        ("1g.10gb.me", 7, Fraction(1, 7)),
        ("1g.10gb+me", 7, Fraction(1, 7)),
        ("1c.3g.40gb", 7, Fraction(1, 7)),
        ("2c.3g.40gb", 7, Fraction(2, 7)),
        ("2g.12gb", 4, Fraction(1, 2)),
        ("4g.24gb", 4, Fraction(1)),
    ],
)
def test_D04_every_profile_is_an_exact_part_of_its_gpu(text: str, of: int, share: Fraction) -> None:
    found = profile(text)
    assert found is not None
    assert found.share(of) == share


@pytest.mark.parametrize("text", ["", "INVALID", "gpu", "1g", "0g.10gb", "10gb", "1g.10gb.2"])
def test_D04_what_is_no_profile_is_none(text: str) -> None:
    assert profile(text) is None


def test_D04_a_card_with_four_slices_is_cut_into_quarters() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A30", "nvidia.com/gpu.memory": "24576"}
    census = capacity.census(a_site(a_cluster(node("node-a", {"nvidia.com/mig-1g.6gb": 8}, labels))))
    assert [(one.model, one.share) for one in census.pools] == [("A30-1g.6gb", Fraction(1, 4))]


PRODUCT, TURNS = "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"
AMD_PRODUCT = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}
SEVENTH = "A100-80GB-1g.10gb-shared-2"


@pytest.mark.parametrize(
    ("resource", "labels", "model", "share"),
    [
        (GPU, {PRODUCT: "Tesla-T4-SHARED", TURNS: "4"}, "T4-shared-4", "1/4"),
        ("nvidia.com/gpu.shared", {PRODUCT: "Tesla-T4", TURNS: "4"}, "T4-shared-4", "1/4"),
        (GPU, {PRODUCT: f"{A100}-MIG-1g.10gb-SHARED", TURNS: "2"}, SEVENTH, "1/14"),
        (f"{SLICE}.shared", {PRODUCT: A100, "nvidia.com/mig-1g.10gb.replicas": "2"}, SEVENTH, "1/14"),
        (GPU, {PRODUCT: "Tesla-T4", TURNS: "1"}, "T4", "1"),
        ("amd.com/gpu", AMD_PRODUCT, "MI300X", "1"),
        ("amd.com/gpu", {"amd.com/gpu.device-id": "74a1"}, "MI300X", "1"),
        ("amd.com/cpx_nps1", {"amd.com/gpu.device-id": "74a1"}, "MI300X-cpx", "1/8"),
    ],
)
def test_D04_turns_and_partitions_are_parts_too(resource: str, labels: dict[str, str], model: str, share: str) -> None:
    census = capacity.census(a_site(a_cluster(node("node-a", {resource: 8}, labels))))
    assert [(one.model, one.share, one.total, one.free) for one in census.pools] == [(model, Fraction(share), 8, 8)]


# -- D16 --------------------------------------------------------------------------------------------------------------


def ended(name: str, phase: str, hours_ago: float, **status: Any) -> Obj:
    """A pod with 4 GPUs that began 5 hours ago and ended."""
    terminated = {"startedAt": ago(hours=5), "finishedAt": ago(hours=hours_ago), "exitCode": 0}
    states = {"containerStatuses": [{"name": "main", "state": {"terminated": terminated}}]}
    return pod(name, 4, phase=phase, since=ago(hours=5), status={**states, **status})


FINISHED = [
    ended("done", "Succeeded", 2),
    ended("crashed", "Failed", 2),
    ended(
        "evicted",
        "Failed",
        0,
        reason="Evicted",
        containerStatuses=[],
        conditions=[
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(hours=5)},
            {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": ago(hours=2)},
        ],
    ),
]


@pytest.mark.parametrize("finished", FINISHED, ids=lambda one: str(one["metadata"]["name"]))
def test_D16_a_finished_pod_holds_nothing_and_is_nobody_who_could_be_idle(finished: Obj) -> None:
    census = capacity.census(a_site(a_cluster(gpu_node("node-a"), space("team"), finished)))
    pool = the_pool(census, "A100-80GB")
    assert (pool.held, pool.free, pool.largest) == (0, 8, 8)
    assert census.holders == ()


@pytest.mark.parametrize("finished", FINISHED, ids=lambda one: str(one["metadata"]["name"]))
def test_D16_it_costs_nothing_from_its_end_on(finished: Obj) -> None:
    use = pods.pod_use(a_site(FakeApi()), finished)
    assert use.hours(GPU, NOW - timedelta(hours=24), NOW) == 12
    assert use.hours(GPU, NOW - timedelta(hours=2), NOW) == 0
    assert use.hours(GPU, NOW - timedelta(hours=4), NOW - timedelta(hours=3)) == 4


def test_D16_when_it_ended_is_unknown_where_nothing_says_so_and_then_its_hours_are() -> None:
    vanished = pod("vanished", 4, phase="Failed", status={"conditions": []})
    assert pods.pod_use(a_site(FakeApi()), vanished).hours(GPU, NOW - timedelta(hours=24), NOW) is None


def test_D16_a_lease_whose_pods_have_finished_is_unknown_to_the_meter_and_not_idle() -> None:
    lease_id = "gpu-7k3qxa2m"
    held = Subject(lease_id, 1, namespace=lease_id, ready_at=START)
    judged = Judged(subject=held)
    for minute in range(1, 300):
        origin = Origin(node="node-a", namespace=lease_id, pod="train-0")
        working = (Seen(origin, at(minute), gpu(0.9)),) if minute < 60 else ()
        standing = judged.judge(attribute((held,), [Reading("prometheus", at(minute), working)], at(minute))[0])
        assert standing.verdict not in (Verdict.IDLE, Verdict.HELD)
    assert standing.verdict is Verdict.UNKNOWN


# -- D17 --------------------------------------------------------------------------------------------------------------


def waiting(name: str, reason: str, **more: Any) -> Obj:
    state = {"name": "main", "state": {"waiting": {"reason": reason}}, **more}
    return pod(name, 1, phase="Pending", since=ago(hours=3), status={"containerStatuses": [state]})


def test_D17_three_hours_of_image_pull_error_with_one_gpu_cost_three_gpu_hours() -> None:
    stuck = waiting("stuck", "ImagePullBackOff")
    api = a_cluster(gpu_node("node-a"), space("team", **{"lessor.dev/owner": "ana@example.test"}), stuck)
    api.nodes.waiting = "ImagePullBackOff"
    census = capacity.census(a_site(api))
    found = the_holder(census, "pod team/stuck")
    assert found.since == NOW - timedelta(hours=3)
    assert found.flag == f"{NEVER_RAN} (ImagePullBackOff)" == "held, never ran (ImagePullBackOff)"
    assert found.cost == Money(Decimal("7.50"))
    assert found.who == "ana@example.test"
    pool = the_pool(census, "A100-80GB")
    assert (pool.held, pool.free) == (1, 7)
    assert pods.pod_use(a_site(api), stuck).hours(GPU, NOW - timedelta(hours=24), NOW) == 3


def test_D17_a_crash_loop_holds_its_gpu_all_the_while() -> None:
    looping = pod("looping", 1, since=ago(hours=3))
    backing_off = {"waiting": {"reason": "CrashLoopBackOff"}}
    last = {"terminated": {"startedAt": ago(minutes=9), "finishedAt": ago(minutes=8), "exitCode": 1}}
    looping["status"]["containerStatuses"] = [{"name": "main", "state": backing_off, "lastState": last}]
    found = the_holder(
        capacity.census(a_site(a_cluster(gpu_node("node-a"), space("team"), looping))), "pod team/looping"
    )
    assert (found.units, found.flag) == (1, f"{CRASHING} (CrashLoopBackOff)")
    assert found.cost == Money(Decimal("7.50"))


def test_D17_without_a_node_nothing_is_held_or_charged_but_it_is_seen_waiting() -> None:
    unscheduled = pod("waits", 8, "", phase="Pending")
    api = a_cluster(gpu_node("node-a"), space("team"), unscheduled)
    census = capacity.census(a_site(api))
    pool = the_pool(census, "A100-80GB")
    assert (pool.held, pool.free, pool.queued) == (0, 8, 1)
    assert census.holders == ()
    assert pods.pod_use(a_site(api), unscheduled).hours(GPU, NOW - timedelta(hours=24), NOW) == 0


def test_D17_one_that_has_just_got_its_node_is_not_blamed_yet() -> None:
    young = pod("young", 1, phase="Pending", since=ago(minutes=10))
    api = a_cluster(gpu_node("node-a"), space("team"), young)
    api.nodes.waiting = "ContainerCreating"
    assert the_holder(capacity.census(a_site(api)), "pod team/young").flag == ""


def test_D17_a_deleted_pod_holds_its_gpu_until_it_is_gone() -> None:
    leaving = pod("leaving", 8, metadata={"deletionTimestamp": ago(minutes=30), "finalizers": ["example.test/wait"]})
    census = capacity.census(a_site(a_cluster(gpu_node("node-a"), space("team"), leaving)))
    assert (the_pool(census, "A100-80GB").held, the_pool(census, "A100-80GB").free) == (8, 0)
    assert the_holder(census, "pod team/leaving").flag == "held, still there after its deletion"


def test_D17_init_containers_sidecars_and_overhead_count_as_the_scheduler_counts_them() -> None:
    def box(units: int, **more: Any) -> Obj:
        return {"name": "box", "resources": {"requests": {GPU: str(units)}, "limits": {GPU: str(units)}}, **more}

    spec = {
        "containers": [box(2), box(1)],
        "initContainers": [box(1, restartPolicy="Always"), box(4), box(1, restartPolicy="Always")],
        "overhead": {GPU: "1"},
    }
    # The second init container runs beside the first sidecar: 1 + 4. Then both sidecars beside the containers: 2 + 3.
    assert pods.asks(a_site(FakeApi()), spec) == {GPU: 6}
    assert pods.asks(a_site(FakeApi()), {**spec, "containers": [box(2), box(2)]}) == {GPU: 7}
    assert pods.asks(a_site(FakeApi()), {"containers": [{"name": "box"}]}) == {}
