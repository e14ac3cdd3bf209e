"""What people read of disks that they added: beside those of the launch, with size and cost, and unknown as unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from slack_sdk.models.blocks import SectionBlock

from bot.around import NOTHING
from bot.details import details
from bot.facts import facts
from lessor.domain.billing import Span, Storage
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.resource import Condition, Kind, Resource
from lessor.rendering import Renderer, slack_renderer
from tests.builders import LEASE_ID, REQUESTER, a_lease, usd

BEGIN, HOUR = datetime(2026, 11, 1, tzinfo=UTC), timedelta(hours=1)
NOW = BEGIN + 360 * HOUR
PRICE = usd("0.10")


def mail() -> Renderer:
    return Renderer("mail", escape=str)


def line(name: str = "data", gib: int | Decimal = 100, price: Money | None = PRICE, **other: datetime) -> Storage:
    return replace(Storage(BEGIN, None, gib, price, f"volume:pv-{name}@1", f"{LEASE_ID}/{name}"), **other)  # type: ignore[arg-type]


def in_use(*kept: Storage, state: State = State.ACTIVE) -> Lease:
    return replace(a_lease(state), spans=(Span(BEGIN, BEGIN + HOUR, usd("2")),), storage=kept)


def cost_of(*kept: Storage) -> str:
    blocks = details(slack_renderer(), in_use(*kept), (), NOTHING, NOW, REQUESTER)
    fields = [field.text for block in blocks if isinstance(block, SectionBlock) for field in block.fields or ()]
    [found] = [text for text in fields if text.startswith("*Cost so far*")]
    return str(found)


def test_show_says_what_was_added_beside_what_it_came_with() -> None:
    own = Storage(BEGIN, None, 200, PRICE)
    assert cost_of(own) == "*Cost so far*\n12.00 USD for 1 h, 10.00 USD of it for disks"
    assert cost_of(own, line(), line("more", Decimal("0.5"))) == (
        "*Cost so far*\n17.02 USD for 1 h, 15.02 USD of it for disks\n"
        "5.02 USD of that for disks that people added; 2 there now, 100.5 GiB, 10.05 USD a month"
    )
    gone = cost_of(own, line(end=BEGIN + 180 * HOUR))
    assert gone.endswith(
        "14.50 USD for 1 h, 12.50 USD of it for disks\n2.50 USD of that for disks that people added, all gone"
    )


def test_show_says_of_an_unknown_price_that_it_is_and_what_is_known() -> None:
    assert cost_of(line(price=None)) == (
        "*Cost so far*\nunknown, 2.00 USD of it for computing, for 1 h, an unknown part of it for disks\n"
        "An unknown part of that for disks that people added; 1 there now, 100 GiB at an unknown price"
    )
    some = cost_of(line(), line("odd", 0, None))
    assert some.endswith("; 2 there now, 100 GiB and more of unknown size at an unknown price")


@pytest.mark.parametrize("renderer", [slack_renderer, mail])
def test_the_last_message_says_what_added_disks_cost(renderer: Callable[[], Renderer]) -> None:
    def body(*kept: Storage) -> str:
        lease = in_use(*kept, state=State.CLOSED)
        found = renderer().parts("closed.j2", zone="UTC", named=str, **facts(lease, NOW))
        return str(found["body"])

    end = BEGIN + 180 * HOUR
    with_it = Storage(BEGIN, end, 200, PRICE)
    assert body(with_it).startswith("It ran 1 h and cost 7.00 USD (5.00 USD of it for disks).")
    both = body(with_it, line(end=end))
    assert both.startswith("It ran 1 h and cost 9.50 USD (7.50 USD of it for disks, 2.50 USD of that for disks that")
    unknown = body(line(price=None, end=end))
    assert unknown.startswith(
        "It ran 1 h and cost an unknown amount (2.00 USD for computing, and disks at an unknown price)."
    )


@pytest.mark.parametrize("renderer", [slack_renderer, mail])
def test_what_is_stored_is_named_and_the_rest_is_counted(renderer: Callable[[], Renderer]) -> None:
    claim = Resource(
        Kind.CLAIM, f"{LEASE_ID}/data@7", Condition.STOPPED, type="100 GiB fast", reason="10.00 USD a month"
    )
    lease = in_use(line(), line("more"), line("other", price=None), state=State.STOPPED)
    shown = facts(replace(lease, resources=(claim,)), NOW)
    found = renderer().parts("stopped.j2", zone="UTC", named=str, **shown)
    assert found["body_disks"] == (f"Stored in it: claim {LEASE_ID}/data, 100 GiB fast, 10.00 USD a month; and 2 more.")
    assert found["note"] == "Cost so far: unknown (2.00 USD for computing, and disks at an unknown price)"
