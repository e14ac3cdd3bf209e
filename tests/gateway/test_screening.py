"""A request is refused before it is sent where its cap cannot hold, or where the money of its payer is used up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.identity import lease_id
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.quota import Ceiling, Kind, QuotaPlan, Then
from lessor.gateway import Gateway, Offering, PlaceChoice
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import LedgerUnavailableError, RetryableError, Team
from tests.builders import ASKED, PEOPLE, a_lease, a_request, some_limits, usd
from tests.fakes import FakeCloud, FakeDirectory
from tests.gateway.test_gateway import FakeEngine
from tests.ledger.spending import record

EIGHT_HOURS = Decimal("20.00")
"""What the request of these tests costs at 2.50 USD an hour."""


class Desk:
    """A gateway with ceilings that a test sets, and what a lease takes of them."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.ledger = ledger
        self.plan = QuotaPlan()
        self.cloud = FakeCloud(lambda: ASKED)
        place = a_request().place
        offering = Offering(
            (PlaceChoice(place.name, place.name, place.provider),), tuple, lambda _: some_limits(), lambda: self.plan
        )
        directory = FakeDirectory(PEOPLE, (Team("ml"),))
        engine: Any = FakeEngine()
        self.gateway = Gateway(engine, ledger, directory, {"aws": self.cloud}, offering, lambda: ASKED)

    def limit(self, most: int, then: Then = Then.FREEZE, scope: str = "team:ml", **changes: Any) -> None:
        ceiling = Ceiling(scope, Decimal(most), Kind.MONEY, then=then, **({"hard": False} | changes))
        self.plan = replace(self.plan, ceilings=(*self.plan.ceilings, ceiling))

    def take(self, interaction: str = "an earlier one", **changes: Any) -> None:
        """A lease of eight hours for 786.56 USD that is approved."""
        request = a_request(interaction=interaction, **changes)
        record(self.ledger, a_lease(State.APPROVED, id=lease_id(interaction), request=request), ASKED, self.plan)

    async def errors(self, **changes: Any) -> tuple[FieldError, ...]:
        try:
            await self.gateway.check(a_request(interaction="click-1", **changes))
        except Invalid as invalid:
            return invalid.errors
        return ()


@pytest.fixture
def desk() -> Iterator[Desk]:
    ledger = open_ledger("sqlite://")
    yield Desk(ledger)
    ledger.close()


@pytest.mark.parametrize(("cap", "fits"), [("20.00", True), ("500", True), ("19.99", False), ("0.01", False)])
async def test_a_cap_below_the_quoted_total_is_refused_at_its_field(desk: Desk, cap: str, fits: bool) -> None:
    found = await desk.errors(cap=usd(cap))
    assert [error.field for error in found] == ([] if fits else ["cap"])
    if not fits:
        assert f"{usd(cap)} is less than the 20.00 USD that 8 h cost at 2.50 USD an hour" in found[0].message


async def test_a_cap_in_another_currency_or_without_a_price_is_refused(desk: Desk) -> None:
    [error] = await desk.errors(cap=Money(Decimal(500), "EUR"))
    assert (error.field, error.message) == ("cap", "the price is in USD; give the cap in USD as well")
    desk.cloud.hourly = None
    [error] = await desk.errors(cap=usd("500"))
    assert (error.field, "nobody knows what this costs" in error.message) == ("cap", True)
    assert await desk.errors() == ()


async def test_an_impossible_cap_is_told_once(desk: Desk) -> None:
    assert [error.field for error in await desk.errors(cap=usd("-1"))] == ["cap"]


async def test_a_place_that_does_not_answer_leaves_the_cap_to_the_assessment(desk: Desk) -> None:
    desk.cloud.fail["quote"] = [RetryableError("too many requests")]
    assert await desk.errors(cap=usd("1")) == ()


@pytest.mark.parametrize(("then", "refused"), [(Then.ALERT, False), (Then.FREEZE, True), (Then.END, True)])
async def test_used_up_money_takes_no_new_request_where_the_limit_says_so(
    desk: Desk, then: Then, refused: bool
) -> None:
    desk.limit(786, then)
    assert await desk.errors() == ()
    desk.take()
    found = await desk.errors()
    assert [error.field for error in found] == (["team"] if refused else [])
    if refused:
        assert found[0].message == (
            "team ml has 786 USD for 2026-11, of which 0 are used and 786.56 planned; no new request is taken until "
            "leases end early, the month is over, or an administrator raises the limit in lessor.yaml or lets it only "
            "warn there (then: alert)"
        )


async def test_as_long_as_something_is_left_it_is_for_those_who_approve_to_judge(desk: Desk) -> None:
    desk.limit(787)
    desk.take()
    assert await desk.errors() == ()


async def test_an_administrator_lifts_it_by_the_configuration(desk: Desk) -> None:
    desk.limit(700)
    desk.take()
    assert len(await desk.errors()) == 1
    desk.plan = QuotaPlan()
    desk.limit(10_000)
    assert await desk.errors() == ()


async def test_a_project_speaks_at_its_own_field_and_others_may_go_on(desk: Desk) -> None:
    desk.limit(700, scope="project:llm")
    desk.take(project="llm")
    assert [error.field for error in await desk.errors(project="llm")] == ["project"]
    assert await desk.errors(project="other") == ()


async def test_a_project_that_no_limit_can_name_is_refused_before_the_books_are_asked(desk: Desk) -> None:
    found = await desk.errors(project="x" * 3_500)
    assert [(error.field, error.message) for error in found] == [
        ("project", "has 3,500 characters; at most 40 are allowed")
    ]


async def test_a_month_that_the_request_does_not_touch_is_no_obstacle(desk: Desk) -> None:
    desk.limit(700)
    desk.take()
    assert await desk.errors(start=ASKED + timedelta(days=10)) == ()
    assert len(await desk.errors(start=ASKED + timedelta(days=3, hours=8))) == 1


async def test_an_unknown_sum_freezes_nothing(desk: Desk) -> None:
    desk.limit(10)
    request = a_request(interaction="unpriced")
    record(desk.ledger, replace(a_lease(State.APPROVED, id="gpu-0unpriced", request=request), quote=None), ASKED)
    assert await desk.errors() == ()


async def test_a_ledger_that_cannot_be_read_is_left_to_the_assessment(desk: Desk, monkeypatch: Any) -> None:
    def away(*_: object) -> tuple[()]:
        raise LedgerUnavailableError("locked")

    desk.limit(10)
    desk.take()
    monkeypatch.setattr(desk.ledger, "taken", away)
    assert await desk.errors() == ()


async def test_what_the_request_itself_has_taken_is_no_reason_against_it(desk: Desk) -> None:
    """The same click again, or other terms for a request that is approved and waits for capacity."""
    desk.limit(700)
    desk.take("click-1")
    assert await desk.errors() == ()
    desk.take("another")
    assert len(await desk.errors()) == 1
