"""Kinds that may not be read make unknown what they decide, and nothing else of the cluster (case D15)."""

from __future__ import annotations

import pytest

from lessor.domain.resource import COMPUTE, Condition, Kind, Sighting, Tagged
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import inventory
from lessor.providers.kubernetes.api import (
    CLAIM,
    DEPLOYMENT,
    NAMESPACE,
    POD,
    STATEFUL_SET,
    VOLUME,
    ApiKind,
)
from tests.providers.kube_ends import LEASE, Leased

SPACE = "namespace"
WORD = "volumes are forbidden"


@pytest.fixture
def there() -> Leased:
    """A lease with a deployment, a claim of people's, and the volume behind it."""
    leased = Leased()
    leased.run(DEPLOYMENT, "train", replicas=1)
    leased.claim("data")
    leased.api.list(VOLUME)
    leased.obj(CLAIM, "data")["metadata"]["labels"] = {"lessor.dev/lease": LEASE}
    return leased


def forbid(there: Leased, *kinds: ApiKind) -> None:
    for kind in kinds:
        there.api.fail("list", kind, PermanentError(WORD, "forbidden"), None)


def looked(there: Leased) -> Sighting:
    return inventory.look(there.site, LEASE, (there.record,))


def shown(found: Sighting) -> list[tuple[str, Condition]]:
    return [(one.kind.value, one.condition) for one in found.resources]


@pytest.mark.parametrize(
    ("refused", "unread", "left"),
    [
        ((VOLUME,), (Kind.VOLUME,), [SPACE, "workload", "claim"]),
        ((CLAIM,), (Kind.CLAIM, Kind.VOLUME), [SPACE, "workload"]),
        ((DEPLOYMENT,), (Kind.WORKLOAD,), [SPACE, "workload", "claim", "volume"]),
        ((STATEFUL_SET,), (Kind.WORKLOAD,), [SPACE, "workload", "claim", "volume"]),
        ((VOLUME, STATEFUL_SET), (Kind.VOLUME, Kind.WORKLOAD), [SPACE, "workload", "claim"]),
    ],
)
def test_a_look_knows_what_the_other_kinds_decide(
    there: Leased, refused: tuple[ApiKind, ...], unread: tuple[Kind, ...], left: list[str]
) -> None:
    forbid(there, *refused)
    found = looked(there)
    assert (found.complete, found.unread, found.problem) == (False, unread, WORD)
    assert [kind for kind, _ in shown(found)] == left
    assert shown(found)[0] == (SPACE, Condition.RUNNING)
    assert found.foreign == ()
    assert {kind for kind in Kind if not found.knows(kind)} == set(unread)
    assert not found.clean


def test_what_keeps_a_pod_alive_and_is_not_read_is_told_by_its_pods(there: Leased) -> None:
    there.api.list(POD)
    forbid(there, DEPLOYMENT)
    (work,) = [one for one in looked(there).resources if one.kind is Kind.WORKLOAD]
    assert (work.type, work.condition) == ("Deployment", Condition.RUNNING)


def test_without_pods_or_namespaces_nothing_is_known(there: Leased) -> None:
    for kind in (POD, NAMESPACE):
        leased = Leased()
        leased.api.fail("list", kind, PermanentError(WORD, "forbidden"), None)
        found = looked(leased)
        assert (found.complete, found.unread, found.resources) == (False, (), ())
        assert not any(found.knows(one) for one in Kind)


def test_a_cluster_that_does_not_answer_is_unknown_as_a_whole(there: Leased) -> None:
    there.api.fail("list", VOLUME, RetryableError("no answer", "no-answer"), None)
    found = looked(there)
    assert (found.resources, found.unread, found.problem) == ((), (), "no answer")
    assert not found.knows(*COMPUTE)


def test_nothing_is_deleted_while_a_kind_may_not_be_read(there: Leased) -> None:
    forbid(there, VOLUME)
    assert there.refused(there.record).code == "forbidden"
    assert there.writes() == []


def watched(there: Leased) -> list[Tagged]:
    return list(inventory.conditions(there.site))


def test_the_watch_tells_the_rest_and_what_stands_for_all_that_it_may_not_read(there: Leased) -> None:
    forbid(there, CLAIM)
    found = {one.ref: one for one in watched(there)}
    space = found.pop(f"namespace:{LEASE}@{there.space['metadata']['uid']}")
    assert (space.condition, space.unread) == (Condition.RUNNING, False)
    everything = [found.pop(f"{kind}:{LEASE}/*") for kind in ("claim", "volume")]
    assert [(one.condition, one.reason, one.lease, one.unread) for one in everything] == [
        (Condition.UNKNOWN, WORD, LEASE, True)
    ] * 2
    assert [one.disk for one in found.values()] == [None]


def test_the_watch_reads_all_or_nothing_of_namespaces(there: Leased) -> None:
    forbid(there, NAMESPACE)
    with pytest.raises(PermanentError, match=WORD):
        watched(there)
