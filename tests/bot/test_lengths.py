"""Lengths and the money for them: of the time that holds now, and as people typed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.facts import facts
from lessor.domain import life
from lessor.domain.errors import Invalid
from lessor.domain.request import validate
from lessor.sandbox.slack import visible_text
from lessor.when import parse_end
from lessor.when.end import UnclearEndError
from tests.bot.world import World
from tests.builders import ASKED, ENDS, READY, a_lease, a_request, some_limits, usd

DAY = timedelta(days=1)
INSTANT = timedelta(seconds=1)


def test_the_price_is_that_of_the_end_that_holds() -> None:
    lease = a_lease()
    said = facts(lease, READY)
    assert (said["length"], said["total"]) == (timedelta(hours=8), usd("786.56"))
    extended = life.extend(lease, ENDS + 20 * DAY, lease.owner, "", READY + timedelta(hours=1)).lease
    said = facts(extended, READY + timedelta(hours=1))
    assert (said["length"], said["total"]) == (timedelta(days=20, hours=8), usd("47980.16"))


@pytest.mark.parametrize(
    ("length", "shown"),
    [(900 * DAY - INSTANT, "900 d"), (30 * DAY + INSTANT, "30 d 1 s"), (timedelta(minutes=5), "5 min")],
)
def test_a_refused_length_is_spelled_as_it_was_meant(length: timedelta, shown: str) -> None:
    with pytest.raises(Invalid) as refused:
        validate(a_request(until=ASKED + length), some_limits(), ASKED)
    assert str(refused.value) == f"end: is {shown} away; 15 min to 30 d from now are allowed"


def test_a_typed_length_is_spelled_to_the_minute() -> None:
    with pytest.raises(UnclearEndError, match="is 900 d away; 15 min to 30 d from now are allowed"):
        parse_end("900 days", ASKED, "UTC", limits=some_limits())


async def test_the_live_quote_is_for_the_days_that_were_typed(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request 2 x A100-80GB for 2 days")
    told = visible_text(await requester.wait_for_view("*Price:* 2.50"))
    assert "about 120.00 USD for 2 d\n" in told
