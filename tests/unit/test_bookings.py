"""Bookings of machines: who gets what when, and why not; random lives never share a GPU."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.bookings import SLACK, TAKEN, Booking, Calendar, Phase, Span, asked_for, follows, taken_words
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.machines import Machine
from lessor.domain.pending import Wish
from tests.builders import APPROVED, ENDS, LENGTH, a_lease, a_request

NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEN = timedelta(minutes=10)
WHOLE = Machine("dgx-1", "A100-80GB", 8)
SPLIT = Machine("lab-1", "L4", 4, whole=False)


def span(begins: float, ends: float) -> Span:
    return Span(NOW + begins * HOUR, NOW + ends * HOUR)


def a_booking(lease: str = "gpu-00000001", begins: float = 0, ends: float = 8, **changes: object) -> Booking:
    whole = Booking(lease, "dgx-1", WHOLE.numbers, NOW + begins * HOUR, NOW + ends * HOUR)
    return replace(whole, **changes)  # type: ignore[arg-type]


def calendar(*bookings: Booking, now: datetime = NOW, clean_up: timedelta = TEN) -> Calendar:
    return Calendar(bookings, now, clean_up)


def test_a_machine_that_is_leased_whole_is_free_as_one_or_not_at_all() -> None:
    one_gpu = a_booking(gpus=(3,))
    assert calendar().free(WHOLE, span(0, 1)) == (0, 1, 2, 3, 4, 5, 6, 7)
    assert calendar(one_gpu).free(WHOLE, span(7, 9)) == ()
    assert calendar(one_gpu).free(WHOLE, span(7, 9), but=one_gpu.lease_id) == WHOLE.numbers


def test_gpus_of_a_machine_that_is_leased_by_the_gpu_are_free_one_by_one() -> None:
    two = a_booking(machine="lab-1", gpus=(0, 2))
    assert calendar(two).free(SPLIT, span(1, 2)) == (1, 3)
    assert calendar(two).fit([SPLIT], 2, span(1, 2)).gpus == (1, 3)  # type: ignore[union-attr]
    assert calendar(two).fit([SPLIT], 3, span(1, 2)) is None


@pytest.mark.parametrize(
    ("begins", "ends", "free"),
    [
        (8, 9, False),
        (8 + 1 / 6, 9, True),
        (8 + 1 / 6 - 1 / 3600, 9, False),
        (-3, -1 / 6, True),
        (-3, -1 / 6 + 1 / 3600, False),
        (2, 3, False),
        (-1, 20, False),
    ],
)
def test_the_time_for_cleaning_up_lies_between_any_two(begins: float, ends: float, free: bool) -> None:
    assert bool(calendar(a_booking()).free(WHOLE, span(begins, ends))) is free


def test_what_is_kept_in_case_it_is_asked_back_is_nobody_elses() -> None:
    kept = a_booking(keep=HOUR)
    assert calendar(kept).free(WHOLE, span(8.5, 9)) == ()
    assert calendar(kept).free(WHOLE, span(9.2, 10)) == WHOLE.numbers


def test_what_is_not_proven_to_be_over_stays_taken_after_its_end() -> None:
    """Law 1: an end that has passed says nothing of who can still get in."""
    late = NOW + 30 * HOUR
    for phase in TAKEN:
        for clean_up in (TEN, timedelta()):
            held = calendar(a_booking(phase=phase), now=late, clean_up=clean_up)
            assert held.free(WHOLE, Span(late, late + HOUR)) == ()
    never_taken = calendar(a_booking(), now=late)
    assert never_taken.free(WHOLE, Span(late, late + HOUR)) == WHOLE.numbers
    over = a_booking(phase=Phase.ENDED, since=late - 5 * timedelta(minutes=1), fresh_at=NOW)
    assert calendar(over, now=late).free(WHOLE, Span(late, late + HOUR)) == ()
    assert calendar(over, now=late).free(WHOLE, Span(late + TEN, late + HOUR)) == WHOLE.numbers


def test_what_leaves_the_fewest_over_is_taken() -> None:
    small, large = Machine("a", "L4", 2, whole=False), Machine("b", "L4", 8, whole=False)
    assert calendar().fit([large, small], 2, span(0, 1)).machine == small  # type: ignore[union-attr]
    part = replace(a_booking(machine="b"), gpus=(0, 1, 2, 3, 4))
    assert calendar(part).fit([large, small], 3, span(0, 1)).gpus == (5, 6, 7)  # type: ignore[union-attr]


def test_the_first_free_time_is_after_the_bookings_that_are_in_the_way() -> None:
    two = calendar(a_booking(), a_booking("gpu-00000002", 9, 12))
    assert two.first_free([WHOLE], 8, span(0, 0.5)) == NOW + 8 * HOUR + TEN
    assert two.first_free([WHOLE], 8, span(0, 1)) == NOW + 12 * HOUR + TEN
    assert two.first_free([WHOLE], 8, span(20, 21)) == NOW + 20 * HOUR
    assert two.first_free([WHOLE], 9, span(0, 1)) is None


def test_an_end_moves_up_to_the_next_booking_and_not_into_it() -> None:
    mine, theirs = a_booking(), a_booking("gpu-00000002", 12, 14)
    both = calendar(mine, theirs)
    latest = NOW + 12 * HOUR - TEN
    assert both.moved(mine, latest, timedelta()).ends == latest
    assert both.moved(mine, NOW + HOUR, HOUR).until == NOW + 2 * HOUR
    with pytest.raises(Refused) as refusal:
        both.moved(mine, latest, timedelta(seconds=1))
    assert refusal.value.code == "booked"
    assert str(refusal.value) == (
        "dgx-1 is booked for gpu-00000002 from 2026-11-28 21:00 UTC on, so gpu-00000001 can have it until "
        "2026-11-28 20:49 UTC at most; its end stays 2026-11-28 17:00 UTC"
    )


def test_an_end_that_comes_nearer_is_never_refused() -> None:
    mine, theirs = a_booking(phase=Phase.HELD), a_booking("gpu-00000002", 6, 14)
    assert calendar(mine, theirs).moved(mine, NOW + 7 * HOUR, timedelta()).ends == NOW + 7 * HOUR


def test_a_request_is_booked_from_its_start_with_time_to_become_usable() -> None:
    lease = a_lease(State.APPROVED)
    assert asked_for(lease, APPROVED) == Span(APPROVED, APPROVED + LENGTH + SLACK)
    later = replace(lease, request=a_request(start=ENDS, until=ENDS + HOUR))
    assert asked_for(later, APPROVED) == Span(ENDS, ENDS + HOUR)


def test_a_booking_follows_its_lease() -> None:
    active = a_lease(State.ACTIVE)
    held = Booking(active.id, "dgx-1", WHOLE.numbers, APPROVED, ENDS + SLACK, phase=Phase.HELD)
    grace = active.terms.grace
    assert follows(active, held) == (ENDS, grace)
    wish = Wish(ENDS + 3 * HOUR, active.owner, ENDS - HOUR, "more", (), ())
    assert follows(replace(active, wish=wish), held) == (ENDS + 3 * HOUR, grace)
    stopped = replace(active, state=State.STOPPED, stopped_at=ENDS - HOUR)
    assert follows(stopped, held) == (ENDS - HOUR, grace)
    deleting = replace(active, state=State.DELETING, deleting_at=ENDS - HOUR)
    assert follows(deleting, held) == (ENDS - HOUR, timedelta())
    assert follows(a_lease(State.APPROVED), held) == (ENDS + SLACK, grace)


def test_a_refusal_names_who_has_it_and_when_it_is_free() -> None:
    taken = [a_booking(f"gpu-0000000{n}", n, n + 1) for n in range(5)]
    words = taken_words("8 x A100-80GB", span(0, 5), taken, NOW + 6 * HOUR)
    assert words == (
        "8 x A100-80GB cannot be had from 2026-11-28 09:00 UTC to 2026-11-28 14:00 UTC: "
        "dgx-1 by gpu-00000000 until 2026-11-28 10:00 UTC, dgx-1 by gpu-00000001 until 2026-11-28 11:00 UTC, "
        "dgx-1 by gpu-00000002 until 2026-11-28 12:00 UTC and 2 more. It is free from 2026-11-28 15:00 UTC on"
    )
    assert taken_words("1 x L4", span(0, 5), [], None).endswith("UTC. It is not free for so long within a year")


# --- random lives ----------------------------------------------------------------------------------------------------

POOL = (Machine("dgx-1", "A100-80GB", 4), SPLIT, Machine("lab-2", "L4", 2, whole=False))
STEP = timedelta(minutes=7)


@dataclass
class Desk:
    """A place of which bookings are made, begun, moved and ended in any order, while time goes by."""

    now: datetime = NOW
    kept: dict[str, Booking] = field(default_factory=dict)

    @property
    def calendar(self) -> Calendar:
        return Calendar(tuple(self.kept.values()), self.now, TEN)

    def book(self, lease: str, ahead: int, length: int, count: int) -> None:
        if lease in self.kept:
            return
        wanted = Span(self.now + ahead * STEP, self.now + (ahead + length) * STEP)
        fit = self.calendar.fit(POOL, count, replace(wanted, until=wanted.until + STEP))
        if fit:
            self.kept[lease] = Booking(lease, fit.machine.name, fit.gpus, wanted.begins, wanted.until, keep=STEP)

    def begin(self, lease: str, *_: int) -> None:
        found = self.kept.get(lease)
        if found is None or found.phase is not Phase.BOOKED or not found.begins <= self.now < found.ends:
            return
        if not self.calendar.clashes(found.machine, found.gpus, Span(self.now, found.until), lease):
            self.kept[lease] = replace(found, phase=Phase.HELD, begins=self.now, fresh_at=self.now)

    def move(self, lease: str, _: int, length: int, __: int) -> None:
        found = self.kept.get(lease)
        if found is None or not found.open:
            return
        with suppress(Refused):
            self.kept[lease] = self.calendar.moved(found, self.now + length * STEP, STEP)

    def end(self, lease: str, *_: int) -> None:
        found = self.kept.get(lease)
        if found and found.open:
            over = found.turned(Phase.ENDED, self.now)
            self.kept[lease] = over
            if over.void:
                del self.kept[lease]

    def wait(self, _: str, ahead: int, *__: int) -> None:
        self.now += ahead * STEP


ACTS = st.tuples(
    st.sampled_from([Desk.book, Desk.begin, Desk.move, Desk.end, Desk.wait]),
    st.sampled_from([f"gpu-0000000{n}" for n in range(6)]),
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(1, 4),
)


def shared(bookings: Iterable[Booking]) -> list[tuple[Booking, Booking]]:
    """Pairs that have a GPU in common."""
    return [(a, b) for a, b in combinations(bookings, 2) if a.machine == b.machine and set(a.gpus).intersection(b.gpus)]


@settings(max_examples=500)
@given(st.lists(ACTS, max_size=40))
def test_no_two_leases_ever_have_a_gpu_at_once(acts: list[tuple[object, str, int, int, int]]) -> None:
    desk = Desk()
    for act, *details in acts:
        act(desk, *details)  # type: ignore[operator]
        open_ones = [one for one in desk.kept.values() if one.open]
        assert not shared(one for one in open_ones if one.phase in TAKEN)
        on_time = [one for one in open_ones if one.until > desk.now]
        for one, other in shared(on_time):
            assert not Span(one.begins, one.until).meets(Span(other.begins, other.until), TEN)
        assert all(
            len(one.gpus) == next(machine.gpus for machine in POOL if machine.name == one.machine)
            for one in open_ones
            if one.machine == "dgx-1"
        )


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12), st.integers(1, 4)), max_size=12),
    st.integers(1, 12),
    st.integers(1, 4),
)
def test_the_first_free_time_is_the_first_at_which_it_fits(
    wanted: list[tuple[int, int, int]], length: int, count: int
) -> None:
    desk = Desk()
    for number, (ahead, long, gpus) in enumerate(wanted):
        desk.book(f"gpu-{number:08d}", ahead, long, gpus)
    found = desk.calendar.first_free(POOL, count, Span(NOW, NOW + length * STEP))
    assert found is not None
    minutes = (NOW + timedelta(minutes=m) for m in range(int((found - NOW).total_seconds() // 60)))
    assert desk.calendar.fit(POOL, count, Span(found, found + length * STEP))
    assert not any(desk.calendar.fit(POOL, count, Span(at, at + length * STEP)) for at in minutes)
