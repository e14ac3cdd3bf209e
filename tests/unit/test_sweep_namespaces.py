"""A namespace that vanished, that somebody made again, or that runs though it was stopped (cases C08, D23)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import sweep, takedown
from lessor.domain.lease import Lease, State
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Resource, Tagged
from tests.builders import LAUNCHED, LEASE_ID, a_lease, a_request, a_sighting

AT = LAUNCHED + timedelta(hours=1)
SPACE = Resource(Kind.NAMESPACE, f"{LEASE_ID}@uid-1", Condition.RUNNING, created_at=LAUNCHED)
AGAIN = replace(SPACE, id=f"{LEASE_ID}@uid-2")


def leased(state: State = State.ACTIVE) -> Lease:
    request = replace(a_request(), place=Place("kubernetes", "lab"))
    return replace(a_lease(state, request=request), resources=(SPACE,))


def shown(resource: Resource, **changes: object) -> Tagged:
    return Tagged(**{**vars(resource), "lease": LEASE_ID, **changes})


def test_a_namespace_that_is_there_is_as_it_should_be() -> None:
    assert sweep.compare([leased()], [shown(SPACE)], {}, AT).away == ()


@pytest.mark.parametrize("others", [(), (shown(AGAIN),)])
def test_one_that_is_not_there_is_away_after_three_readings_whoever_has_its_name(others: tuple[Tagged, ...]) -> None:
    missing: dict[str, int] = {}
    for reading in range(1, 4):
        found = sweep.compare([leased()], others, missing, AT)
        missing = dict(found.missing)
        assert missing == {SPACE.ref: reading}
        assert [one.condition for one in found.away] == ([Condition.GONE] if reading == 3 else [])


def test_the_second_look_believes_that_it_is_gone_though_another_has_its_name() -> None:
    sighting = replace(a_sighting(AGAIN, at=AT), foreign=(AGAIN.ref,))
    change = takedown.observed(leased(), sighting, "not shown", AT, AT)
    assert (change.lease.state, [one.type for one in change.events]) == (State.DELETING, ["interrupted"])
    unread = replace(sighting, complete=False)
    assert takedown.observed(leased(), unread, "not shown", AT, AT).events == ()


def test_one_that_somebody_deletes_is_away_at_once() -> None:
    (away,) = sweep.compare([leased()], [shown(replace(SPACE, condition=Condition.DELETING))], {}, AT).away
    assert (away.resource, away.condition) == (SPACE.id, Condition.DELETING)


def test_pods_in_a_stopped_namespace_are_noticed_since_when_they_hold_gpus() -> None:
    lease = replace(leased(State.STOPPED), stopped_at=AT)
    later = AT + timedelta(minutes=7)
    (awake,) = sweep.compare([lease], [shown(SPACE, changed_at=later)], {}, AT + timedelta(minutes=10)).awake
    assert (awake.condition, awake.at) == (Condition.RUNNING, later)
    assert sweep.compare([lease], [shown(SPACE, changed_at=LAUNCHED)], {}, later).awake == ()
