"""The view over all places: every number is exact or said to be unknown, and nothing is counted twice or left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.errors import Refused
from lessor.domain.fleet import Fleet, PlaceFleet, narrowed, place_fleet
from lessor.domain.lease import State
from lessor.domain.pools import Holder, Pool
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Tagged
from tests.builders import READY
from tests.unit.fleets import A100, LAB, NOW, US, census, cloud, held, leased, machine, only_line, pool, record


def test_every_gpu_of_a_cluster_is_accounted_for_once() -> None:
    mine = leased("gpu-aaaaaaaa", gpus=4)
    found = place_fleet(census(pool(), holders=(held(3, "gpu-aaaaaaaa"), held(2))), record(mine))
    line = only_line(found)
    assert (line.total, line.leased, line.ownerless, line.free, line.unhealthy) == (16, 4, 2, 5, 2)
    assert line.unknown == 16 - 4 - 2 - 5 - 2
    assert [one.ref for one in found.ownerless] == ["default/pod-2"]
    assert [one.held for one in found.tenants] == [3]


def test_what_a_queue_keeps_without_pods_is_not_unaccounted_for() -> None:
    line = only_line(place_fleet(census(pool(total=10, free=4, unhealthy=0, reserved=6)), record()))
    assert (line.reserved, line.unknown) == (6, 0)


def test_a_place_that_was_not_read_says_unknown_and_shows_what_is_on_record() -> None:
    found = place_fleet(census(problem="lab: 403 Forbidden"), record(leased("gpu-aaaaaaaa", gpus=4)))
    line = only_line(found)
    assert (line.leased, found.problem) == (4, "lab: 403 Forbidden")
    unknown = (line.total, line.ownerless, line.free, line.unhealthy, line.unknown)
    assert unknown == (None,) * 5
    assert [one.held for one in found.tenants] == [None]


def test_a_place_that_was_not_read_whole_accuses_nobody_of_holding_without_a_lease() -> None:
    """The quotas could not be read, so nothing that was seen says of which lease it is."""
    mine, other = Holder(LAB, "pod gpu-aaaaaaaa/train-0", A100, 2), held(1)
    read = census(pool(), holders=(mine, other), problem="lab: 403 for resourcequotas")
    found = place_fleet(read, record(leased("gpu-aaaaaaaa")))
    assert [one.ref for one in found.ownerless] == ["default/pod-1"]
    assert (only_line(found).ownerless, only_line(found).leased) == (None, 2)
    whole = place_fleet(census(pool(), holders=(mine,)), record(leased("gpu-aaaaaaaa")))
    assert [one.ref for one in whole.ownerless] == [mine.ref], "a namespace of that name is not proven to be ours"


def test_what_is_held_beyond_the_right_counts_as_leased_and_is_nobody_elses() -> None:
    """A lease that is being deleted still holds what was seen of it."""
    going = leased("gpu-aaaaaaaa", gpus=4, state=State.DELETING)
    line = only_line(place_fleet(census(pool(promised=0), holders=(held(3, "gpu-aaaaaaaa"),)), record(going)))
    assert (line.leased, line.ownerless) == (3, 0)


@pytest.mark.parametrize("state", [State.SUSPENDED, State.STOPPED])
def test_a_stopped_lease_has_no_gpus(state: State) -> None:
    found = place_fleet(census(pool()), record(leased("gpu-aaaaaaaa", gpus=4, state=state)))
    assert only_line(found).leased == 0
    assert [one.doing for one in found.tenants] == ["stopped"]


def test_what_left_the_inventory_is_there_until_its_lease_is_over() -> None:
    holders = (held(8, "gpu-aaaaaaaa", model="", ref="dgx-1"), held(3, "gpu-aaaaaaaa", ref="dgx-2"))
    mine = leased("gpu-aaaaaaaa", gpus=11)
    line = only_line(place_fleet(census(pool(total=8, free=5, unhealthy=0), holders=holders), record(mine)))
    assert (line.total, line.leased, line.free, line.unknown) == (16, 11, 5, 0)


def test_what_a_lease_holds_of_another_model_is_counted_there_alone() -> None:
    """The machine got other GPUs while it was leased."""
    other = Pool(LAB, "H100-80GB", total=8, free=0, unhealthy=0)
    holders = (held(3, "gpu-aaaaaaaa", model="H100-80GB"),)
    found = place_fleet(
        census(pool(total=8, free=7, unhealthy=0), other, holders=holders), record(leased("gpu-aaaaaaaa", gpus=4))
    )
    counts = {line.model: (line.leased, line.free, line.unknown) for line in found.lines}
    assert counts == {A100: (1, 7, 0), "H100-80GB": (3, 0, 5)}


def test_slices_keep_their_unit_and_share() -> None:
    slices = Pool(LAB, "A100-80GB-1g.10gb", "slice", Fraction(1, 7), total=14, free=14, unhealthy=0)
    line = only_line(place_fleet(census(slices), record()))
    assert (line.unit, line.share, line.total, line.free, line.unknown) == ("slice", Fraction(1, 7), 14, 14, 0)


def test_a_holder_of_a_lease_that_is_over_is_ownerless_and_says_so() -> None:
    over = replace(leased("gpu-cccccccc", state=State.CLOSED), closed_at=NOW - timedelta(hours=1))
    found = place_fleet(census(pool(), holders=(held(2, "gpu-cccccccc"),)), record(over))
    assert only_line(found).ownerless == 2
    assert [one.flag for one in found.ownerless] == ["gpu-cccccccc is over or on no record"]


def test_what_was_over_only_after_the_reading_is_no_finding() -> None:
    over = replace(leased("gpu-cccccccc", state=State.CLOSED), closed_at=NOW + timedelta(seconds=5))
    assert place_fleet(census(pool(), holders=(held(2, "gpu-cccccccc"),)), record(over)).ownerless == ()


def test_flags_of_what_a_lease_holds_stand_with_the_lease() -> None:
    stuck = Holder(LAB, "gpu-aaaaaaaa/pod", A100, 1, lease="gpu-aaaaaaaa", flag="held, never ran")
    found = place_fleet(census(pool(), holders=(stuck, stuck)), record(leased("gpu-aaaaaaaa")))
    assert [one.flags for one in found.tenants] == [("held, never ran",)]


def test_a_cloud_has_no_total_and_nothing_free_but_what_is_leased_is_known() -> None:
    mine = leased("gpu-aaaaaaaa", US, 8)
    found = cloud(machine("i-1", "gpu-aaaaaaaa"), leases=(mine,))
    line = only_line(found)
    assert (line.on_demand, line.total, line.free) == (True, None, None)
    assert (line.leased, line.unknown) == (8, 0)
    assert line.ownerless is None, "machines without our tag are not looked for, so nobody knows that there are none"


@pytest.mark.parametrize("shown", [(), (machine("i-1", "gpu-aaaaaaaa", Condition.UNKNOWN),)])
def test_gpus_of_a_lease_that_nobody_saw_are_unknown_not_gone(shown: tuple[Tagged, ...]) -> None:
    line = only_line(cloud(*shown, leases=(leased("gpu-aaaaaaaa", US, 8),)))
    assert (line.leased, line.unknown) == (8, 8)


def test_a_machine_that_is_still_being_made_is_not_missing() -> None:
    line = only_line(cloud(leases=(leased("gpu-aaaaaaaa", US, 8, state=State.PROVISIONING),)))
    assert (line.leased, line.unknown) == (8, 0)


def test_a_machine_whose_lease_is_on_no_record_runs_without_one() -> None:
    found = cloud(machine("i-2", "gpu-zzzzzzzz", type="g5.xlarge"))
    assert (only_line(found).model, only_line(found).ownerless) == ("A10G", 1)
    assert [(one.ref, one.since) for one in found.ownerless] == [("instance:i-2", READY)]


def test_a_machine_of_a_type_that_nobody_knows_is_told_and_counted_as_unknown() -> None:
    found = cloud(machine("i-3", "gpu-zzzzzzzz", type="x9.metal"))
    assert found.notes == ("i-3 runs without a lease; how many GPUs a x9.metal has is not known",)
    assert (only_line(found).model, only_line(found).ownerless) == ("x9.metal", None)


def test_stopped_and_gone_machines_and_disks_hold_nothing() -> None:
    disk = Tagged(Kind.VOLUME, "vol-1", Condition.RUNNING, lease="gpu-zzzzzzzz")
    shown = [machine("i-1", "", condition) for condition in (Condition.STOPPED, Condition.GONE, Condition.DELETING)]
    assert cloud(*shown, disk).lines == ()


# --- a part of it ----------------------------------------------------------------------------------------------------


def whole() -> Fleet:
    h100 = Pool(LAB, "H100-80GB", total=8, free=8)
    lab = place_fleet(census(pool(), h100), record(leased("gpu-aaaaaaaa")))
    blind = PlaceFleet(Place("kubernetes", "dark"), NOW, problem="no answer")
    return Fleet(NOW, (lab, blind, cloud(machine("i-2", "gpu-zzzzzzzz", type="g5.xlarge"))))


def test_one_place_by_its_name() -> None:
    assert [one.place.name for one in narrowed(whole(), "LAB").places] == ["lab"]
    assert narrowed(whole(), "  ") == whole()


def test_one_model_in_all_places_and_in_those_that_nobody_could_read() -> None:
    found = narrowed(whole(), "a100")
    assert [(one.place.name, [line.model for line in one.lines]) for one in found.places] == [
        ("lab", [A100]),
        ("dark", []),
    ]
    assert [one.lease.id for one in found.places[0].tenants] == ["gpu-aaaaaaaa"]
    assert narrowed(whole(), "h100").places[0].tenants == ()


@pytest.mark.parametrize("word", ["z999", "--", "🚀"])
def test_what_is_neither_place_nor_model_is_refused_with_what_there_is(word: str) -> None:
    with pytest.raises(Refused) as caught:
        narrowed(whole(), word)
    assert caught.value.code == "no-such"
    assert str(caught.value) == (
        f"'{word}' is no place and no GPU model here; places: lab, dark, us; models: A100-80GB, A10G, H100-80GB"
    )


NUMBER = st.none() | st.integers(0, 64)


@given(NUMBER, NUMBER, NUMBER, NUMBER, st.lists(st.tuples(st.integers(1, 8), st.booleans()), max_size=5), st.booleans())
def test_an_unknown_number_never_makes_another_one_known(
    total: int | None,
    free: int | None,
    unhealthy: int | None,
    reserved: int | None,
    holders: list[tuple[int, bool]],
    whole: bool,
) -> None:
    lease = leased("gpu-aaaaaaaa")
    there = tuple(held(units, lease.id if mine else "") for units, mine in holders)
    read = census(
        pool(total=total, free=free, unhealthy=unhealthy, reserved=reserved),
        holders=there,
        problem="" if whole else "a page was not read",
    )
    line = only_line(place_fleet(read, record(lease)))
    assert (line.total, line.free, line.unhealthy) == (total, free, unhealthy)
    assert line.leased == max(2, sum(units for units, mine in holders if mine))
    strays = sum(units for units, mine in holders if not mine)
    assert line.ownerless == (strays if whole else None)
    known = whole and None not in (total, free, unhealthy)
    assert (line.unknown is not None) is known
    if line.unknown:
        assert line.unknown + strays + line.leased + (free or 0) + (unhealthy or 0) + (reserved or 0) == total
