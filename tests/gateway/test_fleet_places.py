"""The fleet over what clusters and machines really say: rights on record, quotas and pods come to the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from lessor.domain.fleet import Line, PlaceFleet
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pools import Census
from lessor.domain.request import LeaseKind, Place
from lessor.fleet import Surveying
from lessor.ledger import SqlLedger
from lessor.providers.kubernetes import capacity
from lessor.providers.kubernetes.api import RESOURCE_QUOTA
from tests.builders import ASKED, a_lease, a_quote, a_request, an_offer
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import NOW, a_cluster, a_site, gpu_node, lease, pod, space

LAB = Place("kubernetes", "lab")
MINE = "gpu-aaaaaaaa"


@dataclass
class Cluster:
    api: FakeApi

    def census(self, place: Place) -> Census:
        return capacity.census(a_site(self.api))


@pytest.fixture
def api() -> FakeApi:
    """16 GPUs: a lease of 4, of which one pod has 3; 2 without a lease; a node of 8 is cordoned."""
    api = a_cluster(gpu_node("node-a"), gpu_node("node-b", cordoned=True), space("team"))
    lease(api, MINE, 4)
    api.add(pod("train-0", 3, namespace=MINE))
    api.add(pod("stray", 2, namespace="team"))
    return api


def on_record(ledger: SqlLedger, state: State = State.ACTIVE) -> Lease:
    quote = a_quote(offer=an_offer(gpu_count=4, instance_type="nvidia.com/gpu"))
    request = a_request(place=LAB, kind=LeaseKind.NAMESPACE)
    made = a_lease(state, id=MINE, request=request, quote=quote, shift=-timedelta(days=20))
    ledger.record(made, (Event("recorded", ASKED, "lessor", {}),))
    return made


async def seen(api: FakeApi, ledger: SqlLedger) -> tuple[PlaceFleet, Line]:
    fleet = Surveying(ledger, {"kubernetes": Cluster(api)}, {}, lambda: [LAB], lambda: NOW)
    (lab,) = (await fleet.view()).places
    (line,) = lab.lines
    return lab, line


async def test_a_cluster_and_the_record_come_to_the_same_numbers(api: FakeApi, sqlite_ledger: SqlLedger) -> None:
    on_record(sqlite_ledger)
    lab, line = await seen(api, sqlite_ledger)
    assert (line.model, line.total, line.leased, line.ownerless) == ("A100-80GB", 16, 4, 2)
    assert (line.free, line.largest, line.unhealthy, line.unknown) == (2, 2, 8, 0)
    assert [(one.ref, one.units) for one in lab.ownerless] == [("pod team/stray", 2)]
    assert [(one.lease.id, one.held) for one in lab.tenants] == [(MINE, 3)]


async def test_a_finished_pod_holds_nothing_and_a_lease_keeps_its_right(api: FakeApi, sqlite_ledger: SqlLedger) -> None:
    on_record(sqlite_ledger)
    api.add(pod("done", 2, namespace="team", phase="Succeeded"))
    _, line = await seen(api, sqlite_ledger)
    assert (line.leased, line.ownerless, line.free) == (4, 2, 2)


async def test_what_still_runs_of_a_lease_that_is_over_has_no_lease(api: FakeApi, sqlite_ledger: SqlLedger) -> None:
    on_record(sqlite_ledger, State.CLOSED)
    lab, line = await seen(api, sqlite_ledger)
    assert (line.leased, line.ownerless) == (0, 5)
    assert "gpu-aaaaaaaa is over or on no record" in {one.flag for one in lab.ownerless}


async def test_quotas_that_cannot_be_read_make_numbers_unknown_and_accuse_nobody(
    api: FakeApi, sqlite_ledger: SqlLedger
) -> None:
    on_record(sqlite_ledger)
    api.fail("list", RESOURCE_QUOTA)
    lab, line = await seen(api, sqlite_ledger)
    assert lab.problem
    assert (line.total, line.leased, line.free, line.ownerless, line.unknown) == (16, 4, None, None, None)
    assert [one.ref for one in lab.ownerless] == ["pod team/stray"]
    assert [one.lease.id for one in lab.tenants] == [MINE]
