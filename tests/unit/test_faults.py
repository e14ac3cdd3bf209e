"""Machines of leases that do not pass their health check: who is told, and how often."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Notice
from lessor.domain import faults
from lessor.domain.lease import Change, Lease, State, Unfit
from lessor.domain.resource import Condition, Kind, Resource, Tagged
from lessor.domain.sweep import Away
from tests.builders import READY, a_lease
from workflows.notices import notices

LATER = READY + timedelta(hours=1)
MACHINE = Resource(Kind.MACHINE, "dgx-1", Condition.RUNNING)
ILL = replace(MACHINE, fault="a fan stands still")


def a_machine_lease(*machines: Resource, **changes: object) -> Lease:
    return replace(a_lease(State.ACTIVE), resources=machines or (MACHINE,), **changes)  # type: ignore[arg-type]


def tagged(resource: Resource, lease: Lease) -> Tagged:
    return Tagged(**vars(resource), lease=lease.id)


def told(change: Change) -> list[tuple[str, dict[str, str]]]:
    return [(event.type, event.data) for event in change.events]


def test_a_lease_is_told_once_that_its_machine_is_unfit_and_once_that_it_is_well() -> None:
    lease = a_machine_lease()
    ill = faults.judged(lease, [ILL], LATER)
    assert told(ill) == [("machine-unfit", {"resources": "machine:dgx-1", "problem": "dgx-1: a fan stands still"})]
    assert ill.lease.unfit == Unfit(("machine:dgx-1",), "dgx-1: a fan stands still", LATER)
    assert ill.lease.state is State.ACTIVE
    assert told(faults.judged(ill.lease, [ILL], LATER)) == []
    well = faults.judged(ill.lease, [MACHINE], LATER + timedelta(hours=1))
    assert told(well) == [("machine-fit", {"resources": "machine:dgx-1"})]
    assert well.lease.unfit == Unfit((), "", LATER)
    assert told(faults.judged(well.lease, [MACHINE], LATER)) == []


@pytest.mark.parametrize("event", ["machine-unfit", "machine-fit"])
def test_people_hear_of_it(event: str) -> None:
    change = faults.judged(a_machine_lease(), [ILL], LATER)
    assert notices(change.lease, (replace(change.events[0], type=event),)) == (Notice.UNFIT,)


def test_a_machine_that_was_not_seen_is_as_it_was_said_to_be() -> None:
    """Law 1: a look that shows nothing of it says neither that it is well nor that it is not."""
    ill = faults.judged(a_machine_lease(), [ILL], LATER).lease
    assert told(faults.judged(ill, [], LATER)) == []
    assert told(faults.judged(a_machine_lease(), [], LATER)) == []


def test_what_is_wrong_with_other_machines_is_not_the_leases_matter() -> None:
    assert told(faults.judged(a_machine_lease(), [MACHINE, replace(ILL, id="dgx-2")], LATER)) == []


def test_only_a_lease_in_use_is_told() -> None:
    stopped = replace(a_machine_lease(), state=State.STOPPED)
    assert told(faults.judged(stopped, [ILL], LATER)) == []
    assert faults.untold([stopped], [tagged(ILL, stopped)], LATER) == ()


def test_a_second_machine_that_falls_ill_is_news() -> None:
    both = a_machine_lease(MACHINE, replace(MACHINE, id="dgx-2"))
    first = faults.judged(both, [ILL, replace(MACHINE, id="dgx-2")], LATER).lease
    second = faults.judged(first, [ILL, replace(ILL, id="dgx-2", fault="no network")], LATER)
    assert second.lease.unfit is not None
    assert second.lease.unfit.words == "dgx-1: a fan stands still; dgx-2: no network"


def test_a_sweep_calls_those_whose_machines_are_not_as_they_were_told() -> None:
    well = a_machine_lease()
    ill = faults.judged(replace(well, id="gpu-00000002"), [ILL], LATER).lease
    assert faults.untold([well], [tagged(ILL, well)], LATER) == (
        Away(well.id, "dgx-1", Condition.RUNNING, "a fan stands still", LATER),
    )
    assert faults.untold([ill], [tagged(ILL, ill)], LATER) == ()
    assert faults.untold([ill], [tagged(MACHINE, ill)], LATER) == (
        Away(ill.id, "dgx-1", Condition.RUNNING, "it is well again", LATER),
    )
    assert faults.untold([well, ill], [], LATER) == ()
    assert faults.untold([well], [tagged(MACHINE, well)], LATER) == ()


def test_administrators_read_of_each_machine_once() -> None:
    lease = a_machine_lease()
    found = [tagged(ILL, lease), tagged(replace(ILL, id="b", fault="x"), lease), tagged(ILL, lease)]
    assert faults.reported([*found, tagged(MACHINE, lease)]) == (("b", "x"), ("dgx-1", "a fan stands still"))
