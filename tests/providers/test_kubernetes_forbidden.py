"""Kinds that may not be read make unknown what they decide, and nothing else of the cluster (case D15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.provisioning import ProvisioningActivities
from lessor.contracts import LeaseRef
from lessor.domain.lease import State
from lessor.domain.resource import COMPUTE, Condition, Kind, Sighting, Tagged
from lessor.ledger import SqlLedger
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import inventory
from lessor.providers.kubernetes.api import (
    CLAIM,
    DEPLOYMENT,
    NAMESPACE,
    POD,
    STATEFUL_SET,
    VOLUME,
    ApiKind,
    Obj,
)
from lessor.providers.kubernetes.provider import KubernetesProvider
from lessor.retries import ErrorType
from tests.builders import LEASE_ID, a_story
from tests.providers.kube_ends import LEASE, Leased
from tests.providers.kube_world import KubeWorld, SimulatedGround, simulated_ground

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
    assert (work.type, work.condition, work.reason) == ("Deployment", Condition.UNKNOWN, WORD)


def test_what_may_be_read_in_its_namespace_is_known_where_all_namespaces_may_not_be(there: Leased) -> None:
    class Narrow:
        def __getattr__(self, name: str) -> object:
            return getattr(there.api, name)

        def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
            if kind.namespaced and not namespace:
                raise PermanentError(f"{kind.plural} everywhere are forbidden", "forbidden")
            return there.api.list(kind, namespace, labels, fields)

    found = inventory.look(replace(there.site, api=Narrow()), LEASE, (there.record,))  # type: ignore[arg-type]
    assert shown(found) == [
        (SPACE, Condition.RUNNING),
        ("workload", Condition.RUNNING),
        ("claim", Condition.STOPPED),
        ("volume", Condition.RUNNING),
    ]
    assert (found.unread, found.foreign) == ((Kind.CLAIM, Kind.WORKLOAD), ())


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


@dataclass
class Begun:
    """A lease that is provisioned in the simulated cluster, which may take lessor's right to list volumes away."""

    ground: SimulatedGround
    ledger: SqlLedger

    def __post_init__(self) -> None:
        world = KubeWorld(self.ground)
        order = world.order()
        lease, events = a_story(State.PROVISIONING, request=order.request, quote=order.quote)
        self.ledger.record(lease, events[-1:])
        work = ProvisioningActivities({"kubernetes": world.provider()}, self.ledger, self.ground.now)
        self._work, self._ref = work.provision, LeaseRef(lease.id, lease.revision)

    def provision(self) -> list[str]:
        made = ActivityEnvironment().run(self._work, self._ref)
        return [one.kind.value for one in made.resources]

    def forbid(self) -> None:
        self.ground.running.fail(verb="list", resource="persistentvolumes", code=403, times=None)


@pytest.fixture
def begun(tmp_path: Path, sqlite_ledger: SqlLedger) -> Iterator[Begun]:
    with simulated_ground(tmp_path) as ground:
        yield Begun(ground, sqlite_ledger)


def test_nothing_new_is_launched_that_could_never_be_proven_gone(begun: Begun) -> None:
    begun.forbid()
    with pytest.raises(ApplicationError, match=r"could not read kubernetes/lab: .*; nothing was launched") as refused:
        begun.provision()
    assert not refused.value.non_retryable
    assert begun.ground.running.exists("Namespace", LEASE_ID) == []
    begun.ground.mend()
    assert begun.provision() == [SPACE]


def test_what_an_earlier_attempt_has_launched_is_gone_on_with(begun: Begun) -> None:
    begun.provision()
    begun.forbid()
    assert begun.provision() == [SPACE]


def test_nothing_takes_the_place_of_an_earlier_attempt_that_came_to_nothing(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there is over, and what came after it could never be proven gone: it is waited for."""
    begun.provision()
    begun.forbid()
    launched: list[object] = []

    def no_room(*_: object) -> None:
        raise NoCapacityError("no node", ("1 x A100-80GB in lab",), "unschedulable")

    monkeypatch.setattr(KubernetesProvider, "await_usable", no_room)
    monkeypatch.setattr(KubernetesProvider, "launch", lambda *given: launched.append(given) or ())
    with pytest.raises(ApplicationError) as refused:
        begun.provision()
    assert (refused.value.type, refused.value.details[0]) == (ErrorType.NO_CAPACITY, ["1 x A100-80GB in lab"])
    assert launched == []


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
