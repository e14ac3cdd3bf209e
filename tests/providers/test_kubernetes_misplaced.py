"""Pods of a lease on GPUs of another model, which no quota keeps them off: found, told to the owner, and counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.domain.faults import judged, untold
from lessor.domain.lease import State
from lessor.domain.resource import Condition, Kind, Tagged
from lessor.ports import PermanentError
from lessor.providers.kubernetes import capacity, inventory
from lessor.providers.kubernetes.api import NODE
from tests.builders import a_lease
from tests.providers.kube_fake import FakeApi, Fault, Refusing
from tests.providers.kube_nodes import (
    A100,
    H100,
    NOW,
    a_cluster,
    a_site,
    gpu_node,
    lease,
    node,
    pod,
    the_holder,
    the_pool,
)

LEASE = "gpu-00000002"
AWAY = (
    "pod train holds 2 x H100 of node-h, and the lease is for A100-80GB: "
    f"give it the nodeSelector nvidia.com/gpu.product: {A100}"
)


@pytest.fixture
def api() -> FakeApi:
    """Four A100 are leased where eight A100 and eight H100 have one resource name."""
    made = a_cluster(gpu_node("node-a"), gpu_node("node-h", product=H100))
    lease(made, LEASE, 4)
    return made


def seen(api: FakeApi) -> Tagged:
    (found,) = [one for one in inventory.conditions(a_site(api)) if one.kind is Kind.NAMESPACE]
    return found


def test_a_pod_on_another_model_is_told_with_what_puts_it_right(api: FakeApi) -> None:
    api.add(pod("train", 2, "node-h", namespace=LEASE))
    api.add(pod("right", 1, "node-a", namespace=LEASE))
    assert (seen(api).fault, seen(api).unchecked) == (AWAY, False)
    (looked,) = [one for one in inventory.look(a_site(api), LEASE).resources if one.kind is Kind.NAMESPACE]
    assert looked.fault == AWAY
    running = replace(a_lease(State.ACTIVE), resources=(replace(looked, fault=""),))
    (event,) = judged(running, [looked], NOW).events
    assert (event.type, event.data["problem"]) == ("machine-unfit", f"{LEASE}: {AWAY}")


def test_pods_where_they_belong_and_other_peoples_are_left_alone(api: FakeApi) -> None:
    api.add(pod("right", 4, "node-a", namespace=LEASE))
    api.add(pod("waits", 1, "", namespace=LEASE, phase="Pending"))
    api.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    api.add(pod("theirs", 2, "node-h"))
    assert (seen(api).fault, seen(api).unchecked) == ("", False)


def test_of_many_some_are_named(api: FakeApi) -> None:
    for number in range(5):
        api.add(pod(f"train-{number}", 1, "node-h", namespace=LEASE))
    told = seen(api).fault
    assert told.startswith("pod train-0 holds 1 x H100 of node-h; pod train-1 ")
    assert "pod train-2 holds 1 x H100 of node-h and 2 more, and the lease is for A100-80GB" in told


def test_a_node_that_does_not_say_what_it_has_is_not_blamed(api: FakeApi) -> None:
    api.add(node("node-x", {"nvidia.com/gpu": 8}))
    api.add(pod("train", 2, "node-x", namespace=LEASE))
    assert seen(api).fault == ""


def test_where_nodes_cannot_be_read_nothing_is_told_and_nothing_called_well(api: FakeApi) -> None:
    api.add(pod("train", 2, "node-h", namespace=LEASE))
    before = seen(api)
    known = replace(before, lease="", changed_at=None, fault="")
    running = replace(a_lease(State.ACTIVE), id=LEASE, resources=(known,))
    told = judged(running, [before], NOW).lease
    api.faults.append(Fault("list", NODE, PermanentError("forbidden", "forbidden"), times=None))
    now = seen(api)
    assert (now.fault, now.unchecked) == ("", True)
    assert judged(told, [now], NOW).events == ()
    assert untold([told], [now], NOW) == ()
    assert untold([told], [replace(now, unchecked=False)], NOW) != ()


def test_where_its_pods_may_not_be_read_nothing_is_called_well(api: FakeApi) -> None:
    api.add(pod("train", 2, "node-h", namespace=LEASE))
    lease(api, "gpu-00000003", 1)
    before = next(one for one in inventory.conditions(a_site(api)) if one.lease == LEASE)
    known = replace(before, lease="", changed_at=None, fault="")
    told = judged(replace(a_lease(State.ACTIVE), id=LEASE, resources=(known,)), [before], NOW).lease
    site = replace(a_site(api), api=Refusing(api, {"", LEASE}))  # type: ignore[arg-type]
    now = next(one for one in inventory.conditions(site) if one.lease == LEASE)
    assert now.condition is Condition.UNKNOWN
    assert untold([told], [now], NOW) == ()
    assert judged(told, [now], NOW).events == ()


def test_the_census_counts_it_where_it_is_and_flags_it(api: FakeApi) -> None:
    api.add(pod("train", 2, "node-h", namespace=LEASE))
    census = capacity.census(a_site(api))
    assert the_holder(census, f"pod {LEASE}/train").flag == "holds H100, its lease is for A100-80GB"
    assert (the_pool(census, "H100").held, the_pool(census, "H100").free) == (2, 6)
    assert (the_pool(census, "A100-80GB").promised, the_pool(census, "A100-80GB").free) == (4, 4)
