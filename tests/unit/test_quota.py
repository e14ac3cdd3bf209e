"""How many GPUs a team may hold at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.errors import Refused
from lessor.domain.quota import Account, Ceiling, QuotaPlan, Reservation, check, headroom
from tests.builders import a_quota


def held(gpus: int, team: str = "ml", model: str = "A100-80GB", lease: str = "gpu-other") -> Reservation:
    return Reservation(lease, team, model, gpus)


def wanted(gpus: int, model: str = "A100-80GB") -> Reservation:
    return Reservation("gpu-mine", "ml", model, gpus)


ALL = a_quota("ml", 8)
A100 = a_quota("ml", 4, "A100-80GB")
H100 = a_quota("ml", 2, "H100")
FOREIGN = a_quota("vision", 1)


@pytest.mark.parametrize(
    ("gpus", "quotas", "others"),
    [
        (8, (ALL,), ()),
        (4, (ALL,), (held(4),)),
        (8, (ALL,), (held(8, team="vision"),)),
        (4, (ALL, A100), (held(4, model="L4"),)),
        (8, (FOREIGN,), ()),
        (64, (), (held(64),)),
        (4, (H100,), (held(2, model="H100"),)),
        (8, (ALL,), (held(8, lease="gpu-mine"),)),
    ],
)
def test_what_fits(gpus: int, quotas: tuple[Ceiling, ...], others: tuple[Reservation, ...]) -> None:
    check(wanted(gpus), quotas, others)


@pytest.mark.parametrize(
    ("gpus", "quotas", "others", "numbers"),
    [
        (9, (ALL,), (), "may hold 8 GPUs and holds 0; 9 more do not fit"),
        (1, (ALL,), (held(8),), "may hold 8 GPUs and holds 8; 1 more does not fit"),
        (5, (ALL,), (held(2), held(2, model="L4", lease="gpu-b")), "may hold 8 GPUs and holds 4; 5 more do not fit"),
        (5, (ALL, A100), (), "may hold 4 A100-80GB GPUs and holds 0; 5 more do not fit"),
        (1, (a_quota("ml", 0),), (), "may hold 0 GPUs and holds 0; 1 more does not fit"),
        (1, (ALL,), (held(12),), "may hold 8 GPUs and holds 12; 1 more does not fit"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers(
    gpus: int, quotas: tuple[Ceiling, ...], others: tuple[Reservation, ...], numbers: str
) -> None:
    with pytest.raises(Refused) as refused:
        check(wanted(gpus), quotas, others)
    assert refused.value.code == "quota"
    assert str(refused.value) == (
        f"team ml {numbers}. Release a lease of the team or ask an administrator for more quota."
    )


def test_headroom_names_every_quota_that_counts() -> None:
    others = (held(3), held(1, model="L4", lease="gpu-b"), held(5, team="vision"))
    rooms = headroom(QuotaPlan((ALL, A100, H100, FOREIGN)).of(Account("ml"), "A100-80GB"), others)
    assert [(r.quota, r.used, r.free) for r in rooms] == [(ALL, 4, 4), (A100, 3, 1)]


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(0, 20))
def test_one_after_the_other_never_holds_more_than_the_quota(sizes: list[int], limit: int) -> None:
    taken: list[Reservation] = []
    for number, gpus in enumerate(sizes):
        one = Reservation(f"gpu-{number}", "ml", "L4", gpus)
        used = sum(r.gpus for r in taken)
        try:
            check(one, (a_quota("ml", limit),), taken)
        except Refused:
            assert used + gpus > limit
        else:
            taken.append(one)
            assert used + gpus <= limit
