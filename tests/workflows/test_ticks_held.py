"""The meter over namespaces in a cluster: promised GPUs that no pod holds, tick by tick over a real ledger."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lessor.domain.idle import Verdict
from lessor.domain.lease import Lease
from lessor.domain.usage import Held
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import RetryableError
from tests.metering import MINUTE, START, Meter, promised
from tests.unit.test_holdings import FakeOccupancy

WINDOW = 60
UNREAD = "cluster lab gave no answer"


@pytest.fixture
def cluster() -> FakeOccupancy:
    return FakeOccupancy()


@pytest.fixture
def meter(sqlite_url: str, cluster: FakeOccupancy) -> Iterator[Meter]:
    opened: SqlLedger = open_ledger(sqlite_url)
    yield Meter(opened, places={"kubernetes": cluster})
    opened.close()


def in_cluster(meter: Meter) -> Lease:
    lease = promised(1, 4)
    meter.record(lease)
    return lease


def holds(cluster: FakeOccupancy, lease: Lease, held: Held | Exception) -> None:
    cluster.says = {"lab": held if isinstance(held, Exception) else {lease.id: held}}


async def test_it_is_told_that_it_is_idle_with_exactly_what_was_seen(meter: Meter, cluster: FakeOccupancy) -> None:
    lease = in_cluster(meter)
    holds(cluster, lease, Held(0))
    await meter.ticks(WINDOW)
    assert meter.verdicts == []
    meter.restart()
    await meter.tick()
    (told,) = [told for _, told in meter.runs.told]
    found = told.evidence
    assert (found.verdict, found.since, found.unheld, found.unheld_since) == (Verdict.IDLE, START, 4, START)
    assert {(place.name, since, leases) for place, since, leases in cluster.asked[-1:]} == {
        ("lab", meter.now - MINUTE, (lease.id,))
    }
    meter.now += MINUTE / 2
    assert (await meter.clearance(lease)).clear


async def test_a_cluster_that_is_not_read_never_makes_a_lease_idle(meter: Meter, cluster: FakeOccupancy) -> None:
    lease = in_cluster(meter)
    holds(cluster, lease, RetryableError(UNREAD))
    await meter.ticks(3 * WINDOW)
    assert meter.verdicts == []
    standing = meter.standing(lease)
    assert (standing.verdict, standing.problem) == (
        Verdict.UNKNOWN,
        f"no samples, and what pods hold is unknown: {UNREAD}",
    )


@pytest.mark.parametrize("now", [Held(1), RetryableError(UNREAD)])
async def test_the_last_look_before_a_stop_asks_the_cluster_again(
    meter: Meter, cluster: FakeOccupancy, now: Held | Exception
) -> None:
    lease = in_cluster(meter)
    holds(cluster, lease, Held(0))
    await meter.ticks(WINDOW + 1)
    holds(cluster, lease, now)
    meter.now += MINUTE / 2
    clearance = await meter.clearance(lease)
    assert not clearance.clear
    assert clearance.why.startswith("what it does is unknown: ")
    assert (await meter.look(lease)).evidence.verdict is Verdict.UNKNOWN


async def test_pods_that_wait_for_a_node_keep_it_from_being_idle(meter: Meter, cluster: FakeOccupancy) -> None:
    lease = in_cluster(meter)
    holds(cluster, lease, Held(0, awaited=4))
    report = await meter.ticks(3 * WINDOW)
    assert (meter.verdicts, report.pages) == ([], ())
    assert (meter.standing(lease).awaited, meter.standing(lease).missed) == (4, 0)
