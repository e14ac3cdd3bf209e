"""Facts are taken from a case as documented: the tightest ceiling, the requester's own clock, unknown left unknown."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from lessor.domain.budget import BudgetRoom
from lessor.domain.case import Case, Similar
from lessor.domain.quota import Ceiling, Headroom, Kind
from lessor.domain.request import LeaseKind, Place
from lessor.domain.worktime import Hours
from lessor.policyfile import facts
from lessor.policyfile.facts import BudgetFacts, LeaseFacts, QuoteFacts, SimilarFacts, TeamFacts, TimeFacts
from lessor.policyfile.gathering import Site
from tests.builders import MANAGER, REQUESTER, a_quota, a_quote, a_request, usd
from tests.policy.test_policyfile import NOW, a_price


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        (None, TeamFacts(key="ml")),
        ((), TeamFacts(key="ml", limited=False, over_soft=False)),
        (
            (Headroom(a_quota("ml", 32), 10), Headroom(a_quota("ml", 16, "A100-80GB"), 9)),
            TeamFacts(key="ml", limited=True, quota=16, used=9, free=7, after=17, over_soft=False),
        ),
        (
            (Headroom(a_quota("ml", 32), 10), Headroom(Ceiling("project:x", Decimal(8)), 3, borrow=1)),
            TeamFacts(key="ml", limited=True, quota=9, used=3, free=6, after=11, over_soft=False),
        ),
        (
            (Headroom(a_quota("ml", 17, hard=False), 10), Headroom(a_quota("ml", 32), 10)),
            TeamFacts(key="ml", limited=True, quota=32, used=10, free=22, after=18, over_soft=True),
        ),
        ((Headroom(a_quota("ml", 18, hard=False), 10),), TeamFacts(key="ml", limited=False, over_soft=False)),
    ],
)
def test_team_facts_speak_of_the_tightest_quota(rooms: tuple[Headroom, ...] | None, expected: TeamFacts) -> None:
    assert facts(Case(a_request(), a_price("1"), REQUESTER, NOW, rooms)).team == expected


def room(kind: Kind, ceiling: int, spent: str | None, committed: str = "0", asked: str | None = "100") -> BudgetRoom:
    def known(figure: str | None) -> Decimal | None:
        return None if figure is None else Decimal(figure)

    return BudgetRoom("team:ml", "2026-11", kind, Decimal(ceiling), known(spent), known(committed), known(asked))


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        (None, BudgetFacts()),
        ((), BudgetFacts(limited=False, hours_limited=False)),
        (
            (room(Kind.MONEY, 5_000, "4000", "100"), room(Kind.MONEY, 1_000, "200", "50")),
            BudgetFacts(True, Decimal(1_000), Decimal(200), Decimal(50), Decimal(650), Decimal(35), False),
        ),
        (
            (room(Kind.MONEY, 100, "90", asked="0"), room(Kind.MONEY, 5_000, "0", asked="100")),
            BudgetFacts(True, Decimal(5_000), Decimal(0), Decimal(0), Decimal(4_900), Decimal(2), False),
        ),
        (
            (room(Kind.MONEY, 5_000, "0", asked="0"), room(Kind.MONEY, 100, "90", asked="0")),
            BudgetFacts(True, Decimal(100), Decimal(90), Decimal(0), Decimal(10), Decimal(90), False),
        ),
        ((room(Kind.MONEY, 100, None), room(Kind.MONEY, 5_000, "0")), BudgetFacts(limited=True, hours_limited=False)),
        ((room(Kind.MONEY, 100, "0", asked=None),), BudgetFacts(limited=True, hours_limited=False)),
        (
            (room(Kind.GPU_HOURS, 300, "60", "40", "250"),),
            BudgetFacts(
                limited=False,
                hours_limited=True,
                hours_ceiling=Decimal(300),
                hours_used=Decimal(100),
                hours_left=Decimal(-50),
            ),
        ),
    ],
)
def test_budget_facts_speak_of_the_tightest_budget_after_this_request(
    rooms: tuple[BudgetRoom, ...] | None, expected: BudgetFacts
) -> None:
    assert facts(Case(a_request(), a_price("1"), REQUESTER, NOW, budgets=rooms)).budget == expected


def test_facts_of_what_else_was_asked_for() -> None:
    plain = facts(Case(a_request(), None, REQUESTER, NOW)).request
    assert (plain.project, plain.data, plain.checkpoints, plain.schedule) == ("", "", False, "")
    assert (plain.start_in_hours, plain.capped, plain.cap) == (0, False, None)
    request = a_request(
        project="x",
        data="secret",
        checkpoints=True,
        schedule="office",
        start=NOW + timedelta(minutes=90),
        cap=usd("500"),
    )
    asked = facts(Case(request, None, REQUESTER, NOW)).request
    assert (asked.project, asked.data, asked.checkpoints, asked.schedule) == ("x", "secret", True, "office")
    assert (asked.start_in_hours, asked.capped, asked.cap) == (Decimal("1.5"), True, Decimal(500))


def test_facts_of_the_place_similar_leases_and_the_lease() -> None:
    case = Case(a_request(), None, REQUESTER, NOW, similar=(Similar("gpu-1"), Similar("gpu-2")), extensions=3)
    made = facts(case, Site(residency="eu", encrypted=True, public_address=False))
    assert (made.place.residency, made.place.encrypted, made.place.public_address) == ("eu", True, False)
    assert made.similar == SimilarFacts(2, ("gpu-1", "gpu-2"))
    assert made.lease == LeaseFacts(3)
    unread = facts(replace(case, similar=None))
    assert (unread.similar, unread.place.residency) == (SimilarFacts(), None)


def test_a_holiday_is_known_only_where_holidays_are() -> None:
    def holiday(hours: Hours | None) -> bool | None:
        person = replace(REQUESTER, tz="Asia/Tokyo", hours=hours)
        return facts(Case(a_request(), None, person, NOW)).time.holiday

    assert holiday(None) is None
    assert holiday(Hours("Asia/Tokyo", ((NOW, 540),))) is None
    assert holiday(Hours("Asia/Tokyo", ((NOW, 540),), holidays=(date(2026, 11, 28),))) is True
    assert holiday(Hours("Asia/Tokyo", ((NOW, 540),), holidays=(date(2026, 11, 27),))) is False


def test_facts_of_the_offer_win_over_the_wish() -> None:
    made = facts(Case(a_request(), a_quote(), MANAGER, NOW))
    assert (made.request.model, made.request.count, made.request.hours) == ("A100-80GB", 8, Decimal(8))
    assert made.person.lead is True
    assert made.request.ends == NOW + timedelta(hours=8)
    assert made.quote == QuoteFacts(True, Decimal("98.32"), Decimal("786.56"), Decimal("98.32"), "USD")


def test_time_is_the_requesters_own() -> None:
    made = facts(Case(a_request(), None, replace(REQUESTER, tz="Asia/Tokyo"), NOW))
    assert made.time == TimeFacts(NOW, hour=8, weekday="saturday", weekend=True, date="2026-11-28")
    assert facts(Case(a_request(), None, replace(REQUESTER, tz="Nowhere/Land"), NOW)).time == TimeFacts(NOW)


def test_the_region_is_the_one_of_the_offer_where_none_was_asked_for() -> None:
    quote = a_quote()
    offered = replace(quote, offer=replace(quote.offer, region="us-west-2"))
    somewhere, there = a_request(place=Place("aws", "research-us")), a_request()
    assert facts(Case(somewhere, offered, REQUESTER, NOW)).place.region == "us-west-2"
    assert facts(Case(there, offered, REQUESTER, NOW)).place.region == there.place.region != "us-west-2"
    assert facts(Case(somewhere, None, REQUESTER, NOW)).place.region is None


@pytest.mark.parametrize(
    ("asked", "offered", "expected"),
    [
        (None, (LeaseKind.MACHINE,), "machine"),
        (None, (LeaseKind.WORKSPACE, LeaseKind.NAMESPACE), "workspace"),
        (LeaseKind.NAMESPACE, (LeaseKind.WORKSPACE, LeaseKind.NAMESPACE), "namespace"),
    ],
)
def test_the_kind_is_the_first_of_the_place_unless_one_is_named(
    asked: LeaseKind | None, offered: tuple[LeaseKind, ...], expected: str
) -> None:
    case = Case(a_request(kind=asked), a_price("1"), REQUESTER, NOW)
    assert facts(case, Site(kinds=offered)).request.kind == expected


def test_a_place_without_regions_has_none_that_a_rule_could_compare() -> None:
    case = Case(a_request(place=Place("kubernetes", "lab")), a_price("1"), REQUESTER, NOW)
    assert (facts(case).place.provider, facts(case).place.region) == ("kubernetes", None)
