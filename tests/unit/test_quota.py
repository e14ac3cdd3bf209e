"""How many GPUs a team may hold at once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.errors import Refused
from lessor.domain.quota import Account, Ceiling, Cohort, Kind, QuotaPlan, Reservation, check, headroom
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


COHORT = Cohort("ml", ("research", "vision"), {"research": 4})
LENT = QuotaPlan((a_quota("research", 8), a_quota("vision", 8)), (COHORT,))


def of(team: str, gpus: int, lease: str = "gpu-other", model: str = "L4") -> Reservation:
    return Reservation(lease, team, model, gpus)


def fits(team: str, gpus: int, *others: Reservation, plan: QuotaPlan = LENT) -> str:
    """Empty when it fits, else the words of the refusal."""
    try:
        check(of(team, gpus, "gpu-mine"), plan.of(Account(team), "L4"), others)
    except Refused as refused:
        return str(refused)
    return ""


def test_a_team_borrows_what_its_cohort_can_spare_up_to_its_ceiling() -> None:
    assert fits("research", 12) == ""
    assert fits("research", 13).startswith(
        "team research may hold 8 GPUs and borrow 4 now and holds 0; 13 more do not fit."
    )
    assert fits("research", 10, of("vision", 6)) == ""
    assert fits("research", 11, of("vision", 6)).startswith(
        "team research may hold 8 GPUs and borrow 2 now and holds 0; 11 more do not fit."
    )
    assert fits("vision", 9).startswith("team vision may hold 8 GPUs and holds 0; 9 more do not fit.")


def test_whoever_lent_its_gpus_waits_until_they_are_given_back() -> None:
    assert fits("vision", 4, of("research", 12)) == ""
    assert fits("vision", 5, of("research", 12)).startswith(
        "the teams of cohort ml may hold 16 GPUs together and hold 12; 5 more do not fit, since they are lent"
    )


def test_rooms_show_what_can_be_borrowed_now() -> None:
    rooms = headroom(LENT.of(Account("research"), "L4"), [of("research", 3), of("vision", 7)])
    assert [(r.quota.scope, r.quota.gpus, r.used, r.borrow, r.free) for r in rooms] == [
        ("team:research", 8, 3, 1, 6),
        ("cohort:ml", 16, 10, 0, 6),
    ]


def test_only_what_every_team_of_the_cohort_has_a_ceiling_for_is_lent() -> None:
    plan = replace(LENT, ceilings=(*LENT.ceilings, a_quota("research", 2, "L4")))
    assert fits("research", 3, plan=plan).startswith("team research may hold 2 L4 GPUs and holds 0; 3 more do not fit")
    both = replace(plan, ceilings=(*plan.ceilings, a_quota("vision", 2, "L4")))
    assert fits("research", 3, plan=both) == ""
    assert fits("research", 5, plan=both).startswith("team research may hold 2 L4 GPUs and borrow 2 now")
    nothing = replace(LENT, ceilings=LENT.ceilings[:1])
    assert fits("research", 9, plan=nothing).startswith("team research may hold 8 GPUs and holds 0")


def test_every_ceiling_of_team_project_and_person_counts() -> None:
    ceilings = (
        a_quota("ml", 8),
        Ceiling("project:llm", Decimal(4)),
        Ceiling("person:U1", Decimal(2)),
        Ceiling("person:*", Decimal(6)),
    )
    plan = QuotaPlan(ceilings, people={"w1": "U1", "u1": "U1"})

    def words(person: str, project: str, gpus: int, *others: Reservation) -> str:
        account = plan.account("ml", project, person)
        one = Reservation("gpu-mine", "ml", "L4", gpus, account.project, account.person)
        try:
            check(one, plan.of(account, "L4"), others)
        except Refused as refused:
            return str(refused).partition(".")[0]
        return ""

    assert words("W1", "", 3) == "person U1 may hold 2 GPUs and holds 0; 3 more do not fit"
    assert words("U2", "", 7) == "person U2 may hold 6 GPUs and holds 0; 7 more do not fit"
    assert words("U2", " LLM", 5) == "project llm may hold 4 GPUs and holds 0; 5 more do not fit"
    assert words("U2", "llm", 5) == "project llm may hold 4 GPUs and holds 0; 5 more do not fit"
    assert words("U2", "", 6) == ""
    mine = Reservation("gpu-1", "vision", "L4", 5, "", "U2")
    assert words("U2", "", 2, mine) == "person U2 may hold 6 GPUs and holds 5; 2 more do not fit"
    assert words("U3", "", 6, mine) == ""


def test_a_line_for_one_key_stands_instead_of_the_line_for_every_key() -> None:
    soft = Ceiling("team:*", Decimal(3), hard=False)
    plan = QuotaPlan((a_quota("*", 4), a_quota("ml", 16), soft, Ceiling("team:*", Decimal(9), Kind.GPU_HOURS)))
    found = {(c.scope, c.kind, c.hard): c.most for c in plan.of(Account("ml"), "L4")}
    assert found == {
        ("team:ml", Kind.GPUS, True): 16,
        ("team:ml", Kind.GPUS, False): 3,
        ("team:ml", Kind.GPU_HOURS, True): 9,
    }
    assert [c.most for c in plan.of(Account("vision"), "L4")] == [4, 3, 9]


def test_a_soft_ceiling_refuses_nothing() -> None:
    plan = QuotaPlan((a_quota("research", 1, hard=False),))
    assert fits("research", 50, plan=plan) == ""
    [room] = headroom(plan.of(Account("research"), "L4"), [of("research", 3)])
    assert (room.free, room.quota.hard) == (-2, False)


WISHES = st.lists(st.tuples(st.sampled_from(["research", "vision"]), st.integers(1, 9)), max_size=40)


@given(WISHES, st.integers(0, 10), st.integers(0, 10), st.integers(0, 12))
def test_a_cohort_never_holds_more_than_its_teams_may_together(
    wishes: list[tuple[str, int]], research: int, vision: int, borrow: int
) -> None:
    plan = QuotaPlan(
        (a_quota("research", research), a_quota("vision", vision)),
        (Cohort("ml", ("research", "vision"), {"research": borrow}),),
    )
    taken: list[Reservation] = []
    for number, (team, gpus) in enumerate(wishes):
        now = {t: sum(r.gpus for r in taken if r.team == t) for t in ("research", "vision")}
        own = {"research": research + borrow, "vision": vision}[team]
        room = min(own - now[team], research + vision - sum(now.values()))
        if fits(team, gpus, *taken, plan=plan) == "":
            assert gpus <= room
            taken.append(of(team, gpus, f"gpu-{number}"))
        else:
            assert gpus > room
