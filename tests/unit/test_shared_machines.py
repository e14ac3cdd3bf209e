"""Several leases on one machine: each has the figures of its own GPUs, and no other's."""

from __future__ import annotations

from dataclasses import replace

from lessor.domain.attribution import attribute, subject
from lessor.domain.lease import State
from lessor.domain.machines import gpus_of, spelt_gpus
from lessor.domain.resource import Kind, Resource
from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen, Subject
from tests.builders import a_lease
from tests.unit.judged import at

NOW = at(1)
LAB = "lab-1"
FIRST = Subject("gpu-00000001", 2, (LAB,), devices=((LAB, "0"), (LAB, "2")))
SECOND = Subject("gpu-00000002", 1, (LAB,), devices=((LAB, "1"),))
ALONE = Subject("gpu-00000003", 8, ("i-0aaa",))


def saw(device: str, engine: float, **origin: str) -> Seen:
    return Seen(Origin(**(origin or {"node": LAB})), NOW, GpuUse(device, engine=engine))


def engines(*seen: Seen) -> dict[str, list[tuple[str, float | None]]]:
    found = attribute((FIRST, SECOND, ALONE), [Reading("prometheus", NOW, seen)], NOW)
    return {one.lease_id: [(use.device, use.engine) for use in one.gpus] for one in found}


def test_each_lease_has_its_own_gpus_and_nobody_has_the_rest() -> None:
    seen = [saw(str(number), number / 10) for number in range(4)]
    assert engines(*seen) == {
        FIRST.lease_id: [("0", 0.0), ("2", 0.2)],
        SECOND.lease_id: [("1", 0.1)],
        ALONE.lease_id: [],
    }


def test_slices_belong_to_their_gpu_and_labels_still_come_first() -> None:
    assert engines(saw("1/7", 0.5, machine=LAB))[SECOND.lease_id] == [("1/7", 0.5)]
    assert engines(saw("1", 0.5, lease=FIRST.lease_id, node=LAB)) == {
        FIRST.lease_id: [("1", 0.5)],
        SECOND.lease_id: [],
        ALONE.lease_id: [],
    }


def test_what_the_machine_does_besides_may_be_anybodys_on_it() -> None:
    """Law 1: work that cannot be told apart keeps all of them from being called idle."""
    seen = Seen(Origin(node=LAB), NOW, None, HostUse(cpu=70.0))
    found = attribute((FIRST, SECOND, ALONE), [Reading("prometheus", NOW, (seen,))], NOW)
    assert [[use.cpu for use in one.hosts] for one in found] == [[70.0], [70.0], []]


def test_a_lease_says_which_gpus_are_its_own() -> None:
    machine = Resource(Kind.MACHINE, LAB, type=spelt_gpus((0, 2)))
    lease = replace(a_lease(State.ACTIVE), resources=(machine, Resource(Kind.INSTANCE, "i-0aaa", type="GPU 0")))
    assert subject(lease).machines == (LAB, "i-0aaa")
    assert subject(lease).devices == ((LAB, "0"), (LAB, "2"))
    assert (machine.type, gpus_of(replace(machine, type=""))) == ("GPU 0, 2", ())
